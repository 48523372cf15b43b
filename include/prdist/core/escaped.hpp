// SPDX-License-Identifier: Apache-2.0
// What others have written, in a message: every character that could steer a terminal, break a line or turn the
// direction of writing stands there as an escape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <prdist/core/text.hpp>

namespace prdist {

/// Length of the UTF-8 sequence that starts at `i`, 0 when it is not one, or NUL. Overlong forms, surrogates and what
/// lies beyond U+10FFFF are refused: parsers disagree about them.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text, std::size_t i) noexcept {
  auto const byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  auto const tail = [&](std::size_t k) { return (byte(k) & 0xc0U) == 0x80U; };
  auto const first = byte(i);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(i + 1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (!tail(i + 1) || !tail(i + 2)) return 0;
    if (first == 0xe0 && byte(i + 1) < 0xa0) return 0;
    if (first == 0xed && byte(i + 1) > 0x9f) return 0;
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!tail(i + 1) || !tail(i + 2) || !tail(i + 3)) return 0;
    if (first == 0xf0 && byte(i + 1) < 0x90) return 0;
    if (first == 0xf4 && byte(i + 1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

/// Whether a terminal shows the sequence of utf8_length() bytes at `i` as itself.
[[nodiscard]] constexpr bool shows_as_itself(std::string_view text, std::size_t i, std::size_t length) noexcept {
  auto const byte = [&](std::size_t k) { return static_cast<unsigned>(static_cast<unsigned char>(text[i + k])); };
  if (length == 0) return false;
  if (length == 1) return byte(0) >= 0x20 && byte(0) != 0x7f;
  if (length == 2) return byte(0) != 0xc2 || byte(1) >= 0xa0;  // U+0080 to U+009F are controls, too
  if (length > 3) return true;
  auto const code = (byte(0) & 0x0fU) << 12U | (byte(1) & 0x3fU) << 6U | (byte(2) & 0x3fU);
  return !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069) && code != 0xfeff;
}

/// Such as "a\nb\x1b[2J". What is not UTF-8 is escaped byte by byte. (Lines of programs, in whatever encoding and with
/// colours, go through launch/printable.hpp.)
[[nodiscard]] inline std::string escaped(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    auto const length = utf8_length(text, i);
    if (shows_as_itself(text, i, length)) {
      out += text.substr(i, length);
      i += length;
      continue;
    }
    for (auto const end = i + std::max<std::size_t>(length, 1); i < end; ++i) {
      auto const byte = static_cast<unsigned char>(text[i]);
      if (byte == '\n') {
        out += "\\n";
      } else if (byte == '\r') {
        out += "\\r";
      } else if (byte == '\t') {
        out += "\\t";
      } else {
        out += concat("\\x", digits[byte >> 4U], digits[byte & 0xfU]);
      }
    }
  }
  return out;
}

}  // namespace prdist
