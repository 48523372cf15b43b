// SPDX-License-Identifier: Apache-2.0
// The command line that others see of this process, in ps and /proc. The kernel reads it from the memory where it put
// the arguments, so writing there changes it, for this process and for what it forks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <prdist/core/text.hpp>

namespace prdist {

/// Remembers the command line it finds. Where the system does not say where that is, nothing is changed. The process
/// may not use its argv while another line is shown.
class ShownCommandLine {
 public:
  ShownCommandLine() {
    std::ifstream file("/proc/self/stat", std::ios::binary);
    std::string const text(std::istreambuf_iterator<char>(file), {});
    // pid (name) state ...; the name may hold anything, the last bracket ends it. The 48th and 49th word are the ends.
    auto const bracket = text.rfind(") ");
    if (bracket == std::string::npos) return;
    std::string_view rest = std::string_view(text).substr(bracket + 2);
    std::uintptr_t ends[2] = {0, 0};
    for (std::size_t word = 3; word <= 49; ++word) {
      auto const blank = rest.find(' ');
      if (blank == std::string_view::npos) return;
      if (word >= 48 && !parse_number(rest.substr(0, blank), ends[word - 48])) return;
      rest.remove_prefix(blank + 1);
    }
    if (ends[0] == 0 || ends[1] <= ends[0]) return;
    memory_ = reinterpret_cast<char*>(ends[0]);
    line_.assign(memory_, ends[1] - ends[0]);
  }

  /// Shows `text` alone, as far as there is room: not one of the arguments stays.
  void show(std::string_view text) noexcept {
    if (memory_ == nullptr) return;
    std::memset(memory_, 0, line_.size());
    std::memcpy(memory_, text.data(), std::min(text.size(), line_.size() - 1));
  }

  /// Shows what was there before.
  void restore() noexcept {
    if (memory_ != nullptr) std::memcpy(memory_, line_.data(), line_.size());
  }

 private:
  char* memory_ = nullptr;
  std::string line_;  ///< the arguments, with a zero behind each
};

}  // namespace prdist
