// SPDX-License-Identifier: Apache-2.0
// concat(): builds a message from its parts. std::format does not exist in g++ 12, and messages are the only
// text this library makes, so nothing larger is needed.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace prdist {

namespace detail {

template <class Part>
void append(std::string& out, Part const& part) {
  if constexpr (std::convertible_to<Part const&, std::string_view>) {
    out += std::string_view(part);
  } else if constexpr (std::same_as<Part, char>) {
    out += part;
  } else if constexpr (std::same_as<Part, bool>) {
    out += part ? "true" : "false";
  } else {
    static_assert(std::is_arithmetic_v<Part>, "prdist::concat: parts are texts, characters, numbers and bools");
    char text[64];
    auto const [end, error] = std::to_chars(text, text + sizeof text, part);
    if (error == std::errc{}) out.append(text, end);
  }
}

}  // namespace detail

/// The parts as one string; numbers in their shortest exact form.
template <class... Parts>
[[nodiscard]] std::string concat(Parts const&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// The whole of `text` as a number, or false: no blanks, no sign on unsigned types, nothing behind it.
template <class Number>
[[nodiscard]] bool parse_number(std::string_view text, Number& number) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

/// Well-formed UTF-8 without control characters: fit for a log line, for JSON and for a terminal.
[[nodiscard]] constexpr bool is_printable_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    auto const lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) {
      if (lead < 0x20 || lead == 0x7f) return false;
      continue;
    }
    std::size_t const more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - i < more) return false;
    std::uint32_t point = lead & (0x3fU >> more);
    for (std::size_t k = 0; k < more; ++k) {
      auto const next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0U) != 0x80) return false;
      point = point << 6 | (next & 0x3fU);
    }
    constexpr std::uint32_t least[]{0, 0xa0, 0x800, 0x10000};  // below 0xa0 are more control characters
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
  }
  return true;
}

}  // namespace prdist
