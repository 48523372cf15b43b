// SPDX-License-Identifier: Apache-2.0
// Keeps a node's session going on a thread of its own, so that a store that answers late never keeps the supervisor
// from its children and signals.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/rendezvous/session.hpp>

namespace prdist {

class SessionKeeper {
 public:
  using Clock = std::chrono::steady_clock;

  struct News {
    SessionView view;                   ///< the last that was seen
    std::optional<Error> trouble;       ///< why there has been none since
    Clock::time_point trouble_since{};  ///< the last time that the store answered
    bool told = true;                   ///< all that was to be told has been written
  };

  /// `session` is the keeper's alone until it is destroyed.
  SessionKeeper(NodeSession& session, SessionView first) : session_(session) {
    news_.view = std::move(first);
    news_.trouble_since = Clock::now();
    thread_ = std::thread([this] { work(); });
  }
  ~SessionKeeper() {
    {
      std::lock_guard const lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  SessionKeeper(SessionKeeper const&) = delete;
  SessionKeeper& operator=(SessionKeeper const&) = delete;

  [[nodiscard]] News news() {
    std::lock_guard const lock(mutex_);
    return news_;
  }

  /// As NodeSession::tell(), written as soon as the store answers.
  void tell(NodePhase phase, std::string why = {}) {
    later([&] { phase_ = {phase, std::move(why)}; });
  }
  void tell(TrainerCount const& count, std::string what) {
    later([&] { count_ = {count, std::move(what)}; });
  }
  void tell(JobFailure failure) {
    later([&] { failure_ = std::move(failure); });
  }

  /// Waits until all is told, for at most `patience`.
  bool flush(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return news_.told; });
  }

 private:
  static constexpr std::chrono::milliseconds pause{200};

  template <class Note>
  void later(Note&& note) {
    std::lock_guard const lock(mutex_);
    note();
    news_.told = false;
    wake_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      auto phase = std::exchange(phase_, std::nullopt);
      auto count = std::exchange(count_, std::nullopt);
      auto failure = std::exchange(failure_, std::nullopt);
      lock.unlock();
      if (phase) session_.tell(phase->first, std::move(phase->second));
      if (count) session_.tell(count->first, std::move(count->second));
      if (failure) session_.tell(std::move(*failure));
      auto view = session_.round(Clock::now());
      lock.lock();
      if (view) {
        news_.view = std::move(*view);
        news_.trouble.reset();
        news_.trouble_since = Clock::now();
      } else {
        news_.trouble = view.error();
      }
      news_.told = view && session_.told() && !phase_ && !count_ && !failure_;
      changed_.notify_all();
      wake_.wait_for(lock, pause, [&] { return stop_ || phase_ || count_ || failure_; });
    }
  }

  NodeSession& session_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable changed_;
  News news_;
  std::optional<std::pair<NodePhase, std::string>> phase_;
  std::optional<std::pair<TrainerCount, std::string>> count_;
  std::optional<JobFailure> failure_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace prdist
