// SPDX-License-Identifier: Apache-2.0
// Base64 as etcd's gateway writes keys and values: the usual letters, with padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prrun {

inline constexpr std::string_view base64_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

[[nodiscard]] inline std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    auto const byte = [&](std::size_t at) -> std::uint32_t {
      return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
    };
    auto const bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += base64_letters[bits >> 18];
    text += base64_letters[bits >> 12 & 63];
    text += i + 1 < bytes.size() ? base64_letters[bits >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? base64_letters[bits & 63] : '=';
  }
  return text;
}

/// Nothing for what is not base64.
[[nodiscard]] inline std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t const padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      bool const pad = i + k >= text.size() - padding;
      auto const value = pad ? 0 : base64_letters.find(text[i + k]);
      if (value == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(value);
    }
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 255);
  }
  for (std::size_t i = 0; i < padding; ++i) bytes.pop_back();
  return bytes;
}

}  // namespace prrun
