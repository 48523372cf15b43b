// SPDX-License-Identifier: Apache-2.0
// The machines of a job over SSH: a hostfile of `user@host:port slots=n`, each line a node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/printable.hpp>

namespace prdist {

struct SshHost {
  std::string user;        ///< empty leaves the choice to ssh
  std::string host;        ///< a name, an address, or an alias of ssh's own configuration
  std::uint16_t port = 0;  ///< 0 leaves the choice to ssh
  std::size_t slots = 1;   ///< trainers that it has room for
};

/// `user@host:port`, as it stands in the file.
[[nodiscard]] inline std::string to_string(SshHost const& host) {
  bool const v6 = host.host.find(':') != std::string::npos;
  return concat(host.user, host.user.empty() ? "" : "@", v6 ? "[" : "", host.host, v6 ? "]" : "",
                host.port == 0 ? std::string() : concat(':', host.port));
}

namespace detail {

/// ssh would take a name that begins with '-' for an option, and hand odd characters to a shell (ProxyCommand %h).
[[nodiscard]] inline bool is_plain_name(std::string_view name, std::string_view also) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && !name.starts_with('-') &&
         std::ranges::all_of(name, [&](char c) { return plain.find(c) != plain.npos || also.find(c) != also.npos; });
}

/// One line without comment and surrounding blanks. `wrong` makes the error of this line.
template <class Wrong>
[[nodiscard]] SshHost ssh_host_of(std::string_view line, Wrong const& wrong) {
  constexpr std::string_view blanks = " \t\r";
  SshHost parsed;
  auto name = line.substr(0, line.find_first_of(blanks));
  for (auto rest = line.substr(name.size()); !rest.empty();) {
    auto const begin = std::min(rest.find_first_not_of(blanks), rest.size());
    rest.remove_prefix(begin);
    auto const word = rest.substr(0, rest.find_first_of(blanks));
    rest.remove_prefix(word.size());
    if (word.empty() || word.starts_with("max_slots=") || word.starts_with("max-slots=")) continue;
    if (!word.starts_with("slots=")) throw wrong(concat("'", word, "' is not understood: only slots=N may follow"));
    if (!parse_number(word.substr(6), parsed.slots) || parsed.slots == 0 || parsed.slots > 1024) {
      throw wrong(concat("'", word, "' is not slots=N with N from 1 to 1024"));
    }
  }
  if (auto const at = name.rfind('@'); at != std::string_view::npos) {
    parsed.user = name.substr(0, at);
    if (!is_plain_name(parsed.user, "@+")) throw wrong(concat("'", parsed.user, "' is no user name"));
    name.remove_prefix(at + 1);
  }
  std::string_view port;
  bool given_port = false;
  if (name.starts_with('[')) {
    auto const close = name.find(']');
    if (close == std::string_view::npos) throw wrong("a bracket is open");
    auto const behind = name.substr(close + 1);
    given_port = behind.starts_with(':');
    if (!given_port && !behind.empty()) throw wrong("behind the bracket only :PORT may follow");
    if (given_port) port = behind.substr(1);
    parsed.host = name.substr(1, close - 1);
    if (!is_plain_name(parsed.host, ":%")) throw wrong(concat("'", parsed.host, "' is no address"));
  } else {
    if (std::ranges::count(name, ':') > 1) throw wrong("an IPv6 address stands in brackets: [fd00::1]:22");
    auto const colon = name.find(':');
    given_port = colon != std::string_view::npos;
    if (given_port) port = name.substr(colon + 1);
    parsed.host = name.substr(0, colon);
    if (parsed.host.starts_with('-')) throw wrong("a host name does not begin with '-'");
    if (!is_plain_name(parsed.host, "")) throw wrong(concat("'", parsed.host, "' is no host name"));
  }
  if (given_port && (!parse_number(port, parsed.port) || parsed.port == 0)) {
    throw wrong(concat("'", port, "' is no port from 1 to 65535"));
  }
  return parsed;
}

}  // namespace detail

/// The hosts in the file's order, each once: the n-th is node n. # begins a comment. `file` is for messages.
/// @throws Error config.invalid with file and line, config.contradiction, config.missing
[[nodiscard]] inline std::vector<SshHost> parse_ssh_hosts(std::string_view file, std::string_view text) {
  std::vector<SshHost> hosts;
  std::vector<std::size_t> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    auto const begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) continue;
    line = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    auto const wrong = [&](std::string_view what) {
      return Error(Errc::config_invalid, "ssh: ", file, ':', number, ": '", printable(line), "', ", printable(what),
                   ". Write user@host:port slots=2; user, port and slots may be missing");
    };
    auto host = detail::ssh_host_of(line, wrong);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (hosts[i].host != host.host || hosts[i].port != host.port) continue;
      throw Error(Errc::config_contradiction, "ssh: ", file, ':', number, ": '", host.host, "' stands in line ",
                  lines[i], " already: name each host once, and give it slots=N for N trainers");
    }
    hosts.push_back(std::move(host));
    lines.push_back(number);
  }
  if (hosts.empty()) {
    throw Error(Errc::config_missing, "ssh: ", file, " names no host", ": write one user@host:port per line");
  }
  return hosts;
}

}  // namespace prdist
