// SPDX-License-Identifier: Apache-2.0
// Servers as Paddle v2 names them, PADDLE_INIT_PSERVERS=host1,host2 and one first port for all, as endpoints.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/port_layout.hpp>

namespace prdist {

/// The first port of each host's server. A host that stands there again has one more server, on the ports behind its
/// last. IPv6 may be in brackets. `name` is what the list was given by. @throws Error config.invalid
[[nodiscard]] inline std::vector<Endpoint> endpoints_of_hosts(std::string_view name, std::string_view list,
                                                              std::uint16_t port, PortLayout const& ports) {
  auto const wrong = [&](auto const&... what) { return Error(Errc::config_invalid, name, "='", list, "': ", what...); };
  std::vector<Endpoint> endpoints;
  std::string_view rest = list;
  for (bool more = true; more;) {
    auto const comma = rest.find(',');
    auto host = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    auto const item = host;
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
      host = host.substr(1, host.size() - 2);
    } else if (std::ranges::count(host, ':') == 1 || host.find(']') != std::string_view::npos) {
      throw wrong("'", item, "' has a port: hosts stand there alone, their first port is given apart");
    }
    if (host.empty()) throw wrong("a host is missing: write host,host");
    if (host.find_first_of(" \t\r\n/@[]") != std::string_view::npos) {
      throw wrong("'", item, "' has a character no host name has");
    }
    auto const before = static_cast<std::size_t>(std::ranges::count(endpoints, host, &Endpoint::host));
    auto const first = port + before * ports.total();
    if (first + ports.total() - 1 > 65535) {
      throw wrong("the ports of server ", endpoints.size(), ", ", first, " and on, go beyond 65535: begin lower");
    }
    endpoints.push_back({std::string(host), static_cast<std::uint16_t>(first)});
  }
  return endpoints;
}

}  // namespace prdist
