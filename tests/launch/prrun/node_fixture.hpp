// SPDX-License-Identifier: Apache-2.0
// What tests of jobs on several nodes share: a prrun for each, on addresses of 127.0.0.0/8, over a real etcd and over
// the first node's own store.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/ports.hpp>

#include "../support.hpp"
#include "etcd.hpp"

namespace launch_test {

using Words = std::vector<std::string>;

/// Waits until the file has that text; bounded.
inline bool shows(std::filesystem::path const& file, std::string const& text) {
  auto const deadline = std::chrono::steady_clock::now() + patience;
  while (!has(read_file(file), text)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

/// What a node of a job is started with: where all meet, its own flags, and the program behind them.
inline Words node_words(std::string const& nodes, std::string const& master, Words const& more, Words const& program) {
  Words words{"--nnodes", nodes, "--master", master};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

class PrrunNodes : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "etcd") {
      if (!etcd_is_there()) GTEST_SKIP() << "etcd is not installed (Debian: etcd-server)";
      etcd_.emplace();
      master_ = to_string(etcd_->master());
    } else {
      // Held, so that nobody else takes it; the first node may listen there all the same.
      port_ = prdist::bind_loopback().value();
      master_ = to_string(port_->endpoint);
    }
  }

  /// A node with an address of its own, that soon gives others up.
  std::unique_ptr<Prrun> node(int number, Words more, Words const& program) const {
    Words own{"--host", prdist::concat("127.0.0.", number), "--node_timeout", "2"};
    own.insert(own.end(), more.begin(), more.end());
    return std::make_unique<Prrun>(node_words("2", master_, own, program),
                                   Prrun::Variables{{"NODES_TEST_TOKEN", "do-not-tell"}});
  }
  static Words shell(std::string const& script) { return {"sh", "-c", script}; }

  std::optional<Etcd> etcd_;
  std::optional<prdist::BoundPort> port_;
  std::string master_;
};

/// A server that never ends, trainers that do what they are told; all say their pid first.
inline std::string trainers(std::string const& box, std::string const& script) {
  return prdist::concat("echo $$ >", box, "; [ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; ", script);
}

inline std::string const endless = "exec sleep 1000";

inline std::string stderr_of(Prrun const& prrun) {
  return read_file(prrun.folder() / "stderr");
}

}  // namespace launch_test
