// A plain TCP client that can say anything, for tests of what a server does with it. Reads are bounded in time.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace prdist::test {

class RawSocket {
 public:
  explicit RawSocket(Endpoint const& endpoint) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  RawSocket(RawSocket const&) = delete;
  RawSocket& operator=(RawSocket const&) = delete;
  ~RawSocket() { ::close(descriptor_); }

  void say(ConstBytes bytes) {
    while (!bytes.empty()) {
      auto const sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the other side has had enough: what it does next is what the test looks at
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }
  void say(std::string_view text) { say(std::as_bytes(std::span(text))); }

  void half_close() { ::shutdown(descriptor_, SHUT_WR); }

  /// What comes until the other side closes or `most` bytes are there; fails the test after 20 s of silence.
  std::string hear(std::size_t most = std::size_t{1} << 20) {
    std::string heard;
    char buffer[4096];
    while (heard.size() < most) {
      pollfd waiting{descriptor_, POLLIN, 0};
      if (::poll(&waiting, 1, 20000) != 1) {
        ADD_FAILURE() << "silence for 20 s after: " << heard;
        break;
      }
      auto const got = ::recv(descriptor_, buffer, std::min(sizeof buffer, most - heard.size()), 0);
      if (got <= 0) break;
      heard.append(buffer, static_cast<std::size_t>(got));
    }
    return heard;
  }

 private:
  int descriptor_;
};

}  // namespace prdist::test
