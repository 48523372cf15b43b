// SPDX-License-Identifier: Apache-2.0
// --master: where the nodes of a job meet. host:port is a store that the first node starts itself, also as Paddle
// spells it, http://host:port; etcd://host:port is an etcd that runs already, etcds://host:port one with TLS.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

struct Master {
  enum class Kind : std::uint8_t { first_node, etcd };

  Kind kind = Kind::first_node;
  Endpoint endpoint;
  bool tls = false;

  friend bool operator==(Master const&, Master const&) = default;
};

/// As it is written on the command line.
[[nodiscard]] inline std::string to_string(Master const& master) {
  auto const* const scheme = master.kind == Master::Kind::first_node ? "" : master.tls ? "etcds://" : "etcd://";
  return concat(scheme, to_string(master.endpoint));
}

/// Reads what stands above, hosts of IPv6 in brackets; the error names the text.
[[nodiscard]] inline Result<Master> parse_master(std::string_view text) {
  auto const wrong = [&](std::string_view what) {
    // What stands before the sign is a user and a password, and this is printed.
    auto const sign = text.rfind('@');
    auto const shown = sign == std::string_view::npos ? std::string(text) : concat("***", text.substr(sign));
    return Error(Errc::config_invalid, "launcher: --master '", shown, "' ", what,
                 ": write host:port, for example 10.0.0.4:36000, or etcd://host:2379, with TLS etcds://");
  };
  Master master;
  auto rest = text;
  if (auto const scheme = text.find("://"); scheme != std::string_view::npos) {
    auto const name = text.substr(0, scheme);
    if (name == "https") return wrong("asks for TLS, which the first node's store does not speak");
    master.tls = name == "etcds";
    if (name == "etcd" || master.tls) {
      master.kind = Master::Kind::etcd;
    } else if (name != "http") {
      return wrong("has a scheme that is neither etcd:// nor http://");
    }
    rest = text.substr(scheme + 3);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('@') != std::string_view::npos)
    return wrong("has a user: etcd is asked with certificates or openly, not with passwords");
  if (rest.find(',') != std::string_view::npos) return wrong("names several: one is enough");
  auto endpoint = parse_endpoint(rest);
  if (!endpoint) {
    // What it says of the part is true of the whole; only its example is another.
    auto const what = endpoint.error().message().substr(rest.size() + 3);
    return wrong(what.substr(0, what.find(": write ")));
  }
  master.endpoint = std::move(*endpoint);
  return master;
}

}  // namespace prdist
