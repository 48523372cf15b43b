// SPDX-License-Identifier: Apache-2.0
// What a number in a declaration may be. A rule names the limit with the number, so that a declaration is refused
// before a weight can become NaN by it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace prdist {

enum class Limit : std::uint8_t {
  finite,
  positive,
  not_negative,
  fraction,  ///< from 0 to below 1
};

[[nodiscard]] constexpr bool within(Limit limit, double value) noexcept {
  constexpr auto most = std::numeric_limits<double>::max();
  if (!(value >= -most && value <= most)) return false;
  switch (limit) {
    case Limit::finite: return true;
    case Limit::positive: return value > 0;
    case Limit::not_negative: return value >= 0;
    case Limit::fraction: return value >= 0 && value < 1;
  }
  return false;
}

/// As in "epsilon is 0, it must be above 0".
[[nodiscard]] constexpr std::string_view text_of(Limit limit) noexcept {
  switch (limit) {
    case Limit::finite: return "it must be a finite number";
    case Limit::positive: return "it must be above 0";
    case Limit::not_negative: return "it must not be below 0";
    case Limit::fraction: return "it must be from 0 to below 1";
  }
  return "";
}

}  // namespace prdist
