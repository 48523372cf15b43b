// SPDX-License-Identifier: Apache-2.0
// Environment variables as a function to ask, so that whoever reads them can be given others.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

/// Where variables are looked up; empty text counts as set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

[[nodiscard]] inline std::optional<std::string> process_environment(std::string_view name) {
  auto const* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// The variable's value as a number. @throws Error config.invalid
[[nodiscard]] inline std::uint32_t number_of(std::string_view name, std::string_view value, std::uint32_t low,
                                             std::uint32_t high) {
  std::uint32_t number = 0;
  if (!parse_number(value, number) || number < low || number > high) {
    throw Error(Errc::config_invalid, name, "='", value, "': a number from ", low, " to ", high, " is expected");
  }
  return number;
}

/// The same of a variable that may be missing. @throws Error config.invalid
[[nodiscard]] inline std::optional<std::uint32_t> number_in(Environment const& environment, std::string_view name,
                                                            std::uint32_t low, std::uint32_t high) {
  auto const value = environment(name);
  if (!value) return std::nullopt;
  return number_of(name, *value, low, high);
}

}  // namespace prdist
