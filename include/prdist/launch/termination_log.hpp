// SPDX-License-Identifier: Apache-2.0
// The last word of a container: one line in /dev/termination-log, which `kubectl describe pod` shows. No value of a
// secret variable gets there, whoever wrote it into a message.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/secret_names.hpp>

namespace prdist {

namespace detail {

/// Where a name of this kind ends and its value does: a word of an address or of a command.
[[nodiscard]] inline bool is_name_letter(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}
inline constexpr std::string_view ends_value = " \t\r\n'\"&,;";

/// Whether a value that follows this name in a text is hidden. Messages say key=7 and pass=3 of other things.
[[nodiscard]] inline bool hides_value(std::string_view name, char sign) {
  auto const words = words_of_name(name);
  if (!is_secret_name(name) || words.empty()) return false;
  if (sign == '=') return words.size() > 1 || (words[0] != "key" && words[0] != "pass" && words[0] != "auth");
  return words[0] == "authorization" || words.size() > 1;  // "password: " may begin half a sentence
}

/// *** for the values of NAME=value, ?name=value and Name-Of-Header: value where the name is a secret's.
inline void hide_named_values(std::string& text) {
  for (std::size_t at = 0; (at = text.find_first_of("=:", at)) != std::string::npos; ++at) {
    auto begin = at;
    while (begin > 0 && is_name_letter(text[begin - 1])) --begin;
    if (begin == at || !hides_value(std::string_view(text).substr(begin, at - begin), text[at])) continue;
    auto value = at + 1;
    if (text[at] == ':') {
      if (value >= text.size() || text[value] != ' ') continue;
      ++value;
      // Authorization: Bearer TOKEN
      auto const scheme = std::min(text.find_first_of(ends_value, value), text.size());
      bool const named = scheme + 1 < text.size() && text[scheme] == ' ' &&
                         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(value),
                                     text.begin() + static_cast<std::ptrdiff_t>(scheme),
                                     [](unsigned char c) { return std::isalpha(c) != 0; });
      if (named) value = scheme + 1;
    }
    auto const end = std::min(text.find_first_of(ends_value, value), text.size());
    if (end > value) text.replace(value, end - value, "***");
  }
}

}  // namespace detail

/// `text` with *** for every value of a secret variable of `environment` (NAME=value), for values behind secret names
/// and for passwords in addresses (scheme://user:password@host).
[[nodiscard]] inline std::string without_secrets(std::string text, std::span<std::string const> environment) {
  static constexpr std::array<std::string_view, 5> settings{"true", "false", "yes", "none", "null"};
  for (auto const& entry : environment) {
    auto const equals = entry.find('=');
    if (equals == std::string::npos || !is_secret_name(std::string_view(entry).substr(0, equals))) continue;
    auto const value = entry.substr(equals + 1);
    if (value.size() < 3) continue;                                      // such a short one stands in every other word
    if (std::ranges::find(settings, value) != settings.end()) continue;  // USE_AUTH and the like
    for (std::size_t at = 0; (at = text.find(value, at)) != std::string::npos; at += 3)
      text.replace(at, value.size(), "***");
  }
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    at += 3;
    auto const end = std::min(text.find_first_of("/ \t'\"", at), text.size());
    auto const sign = text.rfind('@', end == 0 ? 0 : end - 1);
    auto const colon = text.find(':', at);
    if (sign == std::string::npos || sign < at || colon == std::string::npos || colon >= sign) continue;
    text.replace(colon + 1, sign - colon - 1, "***");
  }
  detail::hide_named_values(text);
  return text;
}

/// PRDIST_TERMINATION_LOG, or the place where Kubernetes looks.
[[nodiscard]] inline std::string termination_log_path(Environment const& environment) {
  return environment("PRDIST_TERMINATION_LOG").value_or("/dev/termination-log");
}

/// Writes `cause` as one line of at most 4096 bytes, which is all Kubernetes keeps. True when it was written: outside
/// of a container there is no such file, and none is made in /dev.
inline bool write_termination_log(std::string const& path, std::string_view cause,
                                  std::span<std::string const> environment) {
  auto line = without_secrets(std::string(cause), environment);
  for (auto& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  constexpr std::size_t most = 4095;
  if (line.size() > most) {
    line.resize(most - 3);
    while (!line.empty() && !is_printable_utf8(line.substr(line.size() - std::min<std::size_t>(line.size(), 8)))) {
      if ((static_cast<unsigned char>(line.back()) & 0x80U) == 0) break;
      line.pop_back();
    }
    line += "...";
  }
  line += '\n';
  int const make = path.starts_with("/dev/") ? 0 : O_CREAT;
  Descriptor const file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | make, 0644));
  return file && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace prdist
