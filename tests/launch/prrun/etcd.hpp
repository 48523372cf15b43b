// SPDX-License-Identifier: Apache-2.0
// A real etcd of the test's own: its ports stay bound by the test, so that nobody else takes them, and its data are in
// a temporary folder.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/launch/ports.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/rendezvous/master.hpp>

#include "../support.hpp"
#include "etcd_store.hpp"

namespace launch_test {

inline bool etcd_is_there() {
  return prdist::find_program("etcd", "/usr/local/bin:/usr/bin:/bin", "").has_value();
}

class Etcd {
 public:
  Etcd() : client_(prdist::bind_loopback().value()), peer_(prdist::bind_loopback().value()) { start(); }
  ~Etcd() { kill(); }
  Etcd(Etcd const&) = delete;
  Etcd& operator=(Etcd const&) = delete;

  [[nodiscard]] prdist::Master master() const { return {prdist::Master::Kind::etcd, client_.endpoint}; }

  /// With what it had when it was killed.
  void start() {
    auto const clients = prdist::concat("http://", to_string(client_.endpoint));
    auto const peers = prdist::concat("http://", to_string(peer_.endpoint));
    prdist::Descriptor const log(::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644));
    pid_ =
        prdist::spawn({prdist::find_program("etcd", "/usr/local/bin:/usr/bin:/bin", "").value(),
                       {"--data-dir", (folder_ / "data").string(), "--listen-client-urls", clients,
                        "--advertise-client-urls", clients, "--listen-peer-urls", peers,
                        "--initial-advertise-peer-urls", peers, "--initial-cluster", prdist::concat("default=", peers)},
                       {"PATH=/usr/bin:/bin", "ETCD_UNSUPPORTED_ARCH=arm64"},
                       log.get(),
                       -1})
            .value();
    prrun::EtcdStore store(master());
    auto const deadline = std::chrono::steady_clock::now() + patience;
    while (!store.list("/")) {
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error(read_file(folder_ / "log"));
      ::poll(nullptr, 0, 20);
    }
  }

  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    (void)reap(std::exchange(pid_, 0));
  }

 private:
  TempFolder folder_;
  prdist::BoundPort client_;
  prdist::BoundPort peer_;
  pid_t pid_ = 0;
};

}  // namespace launch_test
