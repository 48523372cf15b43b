// SPDX-License-Identifier: Apache-2.0
// Which address of this machine the other nodes reach it at. The machine's own name is never asked: Debian maps it to
// 127.0.1.1, where no other machine finds it.
#pragma once

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/ports.hpp>

namespace prdist {

/// An address of either family, as the socket calls want it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] sockaddr const* get() const noexcept { return reinterpret_cast<sockaddr const*>(&storage); }
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

/// The address in numbers, without the port.
[[nodiscard]] inline std::string host_of(SocketAddress const& address) {
  char text[NI_MAXHOST]{};
  ::getnameinfo(address.get(), address.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

/// All addresses of the host, at least one; asks the name service when it is a name, which may take that service's
/// time.
[[nodiscard]] inline Result<std::vector<SocketAddress>> resolve_all(Endpoint const& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int const error = ::getaddrinfo(endpoint.host.c_str(), concat(endpoint.port).c_str(), &hints, &found);
  if (error != 0 || found == nullptr) {
    return Error(Errc::transport_unresolved, "launcher: '", endpoint.host, "' has no address, ", ::gai_strerror(error),
                 ": check the name, or give an address");
  }
  std::vector<SocketAddress> addresses;
  for (auto const* each = found; each != nullptr; each = each->ai_next) {
    auto& address = addresses.emplace_back();
    address.size = each->ai_addrlen;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
  }
  ::freeaddrinfo(found);
  return addresses;
}

/// The host's first address.
[[nodiscard]] inline Result<SocketAddress> resolve(Endpoint const& endpoint) {
  auto const all = resolve_all(endpoint);
  if (!all) return all.error();
  return all->front();
}

[[nodiscard]] inline bool is_loopback(SocketAddress const& address) noexcept {
  if (address.storage.ss_family == AF_INET) {
    auto const& v4 = reinterpret_cast<sockaddr_in const&>(address.storage);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6 const&>(address.storage).sin6_addr) != 0;
}

/// The address of this machine from which that one is reached. Nothing is sent. Nothing when there is no way there.
[[nodiscard]] inline std::optional<std::string> address_towards(SocketAddress const& peer) {
  Descriptor const socket(::socket(peer.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), peer.get(), peer.size) != 0) return std::nullopt;
  SocketAddress own;
  own.size = sizeof own.storage;
  if (::getsockname(socket.get(), own.get(), &own.size) != 0) return std::nullopt;
  return host_of(own);
}

/// The address of this machine on its way to anywhere; 127.0.0.1 when it has no network.
[[nodiscard]] inline std::string address_outwards() {
  // Addresses for documents, which belong to nobody.
  for (auto const* const anywhere : {"192.0.2.1", "2001:db8::1"}) {
    auto const peer = resolve({anywhere, 9});
    if (auto own = peer ? address_towards(*peer) : std::nullopt) return std::move(*own);
  }
  return "127.0.0.1";
}

/// Whether a name stands there that means this machine only to itself, such as Debian's 127.0.1.1 for the own name.
[[nodiscard]] inline bool is_name_of_loopback(std::string_view host, SocketAddress const& address) {
  return is_loopback(address) && host != "localhost" && host != host_of(address);
}

/// Where the other nodes reach this one, when the user has not said it: the address towards the place where all meet.
[[nodiscard]] inline Result<std::string> own_address(std::optional<Endpoint> const& master) {
  if (!master) return address_outwards();
  auto const peer = resolve(*master);
  if (!peer) return peer.error();
  if (is_name_of_loopback(master->host, *peer)) return address_outwards();
  if (auto own = address_towards(*peer)) return std::move(*own);
  return Error(Errc::config_invalid, "launcher: there is no way from here to --master ", to_string(*master),
               ": check the network, or give this machine's address with --host");
}

/// A socket bound to a free port of that address or name of this machine; it does not listen.
[[nodiscard]] inline Result<BoundPort> bind_free_port(std::string_view host) {
  auto port = bind_endpoint({std::string(host), 0});
  if (!port) {
    return Error(Errc::config_invalid, "launcher: no port of '", host, "' can be bound, ",
                 "is it an address of this machine? Give one with --host. ", port.error().message());
  }
  SocketAddress own;
  own.size = sizeof own.storage;
  ::getsockname(port->socket.get(), own.get(), &own.size);
  port->endpoint.port =
      ntohs(own.storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in const&>(own.storage).sin_port
                                             : reinterpret_cast<sockaddr_in6 const&>(own.storage).sin6_port);
  return port;
}

}  // namespace prdist
