// SPDX-License-Identifier: Apache-2.0
// Where the threads of one trainer wait for each other. When all are there, one of them does something for all, and
// they go on; one that has left is no longer waited for.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <prdist/core/runtime.hpp>

namespace prdist {

class Meeting {
 public:
  /// Called once for all who came, with their numbers in order.
  using Lead = std::function<void(std::set<std::size_t> const&)>;

  /// `runtime` must outlive it.
  explicit Meeting(Runtime& runtime) : runtime_(runtime) {}

  void join(std::size_t member) {
    std::lock_guard const lock(mutex_);
    members_.insert(member);
  }

  /// Blocks until every member is there and `lead` has been called, by the thread that came last. What it throws is
  /// thrown to all. All members bring a lead that does the same.
  void meet(std::size_t member, Lead lead) {
    std::unique_lock lock(mutex_);
    auto const round = round_;
    round->here.insert(member);
    round->lead = std::move(lead);
    if (complete()) {
      finish(lock);
    } else {
      lock.unlock();
      while (!runtime_.wait(round->over, runtime_.now() + std::chrono::hours(1))) {
      }
    }
    if (round->failed) std::rethrow_exception(round->failed);
  }

  /// If all others wait already, the one that leaves leads for them.
  void leave(std::size_t member) {
    std::unique_lock lock(mutex_);
    members_.erase(member);
    if (complete()) finish(lock);
  }

 private:
  struct Round {
    std::set<std::size_t> here;
    Lead lead;
    std::exception_ptr failed;
    Gate over;
  };

  [[nodiscard]] bool complete() const {
    if (round_->here.empty()) return false;
    for (auto const member : members_) {
      if (!round_->here.contains(member)) return false;
    }
    return true;
  }

  void finish(std::unique_lock<std::mutex>& lock) {
    auto const round = std::exchange(round_, std::make_shared<Round>());
    lock.unlock();
    try {
      round->lead(round->here);
    } catch (...) {
      round->failed = std::current_exception();
    }
    round->over.open();
  }

  Runtime& runtime_;
  std::mutex mutex_;
  std::set<std::size_t> members_;
  std::shared_ptr<Round> round_ = std::make_shared<Round>();
};

/// Meets the others in `aside` instead of `usual`, where nobody waits for this member meanwhile. All come back
/// together: no one can meet in `usual` before everybody who was aside is waited for again.
inline void meet_aside(Meeting& usual, Meeting& aside, std::size_t member, Meeting::Lead const& lead) {
  usual.leave(member);
  aside.meet(member, [&](std::set<std::size_t> const& here) {
    lead(here);
    for (auto const each : here) usual.join(each);
  });
}

}  // namespace prdist
