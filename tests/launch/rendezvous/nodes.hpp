// SPDX-License-Identifier: Apache-2.0
// What the tests of the rendezvous share: nodes on paper.
#pragma once

#include <optional>
#include <string>

#include <prdist/launch/rendezvous/job_state.hpp>

namespace rendezvous_test {

/// A node with one server and one trainer.
inline prdist::NodeInfo node(std::string const& name, std::string const& host = "h",
                             std::optional<std::size_t> rank = {}) {
  prdist::NodeInfo info;
  info.name = name;
  info.host = host;
  info.servers = {{host, 1000}};
  info.trainers = {{host, 2000}};
  info.gloo = {host, 3000};
  info.wanted_rank = rank;
  return info;
}

}  // namespace rendezvous_test
