// SPDX-License-Identifier: Apache-2.0
// Every code that a diagnostic may carry, with a file that shows it and the same file corrected. The tests run both.
#pragma once

#include <span>
#include <string_view>

namespace prdist::gen {

struct CodeEntry {
  std::string_view code;
  std::string_view title;
  std::string_view why;
  std::string_view failing;    ///< a backend.yaml that gives this code
  std::string_view corrected;  ///< the same, without it
  std::string_view flags{};    ///< that the failing file needs, parted by blanks
  bool error = true;           ///< else a warning
};

/// In the order of their numbers.
[[nodiscard]] std::span<CodeEntry const> catalogue();
[[nodiscard]] CodeEntry const* find_code(std::string_view code);

/// Numbers that no message carries; they are given to no other, either.
inline constexpr std::string_view retired_codes[] = {"PR026"};

}  // namespace prdist::gen
