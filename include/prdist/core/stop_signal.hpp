// SPDX-License-Identifier: Apache-2.0
// SIGTERM and Ctrl-C as a question that a program asks between two steps, so that it can save what it has and end in
// order. A second signal has its usual effect: nobody is kept waiting against their will. The same one again within
// half a second is none: timeout(1) sends its own twice, to the program and to its group.
#pragma once

#include <signal.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prdist {

/// Behind its name and before the signal's in the line that a process logs which a signal has reached, and by which a
/// launcher finds the one of a stopped job that it was.
inline constexpr std::string_view asked_to_stop = " was asked to stop by ";

/// While one lives, the signals only set a mark. One at a time, and in main(): handlers belong to the process.
class StopSignal {
 public:
  StopSignal() {
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < signals.size(); ++i) {
      ::sigaction(signals[i], nullptr, &before_[i]);
      // What the program was started with ignoring (nohup, a background job of a shell) stays so.
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &action, nullptr);
    }
  }
  StopSignal(StopSignal const&) = delete;
  StopSignal& operator=(StopSignal const&) = delete;
  ~StopSignal() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
    caught_ = 0;
    noticed_ = false;
  }

  /// Whether a signal has come since one was made. Any thread.
  [[nodiscard]] static bool requested() noexcept { return caught_ != 0; }

  /// Whether a signal has come and nobody has asked this before: for whoever says so in the log. Any thread.
  [[nodiscard]] static bool is_new() noexcept { return requested() && !noticed_.exchange(true); }

  /// The signal that has come.
  [[nodiscard]] static std::string_view name() noexcept { return caught_ == SIGINT ? "SIGINT" : "SIGTERM"; }

  /// The code of a program that ends because of it, 128 and the signal's number: 143 after SIGTERM, and when another
  /// process of the job was asked to stop.
  [[nodiscard]] static int exit_code() noexcept { return 128 + (caught_ == 0 ? SIGTERM : caught_.load()); }

 private:
  /// Calls nothing that a handler may not.
  static void handle(int signal) {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    auto const now = std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
    if (int none = 0; caught_.compare_exchange_strong(none, signal)) {
      caught_at_ = now;
    } else if (signal != caught_ || now - caught_at_ >= echo_) {
      ::signal(signal, SIG_DFL);
      ::raise(signal);  // comes when this returns
    }
  }

  static constexpr std::array<int, 2> signals{SIGTERM, SIGINT};
  static constexpr std::int64_t echo_ = 500;  ///< milliseconds
  inline static std::atomic<std::int64_t> caught_at_ = 0;
  inline static std::atomic<int> caught_ = 0;
  inline static std::atomic<bool> noticed_ = false;
  static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace prdist
