// SPDX-License-Identifier: Apache-2.0
// Which node of a job over SSH runs what, and the plan that comes of the ports the nodes have bound.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/ssh/hosts.hpp>

namespace prdist {

/// Members of each node, servers first. Hosts take turns: server i is on node i mod nodes, and trainers go round the
/// hosts as long as they have slots. Without numbers every host has one server and a trainer per slot, as Fabric's
/// paddle.py had it. @throws Error config.contradiction for a number that does not fit the hosts
[[nodiscard]] inline std::vector<std::vector<JobMember>> seat_members(std::span<SshHost const> hosts,
                                                                      std::optional<std::size_t> servers,
                                                                      std::optional<std::size_t> trainers) {
  std::size_t slots = 0;
  for (auto const& host : hosts) slots += host.slots;
  auto const wanted = trainers.value_or(slots);
  if (wanted > slots) {
    throw Error(Errc::config_contradiction, "ssh: ", wanted, " trainers are wanted, but the hosts have ", slots,
                " slots: lower --trainer_num, or write slots=N in the hostfile");
  }
  if (wanted > 1024 || servers.value_or(hosts.size()) > 256) {
    throw Error(Errc::config_contradiction, "ssh: ", servers.value_or(hosts.size()), " servers and ", wanted,
                " trainers: at most 256 and 1024 are possible; give --server_num and --trainer_num");
  }
  std::vector<std::vector<JobMember>> nodes(hosts.size());
  for (std::size_t i = 0; i < servers.value_or(hosts.size()); ++i) {
    nodes[i % nodes.size()].push_back({JobRole::server, i});
  }
  std::vector<std::size_t> taken(hosts.size(), 0);
  for (std::size_t i = 0, node = 0; i < wanted; node = (node + 1) % nodes.size()) {
    if (taken[node] == hosts[node].slots) continue;
    ++taken[node];
    nodes[node].push_back({JobRole::trainer, i++});
  }
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (!nodes[node].empty()) continue;
    throw Error(Errc::config_contradiction, "ssh: ", to_string(hosts[node]), " would run neither a server nor a ",
                "trainer: take it out of the hostfile, or raise --server_num or --trainer_num");
  }
  return nodes;
}

/// What a node says before the plan is made: how the others reach it, and the port of each of its members in order.
struct NodeReady {
  std::string address;
  std::vector<std::uint16_t> ports;
  std::uint16_t gloo = 0;
};

/// The endpoints of all members; `here` is left empty. @throws Error config.contradiction when a node knows itself by
/// an address that others do not reach
[[nodiscard]] inline LaunchPlan plan_of(std::span<SshHost const> hosts, std::span<std::vector<JobMember> const> members,
                                        std::span<NodeReady const> nodes) {
  LaunchPlan plan;
  auto const loopback = [](NodeReady const& node) {
    return node.address.starts_with("127.") || node.address == "::1" || node.address == "localhost";
  };
  bool const all = std::ranges::all_of(nodes, loopback);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (loopback(nodes[node]) && !all) {
      throw Error(Errc::config_contradiction, "ssh: ", to_string(hosts[node]), " is ", nodes[node].address,
                  ", where the other hosts do not reach it: name it in the hostfile by an address that they know, or ",
                  "give --nics");
    }
    for (std::size_t i = 0; i < members[node].size(); ++i) {
      auto& list = members[node][i].role == JobRole::server ? plan.servers : plan.trainers;
      list.resize(std::max(list.size(), members[node][i].index + 1));
      list[members[node][i].index] = {nodes[node].address, nodes[node].ports.at(i)};
    }
  }
  plan.gloo = {nodes.front().address, nodes.front().gloo};
  return plan;
}

}  // namespace prdist
