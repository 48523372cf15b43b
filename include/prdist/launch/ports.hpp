// SPDX-License-Identifier: Apache-2.0
// Ports without races: the launcher binds each socket itself and hands it to the server that owns the endpoint, so
// that the kernel gives the port to nobody who asks for a free one, nor to a socket without SO_REUSEADDR. A socket that
// listens keeps out everybody else; one that is bound only lets in whoever asks for this very port with SO_REUSEADDR,
// of any user, and the first of them to listen has it.
//
//   state      the server                                   what the program does with it
//   listening  names PRDIST_LISTEN_FD in its own file       accepts from it; connections queue before it runs
//   bound      any other program                            binds PADDLE_PORT itself, as if the port were free: Linux
//                                                           lets a second socket bind and listen while both have
//                                                           SO_REUSEADDR and the first does not listen
//   released   after --no-listen-fd                         binds PADDLE_PORT itself, even without SO_REUSEADDR; the
//                                                           port is unowned for as long as the program takes to start
//
// In the first two states PRDIST_LISTEN_FD is set. Whoever adopts the socket calls listen() on it (harmless when it
// listens already) and sets FD_CLOEXEC, so that no process of its own keeps the port when it ends.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/environment.hpp>

namespace prdist {

struct BoundPort {
  Descriptor socket;  ///< closed on exec unless spawn() is told to hand it over
  Endpoint endpoint;
};

/// A TCP socket bound to a free port of 127.0.0.1. It does not listen, so connecting to it is refused.
[[nodiscard]] inline Result<BoundPort> bind_loopback() {
  auto const failed = [](std::string_view what) {
    return Error(Errc::transport_failed, "launcher: ", what,
                 " on 127.0.0.1 failed: ", std::generic_category().message(errno),
                 ". Are all ports or file descriptors in use (ulimit -n)?");
  };
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return failed("opening a socket");
  int const yes = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) return failed("SO_REUSEADDR");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, size) != 0) return failed("binding a free port");
  if (::getsockname(socket.get(), generic, &size) != 0) return failed("reading the bound port");
  return BoundPort{std::move(socket), {"127.0.0.1", ntohs(address.sin_port)}};
}

/// A socket bound to an endpoint of this machine, port 0 standing for any that is free. Where a name stands there it is
/// bound to that port of all addresses: a pod's name service may not know the pod yet.
[[nodiscard]] inline Result<BoundPort> bind_endpoint(Endpoint const& endpoint) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(endpoint.port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(endpoint.port);
  bool const is_v4 = ::inet_pton(AF_INET, endpoint.host.c_str(), &v4.sin_addr) == 1;
  bool const is_v6 = ::inet_pton(AF_INET6, endpoint.host.c_str(), &v6.sin6_addr) == 1;
  auto const bound = [&](auto& address, bool every) -> Descriptor {
    Descriptor socket(::socket(reinterpret_cast<sockaddr&>(address).sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int const yes = 1;
    int const no = 0;
    if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) return {};
    if (every) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (::bind(socket.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) return {};
    return socket;
  };
  Descriptor socket;
  if (!is_v4) socket = bound(v6, !is_v6);
  if (!socket && !is_v6 && (is_v4 || errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) socket = bound(v4, false);
  if (socket) {
    sockaddr_in6 bound_to{};  // the port stands at the same place in both families
    socklen_t size = sizeof bound_to;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound_to), &size);
    return BoundPort{std::move(socket), {endpoint.host, ntohs(bound_to.sin6_port)}};
  }
  auto const code = errno == EADDRINUSE ? Errc::transport_in_use : Errc::config_invalid;
  return Error(code, "launcher: ", to_string(endpoint), " cannot be bound: ", std::generic_category().message(errno),
               ". Choose another port, or check that the address is this machine's");
}

/// From here on connections queue in the kernel until somebody accepts them.
[[nodiscard]] inline Result<void> start_listening(BoundPort const& port) {
  if (::listen(port.socket.get(), SOMAXCONN) == 0) return {};
  return Error(Errc::transport_failed, "launcher: listening on ", to_string(port.endpoint),
               " failed: ", std::generic_category().message(errno));
}

/// Whether the program's file holds the name PRDIST_LISTEN_FD. A program that adopts the socket has to ask for that
/// name, so its file has it; when only a library or a wrapped program has it, the answer is no and the socket is
/// handed over bound, which serves both kinds. False for what cannot be read.
[[nodiscard]] inline bool names_listen_fd(std::filesystem::path const& program) {
  Descriptor const file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return false;
  auto const size = static_cast<std::size_t>(status.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return false;
  std::string_view const text(static_cast<char const*>(bytes), size);
  std::boyer_moore_horspool_searcher const searcher(listen_fd_variable.begin(), listen_fd_variable.end());
  bool const found = std::search(text.begin(), text.end(), searcher) != text.end();
  ::munmap(bytes, size);
  return found;
}

}  // namespace prdist
