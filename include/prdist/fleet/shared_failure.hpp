// SPDX-License-Identifier: Apache-2.0
// What one worker could not do for all, as a text that the others hear when they meet. The code goes with it: it
// decides whether a launcher starts the job again, and any worker may be the first to end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist::detail {

inline constexpr std::string_view failure_word = "failed ";

[[nodiscard]] inline std::string failure_text(Error const& error) {
  return concat(failure_word, static_cast<unsigned>(error.code()), '\n', error.message());
}

/// What `text` tells when it is such a one, with `who` before it; a code of a newer version is `internal`.
[[nodiscard]] inline std::optional<Error> failure_in(std::string_view text, std::string_view who) {
  if (!text.starts_with(failure_word)) return std::nullopt;
  text.remove_prefix(failure_word.size());
  auto const line = std::min(text.find('\n'), text.size());
  std::uint64_t number = 0;
  auto const code = parse_number(text.substr(0, line), number) ? errc_of(number) : Errc::internal;
  text.remove_prefix(std::min(line + 1, text.size()));
  return Error(code, who, ": ", text);
}

inline void throw_failure_in(std::string_view text, std::string_view who) {
  if (auto const failed = failure_in(text, who)) throw *failed;
}

}  // namespace prdist::detail
