// SPDX-License-Identifier: Apache-2.0
// What a job on this machine is asked to be, and the plan made of it: endpoints of free choice or from lists that all
// nodes share, and the sockets that hold those of this node.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/ledger.hpp>
#include <prdist/launch/listed.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/ports.hpp>
#include <prdist/launch/rules.hpp>

namespace prdist {

struct LocalJob {
  std::filesystem::path program;  ///< as find_program() gives it; every member runs it
  std::vector<std::string> arguments;
  std::size_t servers = 1;
  std::size_t trainers = 1;
  std::string job_id = "default";
  std::filesystem::path log_dir = "log";
  EndingLimits limits;
  bool quiet = false;
  bool hand_over_sockets = true;  ///< false releases every port just before the members start (ports.hpp)
  bool infos = true;              ///< LAUNCH INFO lines
  bool keep_logs = true;          ///< those of the run before, as *.prev
  JobMode mode = JobMode::ps;     ///< a collective job has no servers
  unsigned max_restart = 0;       ///< how often the whole job is started again after a failure that may pass
  std::chrono::milliseconds restart_delay{1000};  ///< before the first of these; later ones take longer (tries.hpp)
  std::string host;              ///< of this node, an address of this machine; empty stands for 127.0.0.1
  std::uint16_t first_port = 0;  ///< ports are counted from here, servers first; 0 takes any that are free
  std::uint16_t gloo_port = 0;   ///< of Paddle's own barrier; 0 takes any that is free
  std::string with_gloo = "1";
  std::vector<std::string> cards;  ///< of a collective job's processes (cards.hpp)
  /// Endpoints of all nodes, instead of the two numbers. This node runs those on `host`, or when that is empty those on
  /// any of this machine's addresses.
  std::vector<Endpoint> server_list;
  std::vector<Endpoint> trainer_list;
  unsigned restarts = 0;        ///< of the whole job, before this run of it
  JobLedger* ledger = nullptr;  ///< for the guards of this process (guard.hpp), where it has any
  /// With lists: how long servers of a foreign program stay here for others' trainers while nobody is connected.
  std::chrono::milliseconds listed_patience{600'000};
};

/// A plan and the sockets that hold the ports of this node's members.
struct LocalPlan {
  LaunchPlan plan;
  std::map<std::size_t, BoundPort> servers;  ///< by the server's index
  std::vector<BoundPort> others;  ///< of trainers and gloo: bound for the job, so that nobody else takes them
};

namespace detail {

/// Holds the ports of those who run here, and of gloo where its host is.
[[nodiscard]] inline Result<LocalPlan> plan_listed(LocalJob const& job, LocalPlan local) {
  auto& plan = local.plan;
  plan.servers = job.server_list;
  plan.trainers = job.trainer_list;
  if (auto const fine = check_endpoints(plan); !fine) return fine.error();
  auto here = members_on(plan, job.host);
  if (!here) return here.error();
  plan.here = std::move(*here);
  for (auto const& member : plan.here) {
    auto port = bind_endpoint(endpoint_of(plan, member));
    if (!port) return port.error();
    if (member.role == JobRole::server) {
      local.servers.emplace(member.index, std::move(*port));
    } else {
      local.others.push_back(std::move(*port));
    }
  }
  // All nodes have to agree on it, so it cannot be any that is free.
  if (job.mode == JobMode::ps) plan.gloo = {plan.servers.front().host, job.gloo_port};
  if (job.with_gloo == "0" || plan.gloo.port == 0 || !local.servers.contains(0)) return local;
  auto port = bind_endpoint(plan.gloo);
  if (!port) {
    return Error(port.error().code(), "launcher: the port of Paddle's barrier, ", to_string(plan.gloo), ", is taken: ",
                 "give another with --gloo_port on all nodes, or --with_gloo 0 to programs that do not use it");
  }
  local.others.push_back(std::move(*port));
  return local;
}

}  // namespace detail

/// Six letters, as Paddle names its pods.
[[nodiscard]] inline std::string random_pod_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 6; ++i) name += static_cast<char>('a' + random() % 26);
  return name;
}

/// The number of a node's port at this place, gloo's behind those of its members; 0 stands for any that is free.
[[nodiscard]] inline std::uint16_t asked_port(LocalJob const& job, std::size_t place, std::size_t members) {
  if (place == members && job.gloo_port != 0) return job.gloo_port;
  return job.first_port == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(job.first_port + place);
}

/// config.* when the job cannot be as it is asked for, transport.in_use for a port of the lists that somebody has.
[[nodiscard]] inline Result<LocalPlan> plan_local(LocalJob const& job) {
  LocalPlan local;
  local.plan.job_id = job.job_id;
  local.plan.log_dir = job.log_dir;
  local.plan.mode = job.mode;
  local.plan.with_gloo = job.with_gloo;
  local.plan.cards = job.cards;
  local.plan.pod_name = random_pod_name();
  if (!job.trainer_list.empty()) return detail::plan_listed(job, std::move(local));
  auto const servers = job.mode == JobMode::ps ? job.servers : 0;
  auto const members = servers + job.trainers;
  for (std::size_t i = 0; i < members + 1; ++i) {
    auto const number = asked_port(job, i, members);
    auto port = job.host.empty() && number == 0 ? bind_loopback()
                                                : bind_endpoint({job.host.empty() ? "127.0.0.1" : job.host, number});
    if (!port) return port.error();
    bool const server = i < servers;
    if (server) local.plan.servers.push_back(port->endpoint);
    if (!server && i < members) local.plan.trainers.push_back(port->endpoint);
    if (i == members) local.plan.gloo = port->endpoint;
    if (server) local.servers.emplace(i, std::move(*port));
    if (!server) local.others.push_back(std::move(*port));
  }
  return local;
}

}  // namespace prdist
