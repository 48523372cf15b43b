// SPDX-License-Identifier: Apache-2.0
// A worker's share of the data, read epoch after epoch, and how far it is.
#pragma once

#include <prdist/data.hpp>
#include <prdist/fleet.hpp>
#include <prdist/launch/progress.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "figures.hpp"
#include "settings.hpp"

namespace ctr_dnn {

/// What a worker has trained, for people and for its launcher.
struct Tally {
  std::uint64_t steps = 0;
  std::uint64_t examples = 0;
  double loss = 0;  ///< of all steps

  void add(double of_step, std::size_t rows) {
    loss += of_step;
    ++steps;
    examples += rows;
  }
  [[nodiscard]] double mean_loss() const { return loss / static_cast<double>(std::max<std::uint64_t>(1, steps)); }
  void tell(double elapsed, char const* phase, std::uint64_t total = 0) const {
    Progress progress;
    progress.step = steps;
    progress.examples = examples;
    if (total != 0) progress.total = total;
    progress.loss = mean_loss();
    progress.rate = static_cast<double>(examples) / std::max(elapsed, 1e-9);
    progress.phase = phase;
    write_progress(progress, std::chrono::steady_clock::now());
  }
};

/// Reads the worker's files, epoch after epoch, and tells its launcher how far it is.
class Training {
 public:
  Training(Settings const& settings, std::vector<std::string> files, std::uint64_t total)
      : settings_(settings), reader_(std::move(files), reader_options(settings)), total_(total) {}

  /// `train(next, told)` trains on what `next` gives, batch by batch, and tells of each.
  template <class Train>
  void run(Train&& train) {
    auto const start = now();
    double said = start;
    auto const next = [&]() -> std::optional<Batch> {
      for (Batch batch; !stopped_ && epoch_ < settings_.epochs; reader_.start_epoch(++epoch_)) {
        if (reader_.next(batch)) return batch;
      }
      return std::nullopt;
    };
    auto const told = [&](double loss, std::size_t examples) {
      tally_.add(loss, examples);
      if (auto const t = now(); t - said > 0.2) {
        said = t;
        tally_.tell(t - start, "train", total_ * settings_.epochs);
      }
    };
    train(next, told);
    seconds_ = now() - start;
    tally_.tell(seconds_, "trained", total_ * settings_.epochs);
    log(Level::info, "trained on ", tally_.examples, " examples in ", rounded(seconds_, 1),
        " s: ", static_cast<std::uint64_t>(static_cast<double>(tally_.examples) / seconds_), " examples/s, mean loss ",
        rounded(tally_.mean_loss(), 4));
  }

  /// Where it stands, for a checkpoint, and back there.
  [[nodiscard]] WorkerState state() const { return {.position = reader_.position()}; }
  void resume(WorkerState const& state) {
    reader_.resume(state.position);
    epoch_ = state.position.epoch;
  }

  /// No more batches: the job is to stop.
  void stop() { stopped_ = true; }

  [[nodiscard]] std::uint64_t examples() const { return tally_.examples; }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  Settings const& settings_;
  SlotReader reader_;
  std::uint64_t total_;
  std::size_t epoch_ = 0;
  bool stopped_ = false;
  Tally tally_;
  double seconds_ = 0;
};

/// Saves what was trained. A full disk must not cost what can still be told of it: that is said now, and by the exit
/// code when all is done.
template <class Save>
int last_checkpoint(Save&& save) {
  try {
    save();
    return 0;
  } catch (Error const& error) {
    if (error.code() == Errc::job_stopped) throw;
    log(Level::error, error.what(), "; the job evaluates and exports all the same, and ends with ",
        exit_code(error.code()));
    return exit_code(error.code());
  }
}

}  // namespace ctr_dnn
