// SPDX-License-Identifier: Apache-2.0
// Where the threads of DistributedOptimizer::train() take their batches from: one at a time, and none while a pause is
// due, so that whoever pauses has trained on all that it took.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

#include <prdist/core/runtime.hpp>
#include <prdist/fleet/options.hpp>

namespace prdist {

template <class Next>
class BatchFeed {
 public:
  using Taken = decltype(std::declval<Next&>()());  ///< std::optional of a batch

  /// Both must outlive it.
  BatchFeed(Next& next, TrainOptions const& options) : next_(next), options_(options) {}

  /// The next batch if there is one right now.
  [[nodiscard]] Taken take() {
    std::lock_guard const lock(mutex_);
    return stopped_ || must_pause() ? Taken{} : next_();
  }

  /// The next batch; nothing at the end. `look()` is called before each try, and takes the thread into a pause that is
  /// due; `wait(duration)` when there may be more later.
  template <class Look, class Wait>
  [[nodiscard]] Taken fetch(Look&& look, Wait&& wait) {
    for (;;) {
      look();
      std::optional<Duration> later;
      {
        std::lock_guard const lock(mutex_);
        if (stopped_) return {};
        if (must_pause()) continue;  // it has become due since the look: that is not the end
        if (auto batch = next_()) return batch;
        if (options_.more) later = options_.more();
      }
      if (!later) return {};
      if (*later > Duration{0}) wait(*later);
    }
  }

  /// Whether the threads are to meet for a pause; it stays due until they have.
  [[nodiscard]] bool pause_due() {
    std::lock_guard const lock(mutex_);
    return must_pause();
  }

  /// By the one that leads the pause, while the others wait.
  void pause() {
    pausing_ = false;
    options_.pause();
  }

  /// Nobody gets another batch.
  void stop() {
    std::lock_guard const lock(mutex_);
    stopped_ = true;
  }

  /// Calls `told` while no other thread is in `next` or here.
  template <class Told>
  void tell(Told&& told) {
    std::lock_guard const lock(mutex_);
    told();
  }

 private:
  [[nodiscard]] bool must_pause() { return pausing_ || (pausing_ = options_.pause_due && options_.pause_due()); }

  Next& next_;
  TrainOptions const& options_;
  std::mutex mutex_;
  bool pausing_ = false;
  bool stopped_ = false;
};

}  // namespace prdist
