// SPDX-License-Identifier: Apache-2.0
// Somebody else's HTTP server: it answers whatever it is asked with the same bytes.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/ports.hpp>

namespace launch_test {

class Responder {
 public:
  explicit Responder(std::string answer) : port_(prdist::bind_loopback().value()), answer_(std::move(answer)) {
    prdist::start_listening(port_).value();
    thread_ = std::thread([this] { serve(); });
  }
  Responder(int status, std::string const& body)
      : Responder(prdist::concat("HTTP/1.0 ", status, " So\r\nContent-Length: ", body.size(), "\r\n\r\n", body)) {}
  ~Responder() {
    stop_ = true;
    thread_.join();
  }
  Responder(Responder const&) = delete;
  Responder& operator=(Responder const&) = delete;

  [[nodiscard]] prdist::Endpoint const& endpoint() const { return port_.endpoint; }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  void serve() {
    while (!stop_) {
      pollfd entry{port_.socket.get(), POLLIN, 0};
      if (::poll(&entry, 1, 20) <= 0) continue;
      prdist::Descriptor const peer(::accept(port_.socket.get(), nullptr, nullptr));
      ++asked_;
      char bytes[4096];
      (void)!::read(peer.get(), bytes, sizeof bytes);
      (void)!::write(peer.get(), answer_.data(), answer_.size());
      ::shutdown(peer.get(), SHUT_WR);
      pollfd rest{peer.get(), POLLIN, 0};
      while (::poll(&rest, 1, 1000) > 0 && ::read(peer.get(), bytes, sizeof bytes) > 0) {
      }
    }
  }

  prdist::BoundPort port_;
  std::string answer_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> asked_ = 0;
  std::thread thread_;
};

}  // namespace launch_test
