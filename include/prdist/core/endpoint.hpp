// SPDX-License-Identifier: Apache-2.0
// host:port, as it stands in PADDLE_PSERVERS_IP_PORT_LIST. IPv6 hosts are written in brackets.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  friend auto operator<=>(Endpoint const&, Endpoint const&) = default;
};

[[nodiscard]] inline std::string to_string(Endpoint const& endpoint) {
  bool const bare_ipv6 = endpoint.host.find(':') != std::string::npos;
  return bare_ipv6 ? concat('[', endpoint.host, "]:", endpoint.port) : concat(endpoint.host, ':', endpoint.port);
}

/// Reads `host:port` or `[ipv6]:port`; the error names `text` and what is wrong with it.
[[nodiscard]] inline Result<Endpoint> parse_endpoint(std::string_view text) {
  auto const wrong = [&](std::string_view what) {
    return Error(Errc::config_invalid, "'", text, "' ", what, ": write host:port, for example 10.0.0.4:36000");
  };
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("has no port");
  auto host = text.substr(0, colon);
  if (host.find_first_of(" \t\r\n/@,") != std::string_view::npos) return wrong("has a character no host name has");
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong("looks like IPv6 without brackets");
  }
  if (host.empty()) return wrong("has no host");
  if (host.find_first_of("[]") != std::string_view::npos) return wrong("has a character no host name has");
  std::uint16_t port = 0;
  if (!parse_number(text.substr(colon + 1), port) || port == 0) return wrong("has no port between 1 and 65535");
  return Endpoint{std::string(host), port};
}

}  // namespace prdist
