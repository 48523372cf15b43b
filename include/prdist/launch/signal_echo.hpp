// SPDX-License-Identifier: Apache-2.0
// One wish to end a job may come as two signals: timeout(1) sends its own to the program and once more to the group, a
// shell passes on what the terminal has sent to all, pkill finds several processes of one launcher. As a second signal
// means "kill at once", the same one again is none for a moment, or nobody could save.
#pragma once

#include <chrono>

namespace prdist {

class SignalEcho {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// Longer than a loaded machine takes to pass a signal on, shorter than people take to press Ctrl-C on purpose again.
  static constexpr std::chrono::milliseconds usual{500};

  explicit SignalEcho(std::chrono::milliseconds distance = usual) noexcept : distance_(distance) {}

  /// Whether this signal is the last one that counted, once more. The distance is from that one, so that a key which is
  /// held down counts in the end.
  [[nodiscard]] bool heard(int signal, TimePoint now) noexcept {
    if (signal == last_ && now < since_ + distance_) return true;
    last_ = signal;
    since_ = now;
    return false;
  }

 private:
  std::chrono::milliseconds distance_;
  int last_ = 0;
  TimePoint since_{};
};

}  // namespace prdist
