// SPDX-License-Identifier: Apache-2.0
// The machines of an MPI job: from a hostfile of any flavour or from Slurm's list of nodes.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/printable.hpp>

namespace prdist {

/// Host names of a hostfile, each once, in its order: `node1`, `node1 slots=2` (Open MPI), `node1:2` (MPICH, Intel),
/// `user@node1`, PBS's one line per core; # begins a comment. `file` is for messages. @throws Error config.invalid
[[nodiscard]] inline std::vector<std::string> parse_hostfile(std::string_view file, std::string_view text) {
  std::vector<std::string> hosts;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    auto const begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) continue;
    line.remove_prefix(begin);
    auto host = line.substr(0, line.find_first_of(" \t\r,"));
    if (auto const at = host.find('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
    if (host.starts_with('[')) {
      host = host.substr(1, host.find(']') - 1);
    } else if (std::ranges::count(host, ':') == 1) {
      host = host.substr(0, host.find(':'));
    }
    bool const plain =
        !host.empty() && !host.starts_with('-') && host.find_first_of("/\\'\"$`;&|()<>[]") == std::string_view::npos;
    if (!plain) {
      throw Error(Errc::config_invalid, file, ':', number, ": '", printable(line),
                  "' begins with no host name: ", "write one host per line, for example node1 slots=2");
    }
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.emplace_back(host);
  }
  if (hosts.empty()) throw Error(Errc::config_missing, file, " names no host", ": write one host per line");
  return hosts;
}

/// Slurm's short form written out: `gpu[01-03,7],login` as gpu01, gpu02, gpu03, gpu7, login.
/// @throws Error config.invalid
[[nodiscard]] inline std::vector<std::string> expand_nodelist(std::string_view list) {
  auto const wrong = [&](std::string_view what) {
    return Error(Errc::config_invalid, "SLURM_JOB_NODELIST='", list, "': ", what,
                 "; give the hosts in a file with --hostfile");
  };
  std::vector<std::string> hosts;
  for (std::string_view rest = list; !rest.empty();) {
    auto const comma = std::min(rest.find(','), rest.size());
    auto const open = rest.find('[');
    if (open == std::string_view::npos || comma < open) {
      if (comma > 0) hosts.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      continue;
    }
    auto const close = rest.find(']');
    if (close == std::string_view::npos || close < open) throw wrong("a bracket is open");
    auto const end = std::min(rest.find(',', close), rest.size());
    auto const before = rest.substr(0, open);
    auto const behind = rest.substr(close + 1, end - close - 1);
    if (behind.find('[') != std::string_view::npos) throw wrong("two brackets in one name are not understood");
    for (auto ranges = rest.substr(open + 1, close - open - 1); !ranges.empty();) {
      auto const range = ranges.substr(0, ranges.find(','));
      ranges.remove_prefix(std::min(range.size() + 1, ranges.size()));
      auto const dash = range.find('-');
      auto const low_text = range.substr(0, dash);
      auto const high_text = dash == std::string_view::npos ? low_text : range.substr(dash + 1);
      std::size_t low = 0;
      std::size_t high = 0;
      if (!parse_number(low_text, low) || !parse_number(high_text, high) || high < low || high - low > 65535) {
        throw wrong(concat("'", range, "' is no range"));
      }
      for (auto i = low; i <= high; ++i) {
        auto number = concat(i);
        if (number.size() < low_text.size()) number.insert(0, low_text.size() - number.size(), '0');
        hosts.push_back(concat(before, number, behind));
      }
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return hosts;
}

/// Whether an address of `host` belongs to this machine: a socket can be bound to it.
[[nodiscard]] inline bool is_this_machine(std::string const& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "0", &hints, &found) != 0) return false;
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const addresses(found, &::freeaddrinfo);
  for (auto const* each = addresses.get(); each != nullptr; each = each->ai_next) {
    Descriptor const socket(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket && ::bind(socket.get(), each->ai_addr, each->ai_addrlen) == 0) return true;
  }
  return false;
}

}  // namespace prdist
