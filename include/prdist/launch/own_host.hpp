// SPDX-License-Identifier: Apache-2.0
// Which hosts are this machine. Whole hosts are compared, addresses by value: 10.0.0.1 is not 10.0.0.10, and ::1 is
// 0:0:0:0:0:0:0:1. What the machine's own name resolves to is not asked for its address: many systems say 127.0.1.1.
#pragma once

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/nics.hpp>

namespace prdist {

/// One spelling for each host: an address in its shortest form, a name in lower case without a last dot.
[[nodiscard]] inline std::string canonical_host(std::string_view host) {
  std::string text(host);
  std::array<char, INET6_ADDRSTRLEN> spelled{};
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return ::inet_ntop(AF_INET, &v4, spelled.data(), spelled.size());
  }
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    if (!IN6_IS_ADDR_V4MAPPED(&v6)) return ::inet_ntop(AF_INET6, &v6, spelled.data(), spelled.size());
    return ::inet_ntop(AF_INET, v6.s6_addr + 12, spelled.data(), spelled.size());
  }
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text.ends_with('.')) text.pop_back();
  return text;
}

namespace detail {

/// "10.0.0.4" or "fe80::1"; empty for what is no internet address.
[[nodiscard]] inline std::string text_of(sockaddr const* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    auto const& v4 = *reinterpret_cast<sockaddr_in const*>(address);
    return ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  }
  if (address->sa_family != AF_INET6) return {};
  auto const& v6 = *reinterpret_cast<sockaddr_in6 const*>(address);
  return canonical_host(::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size()));
}

/// Where an address stands among a machine's: those that others may use first, IPv4 before IPv6.
[[nodiscard]] inline int reach_of(std::string_view address) {
  bool const v6 = address.find(':') != std::string_view::npos;
  if (address == "::1" || address.starts_with("127.")) return v6 ? 5 : 4;
  if (address.starts_with("fe80:") || address.starts_with("169.254.")) return v6 ? 3 : 2;
  return v6 ? 1 : 0;
}

}  // namespace detail

/// Addresses of the interfaces that are up, in the order in which others may use them: the first is this machine's for
/// other machines, loopback comes last.
[[nodiscard]] inline std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  auto const add = [&](std::string const& address) {
    auto text = canonical_host(address);
    if (std::ranges::find(addresses, text) == addresses.end()) addresses.push_back(std::move(text));
  };
  try {
    for (auto const& nic : all_nics()) {
      if (!nic.up) continue;
      std::ranges::for_each(nic.addresses, add);
      std::ranges::for_each(nic.link_addresses, add);
    }
  } catch (Error const&) {
    return {"127.0.0.1"};
  }
  std::ranges::stable_sort(addresses, {}, detail::reach_of);
  return addresses;
}

/// Whether `host`, a name or an address, is this machine: by its own name, by an address of its interfaces, by any of
/// 127.0.0.0/8, or by a name that stands for one of these. May ask the name service, which has its own time limit.
[[nodiscard]] inline bool is_own_host(std::string_view host) {
  auto const wanted = canonical_host(host);
  auto const addresses = own_addresses();
  auto const own = [&](std::string const& address) {
    return address.starts_with("127.") || std::ranges::find(addresses, address) != addresses.end();
  };
  sockaddr_in6 ignored{};
  bool const address =
      ::inet_pton(AF_INET, wanted.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, wanted.c_str(), &ignored) == 1;
  if (address) return own(wanted);
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0 && wanted == canonical_host(name.data())) return true;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(wanted.c_str(), nullptr, &hints, &found) != 0) return false;
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const all(found, &::freeaddrinfo);
  for (auto const* each = all.get(); each != nullptr; each = each->ai_next) {
    if (own(detail::text_of(each->ai_addr))) return true;
  }
  return false;
}

}  // namespace prdist
