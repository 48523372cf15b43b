// SPDX-License-Identifier: Apache-2.0
// Time, timers and waiting, passed in: server, client and strategies never read a clock or sleep by themselves, so
// the same code runs on the machine's time or on a simulator's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace prdist {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Seconds with their fraction, for messages and options.
[[nodiscard]] constexpr double seconds(Duration duration) noexcept {
  return std::chrono::duration<double>(duration).count();
}

/// Opens once. Any thread may open it; wait for it through Runtime::wait().
class Gate {
 public:
  void open() {
    // Notified under the lock: the waiter may destroy the gate as soon as it sees it open.
    std::lock_guard const lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  [[nodiscard]] bool is_open() const {
    std::lock_guard const lock(mutex_);
    return open_;
  }

  /// Blocks on the machine's clock; false when `deadline` came first.
  [[nodiscard]] bool wait_until(TimePoint deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return open_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  [[nodiscard]] virtual TimePoint now() const = 0;

  /// Calls `call` once, after `delay`, on a thread of the runtime. It must not block.
  virtual void after(Duration delay, std::function<void()> call) = 0;

  /// Blocks the caller until the gate opens; false when `deadline` came first.
  [[nodiscard]] virtual bool wait(Gate& gate, TimePoint deadline) = 0;
};

/// The machine's clock, and one thread for timers. Calls that are still waiting when it ends are dropped.
class SystemRuntime final : public Runtime {
 public:
  SystemRuntime() : thread_([this] { run(); }) {}
  SystemRuntime(SystemRuntime const&) = delete;
  SystemRuntime& operator=(SystemRuntime const&) = delete;
  ~SystemRuntime() override {
    {
      std::lock_guard const lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }

  void after(Duration delay, std::function<void()> call) override {
    {
      std::lock_guard const lock(mutex_);
      calls_.emplace(now() + delay, std::move(call));
    }
    changed_.notify_all();
  }

  [[nodiscard]] bool wait(Gate& gate, TimePoint deadline) override { return gate.wait_until(deadline); }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (calls_.empty()) {
        changed_.wait(lock);
      } else if (auto const due = calls_.begin()->first; due > now()) {
        changed_.wait_until(lock, due);
      } else {
        auto const call = std::move(calls_.begin()->second);
        calls_.erase(calls_.begin());
        lock.unlock();
        call();
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<TimePoint, std::function<void()>> calls_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace prdist
