// SPDX-License-Identifier: Apache-2.0
// From what all nodes offer to what this one runs: indices go by rank, so that every node works out the same plan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/launch/local.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/ports.hpp>
#include <prdist/launch/rendezvous/address.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/rendezvous/trainer_count.hpp>

namespace prdist {

/// The sockets of what a node offers, in the order of its endpoints.
struct NodeOffer {
  NodeInfo node;
  std::vector<BoundPort> servers;
  std::vector<BoundPort> others;  ///< of trainers and gloo
};

/// Binds a port of `host` for each member and gloo, those that are asked for or any that is free, and names the node by
/// six letters. Servers that take their sockets over listen from here on: trainers of other nodes may start before
/// them. transport.in_use for a port that somebody has.
[[nodiscard]] inline Result<NodeOffer> make_offer(LocalJob const& job, std::string_view host) {
  NodeOffer offer;
  bool const listening = job.hand_over_sockets && names_listen_fd(job.program);
  offer.node.name = random_pod_name();
  offer.node.host = host;
  auto const members = job.servers + job.trainers;
  for (std::size_t i = 0; i < members + 1; ++i) {
    auto const number = asked_port(job, i, members);
    auto port = number == 0 ? bind_free_port(host) : bind_endpoint({std::string(host), number});
    if (!port) return port.error();
    bool const server = i < job.servers;
    if (server && listening) {
      if (auto const started = start_listening(*port); !started) return started.error();
    }
    bool const trainer = !server && i < members;
    if (server) offer.node.servers.push_back(port->endpoint);
    if (trainer) offer.node.trainers.push_back(port->endpoint);
    if (!server && !trainer) offer.node.gloo = port->endpoint;
    (server ? offer.servers : offer.others).push_back(std::move(*port));
  }
  return offer;
}

/// This node's share of a running job: the plan of all, and the ports it holds.
[[nodiscard]] inline LocalPlan share_of(JobState const& state, NodeOffer offer, LocalJob const& job) {
  LocalPlan local;
  auto& plan = local.plan;
  plan.job_id = job.job_id;
  plan.pod_name = offer.node.name;
  plan.log_dir = job.log_dir;
  plan.mode = job.mode;
  plan.cards = job.cards;
  plan.with_gloo = job.with_gloo;
  plan.nodes = static_cast<std::size_t>(std::ranges::count_if(state.nodes, takes_part));
  plan.least_nodes = state.terms.least;
  plan.most_nodes = state.terms.most;
  plan.gloo = state.nodes.front().gloo;
  plan.trainers_num = state.first_trainers;
  if (goes_on_without(state.terms)) {
    auto const each = trainers_per_node(state);
    plan.elastic = concat(state.terms.least * each, ':', state.terms.most * each);
  }
  std::vector<JobMember> trainers;
  for (auto const& node : state.nodes) {
    bool const here = node.name == offer.node.name;
    for (std::size_t i = 0; i < node.servers.size(); ++i) {
      if (here) plan.here.push_back({JobRole::server, plan.servers.size()});
      if (here) local.servers.emplace(plan.servers.size(), std::move(offer.servers.at(i)));
      plan.servers.push_back(node.servers[i]);
    }
    // Who came later has the place of one that went.
    plan.trainers.resize(std::max(plan.trainers.size(), node.first_trainer + node.trainers.size()), node.gloo);
    for (std::size_t i = 0; i < node.trainers.size(); ++i) {
      if (here) trainers.push_back({JobRole::trainer, node.first_trainer + i});
      plan.trainers[node.first_trainer + i] = node.trainers[i];
    }
  }
  plan.here.insert(plan.here.end(), trainers.begin(), trainers.end());
  local.others = std::move(offer.others);
  return local;
}

}  // namespace prdist
