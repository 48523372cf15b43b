// SPDX-License-Identifier: Apache-2.0
// A real etcd of the test's own: its ports stay bound by the test, so that nobody else takes them, and its data are in
// a temporary folder. With TLS it shows a certificate and wants one.
#pragma once

#include <poll.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/ports.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/rendezvous/master.hpp>

#include "../certificates.hpp"
#include "../support.hpp"
#include "etcd_store.hpp"

namespace launch_test {

inline bool etcd_is_there() {
  return prdist::find_program("etcd", "/usr/local/bin:/usr/bin:/bin", "").has_value();
}

class Etcd {
 public:
  Etcd() : Etcd("") {}
  /// Of Certificates::shared(), such as "server.crt"; none is no TLS.
  explicit Etcd(std::string certificate)
      : certificate_(std::move(certificate)),
        client_(prdist::bind_loopback().value()),
        peer_(prdist::bind_loopback().value()) {
    start();
  }
  ~Etcd() { kill(); }
  Etcd(Etcd const&) = delete;
  Etcd& operator=(Etcd const&) = delete;

  [[nodiscard]] prdist::Master master() const {
    return {prdist::Master::Kind::etcd, client_.endpoint, !certificate_.empty()};
  }

  /// That a node needs to be let in.
  [[nodiscard]] prrun::TlsFiles files() const {
    if (certificate_.empty()) return {};
    auto const& made = Certificates::shared();
    return {made.path("ca.crt"), made.path("client.crt"), made.path("client.key")};
  }

  /// With what it had when it was killed.
  void start() {
    auto const clients = prdist::concat(certificate_.empty() ? "http://" : "https://", to_string(client_.endpoint));
    auto const peers = prdist::concat("http://", to_string(peer_.endpoint));
    std::vector<std::string> words{"--data-dir",
                                   (folder_ / "data").string(),
                                   "--listen-client-urls",
                                   clients,
                                   "--advertise-client-urls",
                                   clients,
                                   "--listen-peer-urls",
                                   peers,
                                   "--initial-advertise-peer-urls",
                                   peers,
                                   "--initial-cluster",
                                   prdist::concat("default=", peers)};
    if (!certificate_.empty()) {
      auto const& files = Certificates::shared();
      for (auto const& word :
           {std::string("--cert-file"), files.path(certificate_), std::string("--key-file"), files.path("server.key"),
            std::string("--client-cert-auth"), std::string("--trusted-ca-file"), files.path("ca.crt")}) {
        words.push_back(word);
      }
    }
    prdist::Descriptor const log(::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644));
    pid_ = prdist::spawn({prdist::find_program("etcd", "/usr/local/bin:/usr/bin:/bin", "").value(),
                          words,
                          {"PATH=/usr/bin:/bin", "ETCD_UNSUPPORTED_ARCH=arm64"},
                          log.get(),
                          -1})
               .value();
    prrun::EtcdStore store(master(), std::chrono::milliseconds(2000), files());
    auto const deadline = std::chrono::steady_clock::now() + patience;
    // One whose certificate is another host's is there, too, when it shows that.
    for (auto up = store.list("/"); !up && up.error().code() != prdist::Errc::config_invalid; up = store.list("/")) {
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error(read_file(folder_ / "log"));
      ::poll(nullptr, 0, 20);
    }
  }

  /// With nothing, on the same port.
  void start_empty() {
    std::filesystem::remove_all(folder_ / "data");
    start();
  }

  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    (void)reap(std::exchange(pid_, 0));
  }

 private:
  std::string certificate_;
  TempFolder folder_;
  prdist::BoundPort client_;
  prdist::BoundPort peer_;
  pid_t pid_ = 0;
};

}  // namespace launch_test
