// SPDX-License-Identifier: Apache-2.0
// The data files of a job, handed out one by one to whoever asks next. What a trainer had in work when it left or was
// lost is handed out again, before what nobody has had yet: every file is trained at least once in every epoch. The
// next epoch begins while the last files of this one are in work; only at the very end somebody may have to wait.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/runtime.hpp>
#include <prdist/core/text.hpp>
#include <prdist/wire/file_state.hpp>

namespace prdist {

class FileQueue {
 public:
  struct Answer {
    enum class What { task, later, over };
    What what = What::over;
    std::uint64_t task = 0;
    std::string waits_for{};  ///< of `later`: who has what is still in work
  };

  /// The first to ask decides for which list; who brings another is told.
  [[nodiscard]] Result<Answer> next(std::uint32_t trainer, FileList const& list, TimePoint now) {
    std::lock_guard const lock(mutex_);
    if (!begun_) {
      if (auto const fine = begin(trainer, list); !fine) return fine.error();
    } else if (list != list_) {
      return differs(trainer, list, "the job has");
    }
    if (!open_.empty()) return hand_out(trainer, open_.extract(open_.begin()).value(), now);
    if (next_ < list_.tasks()) return hand_out(trainer, next_++, now);
    if (in_work_.empty()) return Answer{};
    auto const& [task, work] = *in_work_.begin();
    return Answer{
        Answer::What::later, 0,
        concat("file ", task % list_.files, " of epoch ", task / list_.files, ", which trainer ", work.trainer,
               " has had for ", seconds(now - work.since), " s, and ", in_work_.size() - 1, " others")};
  }

  /// All that was learned from it is on the servers; it had so many rows.
  [[nodiscard]] Result<void> done(std::uint32_t trainer, std::uint64_t task, std::uint64_t rows = 0) {
    std::lock_guard const lock(mutex_);
    auto const it = in_work_.find(task);
    if (it == in_work_.end() || it->second.trainer != trainer) {
      return Error(Errc::job_state, "trainer ", trainer, " has finished task ", task,
                   " of the data, which it was not given: report each file once");
    }
    in_work_.erase(it);
    rows_ += rows;
    return {};
  }

  /// The trainer is gone; returns how many files go to others.
  std::size_t give_back(std::uint32_t trainer) {
    std::lock_guard const lock(mutex_);
    return std::erase_if(in_work_, [&](auto const& it) {
      if (it.second.trainer != trainer) return false;
      open_.insert(it.first);
      return true;
    });
  }

  /// As a checkpoint keeps it: what is in work is open.
  [[nodiscard]] FileState state() const {
    std::lock_guard const lock(mutex_);
    auto open = open_;
    for (auto const& [task, work] : in_work_) open.insert(task);
    return {list_, next_, {open.begin(), open.end()}, rows_};
  }

  /// Goes on where a job of the same files stood; the number of epochs may differ. Before the first next().
  [[nodiscard]] Result<void> restore(FileState const& state) {
    std::lock_guard const lock(mutex_);
    if (begun_) return Error(Errc::job_state, "the files of this job are being handed out already: restore them first");
    if (state.list.files == 0) return {};  // saved before anybody had asked for a file
    restored_ = true;
    list_ = state.list;
    next_ = state.next;
    open_ = {state.open.begin(), state.open.end()};
    return {};
  }

  [[nodiscard]] std::size_t in_work() const {
    std::lock_guard const lock(mutex_);
    return in_work_.size();
  }

 private:
  struct Work {
    std::uint32_t trainer;
    TimePoint since;
  };

  [[nodiscard]] Result<void> begin(std::uint32_t trainer, FileList const& list) {
    if (list.files == 0 || list.files >= std::uint64_t{1} << 32 || list.epochs == 0) {
      return Error(Errc::config_invalid, "trainer ", trainer, " brings ", list.files, " files for ", list.epochs,
                   " epochs: there is nothing to hand out");
    }
    if (restored_ && (list.files != list_.files || list.source != list_.source)) {
      return differs(trainer, list, "the checkpoint was made with");
    }
    if (list.tasks() < next_) {
      return Error(Errc::config_contradiction, "trainer ", trainer, " wants ", list.epochs,
                   " epochs of the data, the checkpoint is in epoch ", next_ / list.files,
                   " (from 0): ask for more epochs");
    }
    list_ = list;
    begun_ = true;
    return {};
  }

  [[nodiscard]] Error differs(std::uint32_t trainer, FileList const& list, std::string_view who) const {
    bool const names = list.files == list_.files && list.epochs == list_.epochs;
    return Error(Errc::config_contradiction, "trainer ", trainer, " brings ", list.files, " files for ", list.epochs,
                 " epochs, ", who, ' ', list_.files, " for ", list_.epochs,
                 names ? ", under other names or in another order" : "",
                 ": give every trainer the same files, under the same names, with the same seed");
  }

  [[nodiscard]] Answer hand_out(std::uint32_t trainer, std::uint64_t task, TimePoint now) {
    in_work_[task] = {trainer, now};
    return {Answer::What::task, task};
  }

  mutable std::mutex mutex_;
  bool begun_ = false, restored_ = false;
  FileList list_;
  std::uint64_t next_ = 0;        ///< the first that nobody has had
  std::set<std::uint64_t> open_;  ///< below it, and given back
  std::map<std::uint64_t, Work> in_work_;
  std::uint64_t rows_ = 0;
};

}  // namespace prdist
