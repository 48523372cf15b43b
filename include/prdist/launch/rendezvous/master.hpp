// SPDX-License-Identifier: Apache-2.0
// --master: where the nodes of a job meet. host:port is a store that the first node starts itself, etcd://host:port
// an etcd that runs already.
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

  friend bool operator==(Master const&, Master const&) = default;
};

/// As it is written on the command line.
[[nodiscard]] inline std::string to_string(Master const& master) {
  return concat(master.kind == Master::Kind::etcd ? "etcd://" : "", to_string(master.endpoint));
}

/// Reads host:port or etcd://host:port, hosts of IPv6 in brackets; the error names the text.
[[nodiscard]] inline Result<Master> parse_master(std::string_view text) {
  auto const wrong = [&](std::string_view what) {
    return Error(Errc::config_invalid, "launcher: --master '", text, "' ", what,
                 ": write host:port, for example 10.0.0.4:36000, or etcd://host:2379");
  };
  Master master;
  auto rest = text;
  if (auto const scheme = text.find("://"); scheme != std::string_view::npos) {
    if (text.substr(0, scheme) != "etcd") return wrong("has a scheme that is not etcd://");
    master.kind = Master::Kind::etcd;
    rest = text.substr(scheme + 3);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('@') != std::string_view::npos) return wrong("has a user: etcd with passwords is not supported");
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
