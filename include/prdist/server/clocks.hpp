// SPDX-License-Identifier: Apache-2.0
// How many steps each thread of each trainer has finished, and who waits for the slowest of them. A trainer counts
// from the start of the job, so that the fast do not run off before the slow have come; one that retires, leaves or
// is lost is no longer waited for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <prdist/core/runtime.hpp>

namespace prdist {

class Clocks {
 public:
  enum class Answer { go, look_again };
  /// Told once, on the thread that let the waiter go.
  using Done = std::function<void(Answer)>;

  explicit Clocks(std::uint32_t trainers) {
    for (std::uint32_t trainer = 0; trainer < trainers; ++trainer) steps_[trainer] = {0};
  }

  /// Thread `lane` of the trainer's `lanes` has finished `steps` steps; `done` hears Answer::go when nobody is more
  /// than `ahead` steps behind it. One that has left may ask, and is let go. `until` is when `overdue()` tells it
  /// to ask again.
  void tick(std::uint32_t trainer, std::uint32_t lane, std::uint32_t lanes, std::uint64_t steps, std::uint64_t ahead,
            std::optional<TimePoint> until, Done done) {
    {
      std::lock_guard const lock(mutex_);
      if (auto const it = steps_.find(trainer); it != steps_.end()) {
        // All threads of a trainer count from its first message: one that has not begun is behind, not absent.
        if (it->second.size() < lanes) it->second.resize(lanes, 0);
        if (lane < it->second.size()) it->second[lane] = steps;
        waiting_.push_back({steps > ahead ? steps - ahead : 0, until, std::move(done)});
      }
    }
    if (done) return done(Answer::go);
    release([](Waiter const&) { return false; });
  }

  /// Thread `lane` has no more batches.
  void leave(std::uint32_t trainer, std::uint32_t lane, std::uint32_t lanes) {
    {
      std::lock_guard const lock(mutex_);
      if (auto const it = steps_.find(trainer); it != steps_.end()) {
        if (it->second.size() < lanes) it->second.resize(lanes, 0);
        if (lane < it->second.size()) it->second[lane] = gone;
      }
    }
    release([](Waiter const&) { return false; });
  }

  /// The whole trainer is no longer waited for.
  void leave(std::uint32_t trainer) {
    {
      std::lock_guard const lock(mutex_);
      steps_.erase(trainer);
    }
    release([](Waiter const&) { return false; });
  }

  /// Lets everybody who waits go with Answer::look_again: something else is to be done before the next step.
  void look_again() {
    release([](Waiter const&) { return true; });
  }

  /// The same for those whose caller is about to give up: a slow member is no error.
  void overdue(TimePoint now) {
    release([now](Waiter const& waiter) { return waiter.until && *waiter.until <= now; });
  }

  /// Steps that every member has finished; nothing when there is no member left.
  [[nodiscard]] std::optional<std::uint64_t> slowest() const {
    std::lock_guard const lock(mutex_);
    auto const least = least_steps();
    return least == gone ? std::nullopt : std::optional(least);
  }

 private:
  static constexpr std::uint64_t gone = ~std::uint64_t{0};

  struct Waiter {
    std::uint64_t needs;  ///< steps that everybody must have finished
    std::optional<TimePoint> until;
    Done done;
  };

  [[nodiscard]] std::uint64_t least_steps() const {
    auto least = gone;
    for (auto const& [trainer, lanes] : steps_) {
      for (auto const steps : lanes) least = std::min(least, steps);
    }
    return least;
  }

  template <class Early>
  void release(Early&& early) {
    std::vector<std::pair<Done, Answer>> told;
    {
      std::lock_guard const lock(mutex_);
      auto const least = least_steps();
      std::erase_if(waiting_, [&](Waiter& waiter) {
        bool const go = waiter.needs <= least;
        if (!go && !early(waiter)) return false;
        told.emplace_back(std::move(waiter.done), go ? Answer::go : Answer::look_again);
        return true;
      });
    }
    for (auto const& [done, answer] : told) done(answer);
  }

  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> steps_;
  std::vector<Waiter> waiting_;
};

}  // namespace prdist
