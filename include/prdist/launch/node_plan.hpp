// SPDX-License-Identifier: Apache-2.0
// What one node of a job has to run: its share of the members, and what they are told of the others. The node is a pod,
// a rank of mpirun's or a machine; who the others are was found elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/progress.hpp>

namespace prdist {

/// How a Paddle v2 program is told where its servers listen.
struct ServerPorts {
  std::uint16_t port = 7164;
  std::uint16_t dense = 1;
  std::uint16_t sparse = 1;
  std::string nics;

  /// Ports of one server.
  [[nodiscard]] std::size_t width() const noexcept { return std::size_t{dense} + sparse; }
};

struct NodePlan {
  std::string job_name = "default";
  std::string mark;                ///< what a trainer that has finished leaves; names the run, or its pod
  std::vector<std::string> marks;  ///< those that are of this run; empty where nobody tells
  std::vector<Endpoint> servers;   ///< of the whole job; empty when trainers are alone
  std::size_t trainers = 1;        ///< of the whole job
  std::vector<JobMember> members;  ///< that run here: one, or a server and a trainer
  ServerPorts ports;
};

/// `host:port,host:port` of a variable. @throws Error config.invalid
[[nodiscard]] inline std::vector<Endpoint> endpoints_of(std::string_view name, std::string_view list) {
  std::vector<Endpoint> endpoints;
  for (std::string_view rest = list; !list.empty();) {
    auto const comma = rest.find(',');
    auto endpoint = parse_endpoint(rest.substr(0, comma));
    if (!endpoint) throw Error(Errc::config_invalid, name, "='", list, "': ", endpoint.error().message());
    endpoints.push_back(std::move(*endpoint));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return endpoints;
}

/// A plan in which every member's id fits. @throws Error config.contradiction
inline void check_plan(NodePlan const& plan) {
  for (auto const& member : plan.members) {
    auto const count = member.role == JobRole::server ? plan.servers.size() : plan.trainers;
    if (member.index < count) continue;
    throw Error(Errc::config_contradiction, "launcher: this is ", to_string(member), ", but the job has ", count, ' ',
                name_of(member.role), "s: make the numbers of pods or ranks agree with PADDLE_PSERVERS_NUM and ",
                "PADDLE_TRAINERS_NUM");
  }
}

/// The progress file of the trainer in this container, where a probe finds it too: PRDIST_PROGRESS, or a file in
/// TMPDIR.
[[nodiscard]] inline std::filesystem::path pod_progress_path(Environment const& environment) {
  if (auto const path = environment(progress_variable); path && !path->empty()) return *path;
  return std::filesystem::path(environment("TMPDIR").value_or("/tmp")) / "prdist" / "progress";
}

/// What a member's environment has beyond the inherited one; `progress` is a trainer's file (progress.hpp).
[[nodiscard]] inline std::vector<Variable> variables_of(NodePlan const& plan, JobMember const& member,
                                                        std::filesystem::path const& progress) {
  std::string list;
  std::string hosts;
  for (auto const& server : plan.servers) {
    list += concat(list.empty() ? "" : ",", to_string(server));
    hosts += concat(hosts.empty() ? "" : ",", server.host);
  }
  bool const server = member.role == JobRole::server;
  std::string const role = server ? "PSERVER" : "TRAINER";
  std::vector<Variable> variables{
      {"TRAINING_ROLE", role},
      {"PADDLE_TRAINING_ROLE", role},
      {"PADDLE_ROLE", role},
      {"PADDLE_TRAINERS_NUM", concat(plan.trainers)},
      {server ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID", concat(member.index)},
      {"PYTHONUNBUFFERED", "1"},
  };
  if (!plan.servers.empty()) {
    variables.push_back({"PADDLE_PSERVERS_NUM", concat(plan.servers.size())});
    variables.push_back({"PADDLE_PSERVERS_IP_PORT_LIST", list});
    // What programs of Paddle v2 read.
    variables.push_back({"PADDLE_INIT_PORT", concat(plan.ports.port)});
    variables.push_back({"PADDLE_INIT_PORTS_NUM", concat(plan.ports.dense)});
    variables.push_back({"PADDLE_INIT_PORTS_NUM_FOR_SPARSE", concat(plan.ports.sparse)});
    variables.push_back({"PADDLE_INIT_NUM_GRADIENT_SERVERS", concat(plan.trainers)});
    variables.push_back({"PADDLE_INIT_PSERVERS", hosts});
    if (!plan.ports.nics.empty()) variables.push_back({"PADDLE_INIT_NICS", plan.ports.nics});
  }
  if (server) {
    auto const& own = plan.servers.at(member.index);
    variables.push_back({"POD_IP", own.host});
    variables.push_back({"PADDLE_PORT", concat(own.port)});
  } else {
    variables.push_back({"PADDLE_INIT_TRAINER_ID", concat(member.index)});
    variables.push_back({std::string(progress_variable), std::filesystem::absolute(progress).string()});
  }
  return variables;
}

}  // namespace prdist
