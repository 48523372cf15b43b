// SPDX-License-Identifier: Apache-2.0
// Data files that the servers hand out one by one, instead of a share for each worker: who is fast reads more of them,
// and what a worker had in hand when it left or was lost is read by another, from its beginning.
//
//   auto files = fleet.dispatched_files(list, {.epochs = 2, .shuffle = 1});
//   while (auto const file = files.take()) {
//     SlotReader reader({file->name}, options);
//     for (auto const& batch : reader) optimizer.minimize(model, batch);
//     optimizer.settle();                                // done means: on the servers
//     files.done(*file);
//   }
//   files.over() ? fleet.stop_worker() : fleet.leave_worker();
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/core/stop_signal.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

struct DispatchOptions {
  std::uint32_t epochs = 1;
  std::optional<std::uint64_t> shuffle = {};  ///< a seed: the files of every epoch in an order of its own
};

struct DispatchedFile {
  std::uint64_t task = 0;
  std::uint64_t epoch = 0;
  std::string name{};
};

/// One thread at a time.
class DispatchedFiles {
 public:
  /// How long to wait before asking again, when all that is left is in work elsewhere.
  static constexpr Duration ask_again = std::chrono::milliseconds(100);

  /// Every worker brings the same list, under the same names. `client` must outlive it.
  DispatchedFiles(Client& client, std::vector<std::string> files, DispatchOptions options)
      : client_(client), files_(std::move(files)), options_(options), said_(client.runtime().now()) {
    list_.files = files_.size();
    list_.epochs = options_.epochs;
    list_.source = options_.shuffle ? mix(*options_.shuffle + 1) : 0;
    for (auto const& file : files_) list_.source = mix(list_.source + hash_name(file));
  }

  /// The next file; nothing when there are no more, see over(), or none at the moment: then others have the rest in
  /// work, and it may come back. @throws Error config.contradiction when the workers' lists differ
  [[nodiscard]] std::optional<DispatchedFile> next() {
    auto const answer = client_.next_file(list_);
    over_ = answer.what == NextFile::What::over;
    auto const now = client_.runtime().now();
    if (answer.what == NextFile::What::later && now - said_ >= std::chrono::seconds(30)) {
      said_ = now;
      log(Level::info, "worker ", client_.options().trainer, " waits for ", answer.waits_for);
    }
    if (answer.what != NextFile::What::task) return std::nullopt;
    said_ = now;
    auto const epoch = answer.task / list_.files;
    DispatchedFile file{answer.task, epoch, files_[place(epoch, answer.task % list_.files)]};
    log(Level::info, "worker ", client_.options().trainer, " has ", file.name, " of epoch ", epoch);
    return file;
  }

  /// The same, and waits while there is none. Nothing at the end, or when this worker is to leave.
  [[nodiscard]] std::optional<DispatchedFile> take() {
    while (!stop_wanted()) {
      if (auto file = next()) return file;
      if (over_) break;
      Gate never;
      (void)client_.runtime().wait(never, client_.runtime().now() + ask_again);
    }
    return std::nullopt;
  }

  /// All that was learned from the file is on the servers. `rows` is for rows().
  void done(DispatchedFile const& file, std::uint64_t rows = 0) {
    client_.file_done(file.task, rows);
    log(Level::info, "worker ", client_.options().trainer, " has done ", file.name, " of epoch ", file.epoch);
  }

  /// Rows of all files that any worker has done since the job began, or was resumed, as each has said.
  [[nodiscard]] std::uint64_t rows() const { return client_.file_state().rows; }

  /// Every file is done, in every epoch.
  [[nodiscard]] bool over() const noexcept { return over_; }

  /// This worker has a StopSignal, or the whole job is about to end.
  [[nodiscard]] bool stop_wanted() const { return StopSignal::requested() || client_.cut_wish().server_ends(); }

 private:
  [[nodiscard]] std::size_t place(std::uint64_t epoch, std::uint64_t n) {
    if (!options_.shuffle) return static_cast<std::size_t>(n);
    if (order_.empty() || order_epoch_ != epoch) {
      order_epoch_ = epoch;
      order_.resize(files_.size());
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      auto const seed = mix(*options_.shuffle + hash_key(epoch));
      std::ranges::sort(order_, {}, [&](std::size_t file) { return mix(seed + hash_key(file)); });
    }
    return order_[static_cast<std::size_t>(n)];
  }

  Client& client_;
  std::vector<std::string> files_;
  DispatchOptions options_;
  FileList list_;
  std::vector<std::size_t> order_;
  std::uint64_t order_epoch_ = 0;
  TimePoint said_;
  bool over_ = false;
};

/// Waits for something that only one worker may do at a time, or at all: true when it is this one's now, false when it
/// is done. One that is lost passes it on.
[[nodiscard]] inline bool wait_for_duty(Client& client, std::string_view name, std::string* text = nullptr) {
  for (auto said = client.runtime().now();;) {
    auto const answer = client.ask_duty(name);
    if (answer.what == DutyAnswer::What::yours) return true;
    if (answer.what == DutyAnswer::What::done) {
      if (text != nullptr) *text = answer.text;
      return false;
    }
    auto const now = client.runtime().now();
    if (now - said >= std::chrono::seconds(30)) {
      said = now;
      log(Level::info, "worker ", client.options().trainer, " waits for '", name, "', which worker ", answer.holder,
          " is at");
    }
    Gate never;
    (void)client.runtime().wait(never, now + DispatchedFiles::ask_again);
  }
}

/// Calls `work` in one worker of those that come here, whoever is first; the others wait, and when it is lost, one of
/// them does it. Returns what it said (a text), to all. @throws what `work` throws, in that worker
template <class Work>
std::string once(Client& client, std::string_view name, Work&& work) {
  std::string text;
  if (wait_for_duty(client, name, &text)) {
    text = work();
    client.finish_duty(name, text);
  }
  return text;
}

}  // namespace prdist
