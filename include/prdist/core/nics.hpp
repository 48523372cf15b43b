// SPDX-License-Identifier: Apache-2.0
// The network interfaces of this machine, and the addresses a server listens on when it is told to use some of them.
#pragma once

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

struct Nic {
  std::string name;
  std::vector<std::string> addresses{};       ///< IPv4 and IPv6, as text; those that others may use
  std::vector<std::string> link_addresses{};  ///< those that mean something on one link only (fe80::)
  bool up = true;
};

/// All of them, also those without an address.
/// @throws Error internal.error when the system does not tell
[[nodiscard]] inline std::vector<Nic> all_nics() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    throw Error(Errc::internal, "the network interfaces cannot be listed: ", std::generic_category().message(errno));
  }
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> const owner(list, &::freeifaddrs);
  std::vector<Nic> nics;
  for (auto const* it = list; it != nullptr; it = it->ifa_next) {
    auto nic = std::ranges::find(nics, std::string_view(it->ifa_name), &Nic::name);
    if (nic == nics.end()) nic = nics.insert(nics.end(), Nic{it->ifa_name});
    if (it->ifa_addr == nullptr) continue;
    nic->up = (it->ifa_flags & IFF_UP) != 0;
    char text[INET6_ADDRSTRLEN];
    void const* address = nullptr;
    bool link_only = false;
    if (it->ifa_addr->sa_family == AF_INET) {
      address = &reinterpret_cast<sockaddr_in const*>(it->ifa_addr)->sin_addr;
    } else if (it->ifa_addr->sa_family == AF_INET6) {
      auto const& v6 = reinterpret_cast<sockaddr_in6 const*>(it->ifa_addr)->sin6_addr;
      link_only = IN6_IS_ADDR_LINKLOCAL(&v6);
      address = &v6;
    }
    if (address == nullptr) continue;
    auto& addresses = link_only ? nic->link_addresses : nic->addresses;
    addresses.emplace_back(::inet_ntop(it->ifa_addr->sa_family, address, text, sizeof text));
  }
  return nics;
}

/// The addresses of the interfaces in `wanted`, a comma list of names. @throws Error config.invalid with the names
/// there are
[[nodiscard]] inline std::vector<std::string> addresses_of_nics(std::string_view wanted, std::vector<Nic> const& nics) {
  std::vector<std::string> addresses;
  std::string_view rest = wanted;
  for (bool more = true; more;) {
    auto const comma = rest.find(',');
    auto const name = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    auto const nic = std::ranges::find(nics, name, &Nic::name);
    if (nic == nics.end()) {
      std::string there;
      for (auto const& each : nics) there += concat(there.empty() ? "" : ", ", each.name);
      throw Error(Errc::config_invalid, "--nics '", wanted, "': there is no interface '", name,
                  "' on this machine; there are ", there, ": name some of them, or none for all");
    }
    if (nic->addresses.empty()) {
      throw Error(Errc::config_invalid, "--nics '", wanted, "': interface '", name,
                  "' has no address: give it one, or leave it out");
    }
    for (auto const& address : nic->addresses) {
      if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
    }
  }
  return addresses;
}

}  // namespace prdist
