// What typed suites need of each transport: how to make one, and where to listen.
#pragma once

#include <prdist/transport/beast.hpp>
#include <prdist/transport/memory.hpp>
#include <prdist/transport/tcp.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace prdist::test {

template <class Choice>
Choice make_transport() {
  if constexpr (std::is_same_v<Choice, Memory>) {
    return Memory(std::make_shared<MemoryHub>());
  } else {
    return Choice(SocketOptions{.threads = 2});
  }
}

/// Port 0: the system, or the hub, chooses.
inline ListenOptions anywhere() {
  return {.endpoint = {"127.0.0.1", 0}, .pages = {}};
}

/// A listening socket of the test's own, as a launcher would hand it over.
inline std::pair<Endpoint, int> listening_socket() {
  int const descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(descriptor, 64), 0);
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return {{"127.0.0.1", ntohs(address.sin_port)}, descriptor};
}

using AllTransports = ::testing::Types<Memory, Tcp, Beast>;
using SocketTransports = ::testing::Types<Tcp, Beast>;

}  // namespace prdist::test
