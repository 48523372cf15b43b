// SPDX-License-Identifier: Apache-2.0
// Lines that programs have written, fit for a terminal: colours stay, everything else that would move the cursor, ring
// the bell or change a title is shown instead of done. core/escaped.hpp has another rule, for values in a message: no
// colours and tabs there, and only UTF-8, where a program's log may have any encoding.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <prdist/core/text.hpp>

namespace prdist {

namespace detail {

/// The length of the colour sequence (ESC [ numbers m) that the text begins with; 0 when it begins with none.
[[nodiscard]] constexpr std::size_t colour_size(std::string_view text) noexcept {
  if (!text.starts_with("\x1b[")) return 0;
  auto const end = text.find_first_not_of("0123456789;:", 2);
  return end != std::string_view::npos && end < 64 && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace detail

/// One line, with \n, \r and \x1b for what is no text; tabs and colours stay, and a colour ends with the line. Bytes
/// beyond ASCII are left alone, whatever their encoding, but for the control characters that UTF-8 has there.
[[nodiscard]] inline std::string printable(std::string_view line) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(line.size());
  bool coloured = false;
  while (!line.empty()) {
    if (auto const size = detail::colour_size(line); size != 0) {
      auto const colour = line.substr(0, size);
      coloured = colour != "\x1b[0m" && colour != "\x1b[m";
      text += colour;
      line.remove_prefix(size);
      continue;
    }
    auto const c = static_cast<unsigned char>(line.front());
    bool const second = c == 0xc2 && line.size() > 1 && static_cast<unsigned char>(line[1]) >= 0x80 &&
                        static_cast<unsigned char>(line[1]) < 0xa0;
    auto const shown = second ? static_cast<unsigned char>(line[1]) : c;
    line.remove_prefix(second ? 2 : 1);
    if (!second && ((c >= 0x20 && c != 0x7f) || c == '\t')) {
      text += static_cast<char>(c);
    } else if (c == '\n' || c == '\r') {
      text += c == '\n' ? "\\n" : "\\r";
    } else {
      text += concat("\\x", digits[shown >> 4U], digits[shown & 0xfU]);
    }
  }
  if (coloured) text += "\x1b[0m";
  return text;
}

}  // namespace prdist
