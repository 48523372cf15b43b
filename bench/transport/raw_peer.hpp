// SPDX-License-Identifier: Apache-2.0
// The other process of a network bench, and the plainest thing one can do over TCP: blocking sockets that move the
// same number of bytes the same ways and look at none of them.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "support.hpp"

namespace bench {

inline void must(bool fine, char const* what) {
  if (fine) return;
  std::perror(what);
  std::exit(71);
}

/// A process that runs `work` and ends with what it returns. It is forked while this process has a single thread.
class Child {
 public:
  template <class Work>
  explicit Child(Work&& work) {
    auto const threads = std::filesystem::directory_iterator("/proc/self/task");
    verify(std::distance(begin(threads), end(threads)) == 1, "a process with threads must not fork");
    std::fflush(stdout);
    auto const parent = ::getpid();
    id_ = ::fork();
    must(id_ >= 0, "fork");
    if (id_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(70);
    try {
      ::_exit(work());
    } catch (std::exception const& error) {
      std::fprintf(stderr, "prbench: %s\n", error.what());
      ::_exit(70);
    }
  }
  Child(Child const&) = delete;
  Child& operator=(Child const&) = delete;

  /// Waits for its end, which must be an orderly one.
  ~Child() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    verify(status == 0, "the other process failed");
  }

 private:
  pid_t id_;
};

/// A socket that listens on a loopback port of the system's choice.
[[nodiscard]] inline std::pair<int, std::uint16_t> listen_on_loopback() {
  int const listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  must(listener >= 0 && ::bind(listener, generic, size) == 0 && ::listen(listener, 8) == 0, "listen");
  must(::getsockname(listener, generic, &size) == 0, "getsockname");
  return {listener, ntohs(address.sin_port)};
}

/// Blocking exchange with a process of its own: so many bytes up, then so many down.
class RawPeer {
 public:
  RawPeer() : listening_(listen_on_loopback()), child_([this] { return serve(); }) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(listening_.second);
    must(socket_ >= 0 && ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "connect");
    no_delay(socket_);
    ::close(listening_.first);
  }
  RawPeer(RawPeer const&) = delete;
  RawPeer& operator=(RawPeer const&) = delete;
  ~RawPeer() { ::close(socket_); }  // which ends the child, and the child's destructor waits for that

  void exchange(std::span<std::byte const> up, std::span<std::byte> down) {
    std::array<std::uint64_t, 2> const sizes{up.size(), down.size()};
    write_all(socket_, std::as_bytes(std::span(sizes)));
    write_all(socket_, up);
    must(read_all(socket_, down), "read");
  }

 private:
  int serve() const {
    int const socket = ::accept4(listening_.first, nullptr, nullptr, SOCK_CLOEXEC);
    must(socket >= 0, "accept");
    no_delay(socket);
    std::vector<std::byte> memory;
    std::array<std::uint64_t, 2> sizes{};
    while (read_all(socket, std::as_writable_bytes(std::span(sizes)))) {
      memory.resize(std::max({memory.size(), sizes[0], sizes[1]}));
      must(read_all(socket, std::span(memory).first(sizes[0])), "read");
      write_all(socket, std::span(memory).first(sizes[1]));
    }
    return 0;
  }

  static void no_delay(int socket) {
    int const on = 1;
    must(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "setsockopt");
  }

  static void write_all(int socket, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
      auto const sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      must(sent > 0, "write");
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }

  /// False at the end of the stream.
  static bool read_all(int socket, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      auto const got = ::recv(socket, bytes.data(), bytes.size(), MSG_WAITALL);
      if (got == 0) return false;
      must(got > 0, "read");
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return true;
  }

  std::pair<int, std::uint16_t> listening_;
  Child child_;
  int socket_ = -1;
};

}  // namespace bench
