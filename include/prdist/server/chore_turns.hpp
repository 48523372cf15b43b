// SPDX-License-Identifier: Apache-2.0
// When a thread of a server has time for slices of a chore. It earns time for them: a good share of what it sleeps
// between bursts of requests, when trainers compute, and a little of what it serves, for a busy server never sleeps.
// What it has earned is spent behind a burst, while the thread has its processor anyway: to wake up for each slice
// would take that of a trainer on the same machine, again and again.
#pragma once

#include <algorithm>
#include <chrono>

namespace prdist {

class ChoreTurns {
 public:
  using Clock = std::chrono::steady_clock;

  /// Requests have come; the last one by `now`.
  void requested(Clock::time_point now) noexcept { requested_ = now; }

  // What the thread has done with its time.
  void slept(Clock::duration time) noexcept { earn(time / sleep_share); }
  void served(Clock::duration time) noexcept { earn(time / serve_share); }
  /// A slice; or it lost its processor meanwhile, so there is an end to debts.
  void worked(Clock::duration time) noexcept { earned_ = std::max(earned_ - time, -most); }

  /// Whether a slice may be done at `now`: at once when no requests come.
  [[nodiscard]] bool due(Clock::time_point now) const noexcept {
    return earned_ > Clock::duration::zero() || now >= requested_ + requests_last;
  }

  /// When a thread that sleeps from `now` on wakes up for slices, unless a request wakes it before.
  [[nodiscard]] Clock::time_point wake_up(Clock::time_point now) const noexcept {
    return std::min(now + (most - earned_) * sleep_share, requested_ + requests_last);
  }

 private:
  // One part of so many: a trainer on the same processor, or on the other half of a core, loses about as much.
  static constexpr int sleep_share = 12, serve_share = 40;
  /// Requests are taken to go on for as long as a trainer may compute between two bursts.
  static constexpr std::chrono::seconds requests_last{1};
  /// No more is earned: a request waits for one slice, but the processor may be another's by then.
  static constexpr Clock::duration most = std::chrono::milliseconds(3);

  void earn(Clock::duration time) noexcept { earned_ = std::min(earned_ + time, most); }

  Clock::time_point requested_ = Clock::time_point::min();
  Clock::duration earned_{};
};

}  // namespace prdist
