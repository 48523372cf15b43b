// SPDX-License-Identifier: Apache-2.0
// SIGTERM and Ctrl-C as a question that a program asks between two steps, so that it can save what it has and end in
// order. A second signal has its usual effect: nobody is kept waiting against their will.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace prdist {

/// While one lives, the signals only set a mark. One at a time, and in main(): handlers belong to the process.
class StopSignal {
 public:
  StopSignal() {
    struct sigaction action {};
    action.sa_handler = [](int signal) { caught_ = signal; };
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
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
  }

  /// Whether a signal has come since one was made. Any thread.
  [[nodiscard]] static bool requested() noexcept { return caught_ != 0; }

  /// The code of a program that ends because of it, 128 and the signal's number: 143 after SIGTERM, and when another
  /// process of the job was asked to stop.
  [[nodiscard]] static int exit_code() noexcept { return 128 + (caught_ == 0 ? SIGTERM : caught_.load()); }

 private:
  static constexpr std::array<int, 2> signals{SIGTERM, SIGINT};
  inline static std::atomic<int> caught_ = 0;
  static_assert(std::atomic<int>::is_always_lock_free);
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace prdist
