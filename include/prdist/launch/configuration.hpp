// SPDX-License-Identifier: Apache-2.0
// The configuration that Paddle's launcher shows before it starts anything, without what is secret.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/termination_log.hpp>

namespace prdist {

/// Names and values, sorted by name.
using Configuration = std::map<std::string, std::string>;

/// Arguments without what is secret: *** for the values of flags that are named like secrets, and for those of secret
/// variables of `environment` (NAME=value).
[[nodiscard]] inline std::vector<std::string> masked_arguments(std::span<std::string const> arguments,
                                                               std::span<std::string const> environment) {
  std::vector<std::string> masked;
  bool secret = false;
  for (auto argument : arguments) {
    auto const begin = argument.find_first_not_of('-');
    // Behind a flag that wants a secret anything is one but another long flag: a password may begin with a hyphen.
    bool const flag = begin != 0 && !(secret && !argument.starts_with("--"));
    if (secret && !flag) argument = "***";
    auto const equals = argument.find('=');
    auto name = begin == std::string::npos ? std::string() : argument.substr(begin, equals - begin);
    for (auto& c : name) c = c == '-' || c == '.' ? '_' : c;
    bool const named = is_secret_name(name);
    if (named && equals != std::string::npos) argument = argument.substr(0, equals + 1) + "***";
    secret = named && flag && equals == std::string::npos;
    masked.push_back(without_secrets(argument, environment));
  }
  return masked;
}

/// A program's arguments as Python shows a list, masked: ['--epochs', '3', '--password', '***'].
[[nodiscard]] inline std::string shown_arguments(std::span<std::string const> arguments,
                                                 std::span<std::string const> environment) {
  std::string text;
  for (auto const& argument : masked_arguments(arguments, environment)) {
    text += text.empty() ? "'" : ", '";
    for (char const c : argument) {
      if (c == '\'' || c == '\\') text += '\\';
      if (c == '\n') text += "\\n";
      if (c != '\n') text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    text += '\'';
  }
  return concat('[', text, ']');
}

/// The lines between the two dashed ones of Paddle's launcher, and these.
[[nodiscard]] inline std::vector<std::string> configuration_lines(Configuration const& configuration) {
  std::vector<std::string> lines{"-----------  Configuration  ----------------------"};
  for (auto const& [name, value] : configuration) lines.push_back(concat(name, ": ", value));
  lines.emplace_back(50, '-');
  return lines;
}

}  // namespace prdist
