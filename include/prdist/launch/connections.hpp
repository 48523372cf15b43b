// SPDX-License-Identifier: Apache-2.0
// Which of this machine's ports somebody is connected to, as the kernel tells: what a launcher can know of a server
// whose program it does not.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace prdist {

/// Established connections to one of `ports`, in a table as /proc/net/tcp has it.
[[nodiscard]] inline std::size_t count_connections(std::istream& table, std::set<std::uint16_t> const& ports) {
  constexpr std::string_view established = "01";
  std::size_t count = 0;
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number;
    std::string local;
    std::string remote;
    std::string state;
    if (!(words >> number >> local >> remote >> state) || state != established) continue;
    auto const text = std::string_view(local).substr(local.rfind(':') + 1);
    std::uint16_t port = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), port, 16);
    if (error == std::errc() && end == text.data() + text.size() && ports.contains(port)) ++count;
  }
  return count;
}

/// Those of this process's network, over IPv4 and IPv6.
[[nodiscard]] inline std::size_t open_connections(std::set<std::uint16_t> const& ports) {
  std::size_t count = 0;
  for (auto const* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream table(path);
    count += count_connections(table, ports);
  }
  return count;
}

}  // namespace prdist
