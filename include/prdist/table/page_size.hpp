// SPDX-License-Identifier: Apache-2.0
// Whether the next chunk of memory is asked for in huge pages. Where memory is at hand one costs tenths of a
// millisecond. A virtual machine that gets its memory from the host on first touch needs tens of milliseconds, during
// which every pull of the thread waits; in ordinary pages the same memory comes in pieces that nobody notices.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace prdist {

class PageSize {
 public:
  /// That a huge page may take, a few times what it does where memory is at hand.
  static constexpr std::chrono::nanoseconds dear = std::chrono::milliseconds(4);

  /// Whether the next chunk shall have huge pages.
  [[nodiscard]] bool huge() noexcept {
    if (ordinary_ == 0) return true;
    --ordinary_;
    return false;
  }

  /// A huge page was touched for the first time, which took so long; whether the rest of its chunk may be huge. A dear
  /// one makes the next chunks ordinary as well, twice as many each time: so few are met that nobody's tail shows them.
  [[nodiscard]] bool took(std::chrono::nanoseconds time) noexcept {
    if (time < dear) return true;
    ordinary_ = next_ordinary_;
    next_ordinary_ = std::min(next_ordinary_ * 2, most);
    return false;
  }

  /// How long this thread works on touching the page at `start`. What others do on the machine meanwhile is not
  /// counted.
  [[nodiscard]] static std::chrono::nanoseconds touched(std::byte* start) noexcept {
    auto const before = spent();
    *static_cast<std::byte volatile*>(start) = std::byte{0};
    return spent() - before;
  }

 private:
  static constexpr std::size_t most = 1024;

  [[nodiscard]] static std::chrono::nanoseconds spent() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  }

  std::size_t ordinary_ = 0;
  std::size_t next_ordinary_ = 1;
};

}  // namespace prdist
