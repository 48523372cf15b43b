// SPDX-License-Identifier: Apache-2.0
// A job on paper: its names, its endpoints and where its logs go. Nothing here starts or opens anything, so a plan
// of several nodes is the same value with other hosts in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/member.hpp>

namespace prdist {

enum class JobMode : std::uint8_t {
  ps,          ///< servers and trainers
  collective,  ///< trainers only, which speak to each other
};

[[nodiscard]] constexpr std::string_view name_of(JobMode mode) noexcept {
  return mode == JobMode::ps ? "ps" : "collective";
}

struct LaunchPlan {
  std::string job_id = "default";
  std::string pod_name;
  std::filesystem::path log_dir = "log";
  std::vector<Endpoint> servers;
  std::vector<Endpoint> trainers;
  std::vector<JobMember> here;  ///< those that this node runs, in rank order; all of them when empty
  Endpoint gloo;                ///< where Paddle's own barrier or store may listen, if it has a port; prdist uses none
  std::string with_gloo = "1";  ///< PADDLE_WITH_GLOO
  JobMode mode = JobMode::ps;
  bool paddle_v2 = false;            ///< trainers find their ids under the name that Paddle v2 has for it, too
  std::vector<std::string> cards{};  ///< of a collective job, by member of this node; empty ones run on the CPU
  std::size_t nodes = 0;             ///< of the job; 0 when each host is one
  std::size_t least_nodes = 0;       ///< of an elastic job, as the next; 0 when there are as many as there are
  std::size_t most_nodes = 0;
  std::size_t trainers_num = 0;     ///< how many it began with, when others come and go; 0 when it has them all
  std::size_t elastic_timeout = 0;  ///< seconds it waits for trainers when it has too few; 0 leaves it to them
  std::string elastic;              ///< how few and how many trainers, as PRDIST_ELASTIC has it; empty when it is not
};

/// Every member in rank order: servers, then trainers.
[[nodiscard]] inline std::vector<JobMember> members_of(LaunchPlan const& plan) {
  std::vector<JobMember> members;
  members.reserve(plan.servers.size() + plan.trainers.size());
  for (std::size_t i = 0; i < plan.servers.size(); ++i) members.push_back({JobRole::server, i});
  for (std::size_t i = 0; i < plan.trainers.size(); ++i) members.push_back({JobRole::trainer, i});
  return members;
}

/// What this node runs of it.
[[nodiscard]] inline std::vector<JobMember> members_here(LaunchPlan const& plan) {
  return plan.here.empty() ? members_of(plan) : plan.here;
}

/// Whether this node runs only a part of the job: other nodes have the rest.
[[nodiscard]] inline bool runs_in_part(LaunchPlan const& plan) {
  return members_here(plan).size() < plan.servers.size() + plan.trainers.size();
}

[[nodiscard]] inline Endpoint const& endpoint_of(LaunchPlan const& plan, JobMember const& member) {
  return member.role == JobRole::server ? plan.servers.at(member.index) : plan.trainers.at(member.index);
}

/// As the plan has it, else the hosts that carry a member.
[[nodiscard]] inline std::size_t node_count(LaunchPlan const& plan) {
  if (plan.nodes != 0) return plan.nodes;
  std::set<std::string_view> hosts;
  for (auto const& endpoint : plan.servers) hosts.insert(endpoint.host);
  for (auto const& endpoint : plan.trainers) hosts.insert(endpoint.host);
  return hosts.size();
}

[[nodiscard]] inline std::filesystem::path log_path(LaunchPlan const& plan, JobMember const& member) {
  return plan.log_dir / log_name(member);
}

/// The file that this trainer rewrites while it trains (progress.hpp).
[[nodiscard]] inline std::filesystem::path progress_path(LaunchPlan const& plan, JobMember const& member) {
  return plan.log_dir / concat("progress.", member.index);
}

}  // namespace prdist
