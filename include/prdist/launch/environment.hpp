// SPDX-License-Identifier: Apache-2.0
// The environment of each member: the variables that paddle.distributed.launch sets in the job's mode, so that a
// Paddle program runs unchanged, and three of our own:
//   PADDLE_PSERVER_ID   a server's index, so that it need not look for itself in the list
//   PRDIST_LISTEN_FD    the descriptor of a socket already bound to the server's endpoint (ports.hpp)
//   PRDIST_PROGRESS     the file a trainer rewrites while it trains (progress.hpp)
// Pure functions: what they return is what the process gets.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/progress.hpp>

namespace prdist {

inline constexpr std::string_view listen_fd_variable = "PRDIST_LISTEN_FD";

struct Variable {
  std::string name;
  std::string value;
};

namespace detail {

[[nodiscard]] inline std::string list_of(std::vector<Endpoint> const& endpoints) {
  std::string text;
  for (auto const& endpoint : endpoints) text += (text.empty() ? "" : ",") + to_string(endpoint);
  return text;
}

[[nodiscard]] inline std::vector<Variable> ps_variables_of(LaunchPlan const& plan, JobMember const& member) {
  auto const& own = endpoint_of(plan, member);
  std::string const role = member.role == JobRole::server ? "PSERVER" : "TRAINER";
  std::vector<Variable> variables{
      {"PADDLE_PSERVERS_IP_PORT_LIST", list_of(plan.servers)},
      {"PADDLE_ROLE", role},
      {"TRAINING_ROLE", role},
      {"POD_IP", own.host},
      {"PADDLE_PORT", concat(own.port)},
      {"PADDLE_WITH_GLOO", plan.with_gloo},
      {"PADDLE_GLOO_RENDEZVOUS", "3"},  // over HTTP
      {"PADDLE_GLOO_HTTP_ENDPOINT", to_string(plan.gloo)},
      // Paddle sets the path of the file rendezvous as well and reads it only in mode 2, so no folder is made.
      {"PADDLE_GLOO_FS_PATH", (std::filesystem::absolute(plan.log_dir) / "gloo").string()},
  };
  if (member.role == JobRole::server) variables.push_back({"PADDLE_PSERVER_ID", concat(member.index)});
  return variables;
}

[[nodiscard]] inline std::vector<Variable> collective_variables_of(LaunchPlan const& plan, JobMember const& member) {
  auto const here = members_here(plan);
  auto const local = static_cast<std::size_t>(std::ranges::find(here, member) - here.begin());
  std::vector<Variable> variables{
      {"PADDLE_GLOBAL_SIZE", concat(plan.trainers.size())},
      {"PADDLE_LOCAL_SIZE", concat(here.size())},
      {"PADDLE_GLOBAL_RANK", concat(member.index)},
      {"PADDLE_LOCAL_RANK", concat(local)},
      {"PADDLE_RANK_IN_NODE", concat(local)},
      {"PADDLE_CURRENT_ENDPOINT", to_string(endpoint_of(plan, member))},
      {"PADDLE_AUTO_CLUSTER", "0"},  // of --auto_cluster_config, which is refused
  };
  if (plan.gloo.port != 0) variables.push_back({"PADDLE_MASTER", to_string(plan.gloo)});
  if (local < plan.cards.size() && !plan.cards[local].empty()) {
    variables.push_back({"FLAGS_selected_gpus", plan.cards[local]});
  } else {
    variables.push_back({"PADDLE_DISTRI_BACKEND", "gloo"});
  }
  return variables;
}

}  // namespace detail

/// What a member's environment has beyond the inherited one.
[[nodiscard]] inline std::vector<Variable> variables_of(LaunchPlan const& plan, JobMember const& member,
                                                        std::optional<int> listen_fd = {}) {
  auto variables =
      plan.mode == JobMode::ps ? detail::ps_variables_of(plan, member) : detail::collective_variables_of(plan, member);
  std::vector<Variable> const common{
      {"PADDLE_TRAINERS_NUM", concat(plan.trainers_num != 0 ? plan.trainers_num : plan.trainers.size())},
      {"PADDLE_NNODES", concat(node_count(plan))},
      {"POD_NAME", plan.pod_name},
      {"PADDLE_LOG_DIR", std::filesystem::absolute(plan.log_dir).string()},
      {"PYTHONUNBUFFERED", "1"},  // what Paddle's python -u does: a log shows what has been said
  };
  variables.insert(variables.end(), common.begin(), common.end());
  // The kernel takes no string of 128 KiB; Paddle's launcher leaves a list of 120 out, and its programs do without it.
  auto endpoints = detail::list_of(plan.trainers);
  if (endpoints.size() < std::size_t{120} * 1024) {
    variables.push_back({"PADDLE_TRAINER_ENDPOINTS", std::move(endpoints)});
  }
  if (!plan.elastic.empty()) variables.push_back({"PRDIST_ELASTIC", plan.elastic});
  if (!plan.elastic.empty() && plan.elastic_timeout != 0) {
    variables.push_back({"PRDIST_ELASTIC_TIMEOUT", concat(plan.elastic_timeout)});
  }
  if (listen_fd) variables.push_back({std::string(listen_fd_variable), concat(*listen_fd)});
  if (member.role == JobRole::trainer) {
    variables.push_back({"PADDLE_TRAINER_ID", concat(member.index)});
    if (plan.paddle_v2) variables.push_back({"PADDLE_INIT_TRAINER_ID", concat(member.index)});
    variables.push_back({std::string(progress_variable), std::filesystem::absolute(progress_path(plan, member))});
  }
  return variables;
}

/// NAME=value strings for exec: `inherited` without proxies and without what belongs to another member, then
/// `variables`. A proxy between trainers and servers breaks training, so none is passed on.
[[nodiscard]] inline std::vector<std::string> environment_with(std::span<std::string const> inherited,
                                                               std::span<Variable const> variables) {
  static constexpr std::array<std::string_view, 18> removed{"http_proxy",
                                                            "https_proxy",
                                                            "ftp_proxy",
                                                            "all_proxy",
                                                            "HTTP_PROXY",
                                                            "HTTPS_PROXY",
                                                            "FTP_PROXY",
                                                            "ALL_PROXY",
                                                            "PADDLE_TRAINER_ID",
                                                            "PADDLE_PSERVER_ID",
                                                            "TRAINING_ROLE",
                                                            "PADDLE_ROLE",
                                                            "PADDLE_TRAINING_ROLE",
                                                            "PADDLE_PSERVERS_IP_PORT_LIST",
                                                            "PADDLE_PSERVERS_NUM",
                                                            "PADDLE_CURRENT_ENDPOINT",
                                                            listen_fd_variable,
                                                            progress_variable};
  std::vector<std::string> environment;
  for (auto const& entry : inherited) {
    auto const name = std::string_view(entry).substr(0, entry.find('='));
    bool const replaced = std::ranges::any_of(variables, [&](auto const& variable) { return variable.name == name; });
    if (!replaced && std::ranges::find(removed, name) == removed.end()) environment.push_back(entry);
  }
  for (auto const& variable : variables) environment.push_back(concat(variable.name, '=', variable.value));
  return environment;
}

/// This process's own environment.
[[nodiscard]] inline std::vector<std::string> current_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

}  // namespace prdist
