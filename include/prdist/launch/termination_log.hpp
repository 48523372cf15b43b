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

#include <prdist/core/environment.hpp>
#include <prdist/core/text.hpp>
#include <prdist/core/descriptor.hpp>

namespace prdist {

/// Whether a variable of this name holds something to keep.
[[nodiscard]] inline bool is_secret_name(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  static constexpr std::array<std::string_view, 8> parts{"PASSWORD", "PASSWD", "SECRET",     "TOKEN",
                                                         "API_KEY",  "UGI",    "ACCESS_KEY", "CREDENTIAL"};
  for (auto const part : parts) {
    if (upper.find(part) != std::string::npos) return true;
  }
  return upper == "AK" || upper == "SK" || upper.ends_with("_AK") || upper.ends_with("_SK");
}

/// `text` with *** for every value of a secret variable of `environment` (NAME=value) and for passwords in addresses
/// (scheme://user:password@host).
[[nodiscard]] inline std::string without_secrets(std::string text, std::span<std::string const> environment) {
  for (auto const& entry : environment) {
    auto const equals = entry.find('=');
    if (equals == std::string::npos || !is_secret_name(std::string_view(entry).substr(0, equals))) continue;
    auto const value = entry.substr(equals + 1);
    if (value.size() < 3) continue;  // such a short one stands in every other word
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
