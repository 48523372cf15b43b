// SPDX-License-Identifier: Apache-2.0
// The long work of a server, on a thread of its own: writing its part of a checkpoint, or loading one. One at a time;
// who asked for it looks now and then how far it is.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/wire/work_state.hpp>

namespace prdist {

/// How far work is, told by the work itself.
struct WorkProgress {
  std::atomic<std::uint64_t> rows = 0;       ///< that are through
  std::atomic<bool> waits_for_disk = false;  ///< all are through, and the disk takes its time
};

class Background {
 public:
  Background() = default;
  Background(Background const&) = delete;
  Background& operator=(Background const&) = delete;
  ~Background() {
    if (thread_.joinable()) thread_.join();
  }

  /// Runs `work`, which tells how far it is by what it is given, and returns its result.
  /// @throws Error job.state while other work goes on
  void start(std::string what, std::function<std::string(WorkProgress& progress)> work) {
    std::lock_guard const lock(mutex_);
    if (!state_.done) throw Error(Errc::job_state, what, " while ", state_.what, " is under way: wait for its end");
    if (thread_.joinable()) thread_.join();
    state_ = WorkState{std::move(what), false};
    progress_.rows = 0;
    progress_.waits_for_disk = false;
    thread_ = std::thread([this, work = std::move(work)] {
      // Behind training where cores are few; when training waits for it, nobody is in its way.
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
      WorkState ended;
      try {
        ended.result = work(progress_);
      } catch (Error const& error) {
        ended.failed = error;
      } catch (std::exception const& error) {
        ended.failed = Error(Errc::internal, error.what());
      }
      std::lock_guard const done(mutex_);
      ended.what = state_.what;
      ended.rows = progress_.rows;
      if (ended.failed) log(Level::error, ended.what, " failed: ", ended.failed->what());
      state_ = std::move(ended);
    });
  }

  /// Of the work that was started last.
  [[nodiscard]] WorkState state() const {
    std::lock_guard const lock(mutex_);
    auto state = state_;
    if (!state.done) {
      state.rows = progress_.rows;
      state.waits_for_disk = progress_.waits_for_disk;
    }
    return state;
  }

 private:
  mutable std::mutex mutex_;
  WorkState state_;
  WorkProgress progress_;
  std::thread thread_;
};

}  // namespace prdist
