// SPDX-License-Identifier: Apache-2.0
// concat(): builds a message from its parts. std::format does not exist in g++ 12, and messages are the only
// text this library makes, so nothing larger is needed.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
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

}  // namespace prdist
