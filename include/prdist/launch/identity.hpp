// SPDX-License-Identifier: Apache-2.0
// Who this process is in a job that somebody else started. Ids come, in this order, from flags, from Paddle's own
// variables, from the index of a Kubernetes or Volcano Job, and from a parallel launcher's rank; where none of them is
// there, pods have to be asked (k8s/pod_plan.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/ranks.hpp>

namespace prdist {

/// What a command line says outright.
struct GivenIdentity {
  std::optional<JobRole> role;
  std::optional<std::size_t> id;  ///< among those of its role
};

/// TRAINING_ROLE, PADDLE_TRAINING_ROLE or PADDLE_ROLE, which must agree; nothing when none is set.
/// @throws Error config.invalid, config.contradiction
[[nodiscard]] inline std::optional<JobRole> role_from_env(Environment const& environment) {
  std::optional<JobRole> role;
  std::string_view said_by;
  for (std::string_view const name : {"TRAINING_ROLE", "PADDLE_TRAINING_ROLE", "PADDLE_ROLE"}) {
    auto const value = environment(name);
    if (!value) continue;
    if (*value != "PSERVER" && *value != "TRAINER") {
      throw Error(Errc::config_invalid, name, "='", *value, "': PSERVER or TRAINER is expected");
    }
    auto const one = *value == "PSERVER" ? JobRole::server : JobRole::trainer;
    if (role && one != *role) {
      throw Error(Errc::config_contradiction, name, "='", *value, "' but ", said_by,
                  " says otherwise: unset one of them");
    }
    role = one;
    if (said_by.empty()) said_by = name;
  }
  return role;
}

/// The place in a Job's count of pods, or nothing. @throws Error config.invalid
[[nodiscard]] inline std::optional<std::size_t> job_index_from_env(Environment const& environment) {
  for (std::string_view const name : {"JOB_COMPLETION_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX"}) {
    if (auto const index = number_in(environment, name, 0, 1'000'000)) return *index;
  }
  return std::nullopt;
}

/// The place of this pod in the list, or nothing: by POD_IP:PADDLE_PORT, else by POD_IP alone where that is one entry's
/// (paddle-operator's own PADDLE_PORT is not the port of its endpoints). POD_IP may be a host name.
[[nodiscard]] inline std::optional<std::size_t> place_in_list(Environment const& environment,
                                                              std::span<Endpoint const> servers) {
  auto const host = environment("POD_IP");
  if (!host) return std::nullopt;
  auto const place = [&](auto const& found) { return static_cast<std::size_t>(found - servers.begin()); };
  if (auto const port = number_in(environment, "PADDLE_PORT", 1, 65535)) {
    auto const found = std::ranges::find(servers, Endpoint{*host, static_cast<std::uint16_t>(*port)});
    if (found != servers.end()) return place(found);
  }
  auto const found = std::ranges::find(servers, *host, &Endpoint::host);
  if (found == servers.end() || std::ranges::count(servers, *host, &Endpoint::host) != 1) return std::nullopt;
  return place(found);
}

/// One member's role and id, or nothing when the environment does not tell. `servers` are the known endpoints, and
/// `server_count` how many there are to be: where one count runs over all members, the servers come first.
/// @throws Error config.invalid, config.contradiction
[[nodiscard]] inline std::optional<JobMember> identity_from_env(Environment const& environment,
                                                                GivenIdentity const& given,
                                                                std::span<Endpoint const> servers,
                                                                std::size_t server_count) {
  auto const role = given.role ? given.role : role_from_env(environment);
  auto const counted = [&](std::size_t place) {
    return place < server_count ? JobMember{JobRole::server, place} : JobMember{JobRole::trainer, place - server_count};
  };
  if (!role) {
    auto const trainer = number_in(environment, "PADDLE_TRAINER_ID", 0, 65535);
    auto const server = number_in(environment, "PADDLE_PSERVER_ID", 0, 65535);
    if (trainer && server) {
      throw Error(Errc::config_contradiction, "PADDLE_TRAINER_ID='", *trainer, "' and PADDLE_PSERVER_ID='", *server,
                  "' name two members: unset one of them, or say by TRAINING_ROLE which it is");
    }
    if (trainer) return JobMember{JobRole::trainer, *trainer};
    if (server) return JobMember{JobRole::server, *server};
    if (auto const index = job_index_from_env(environment)) return counted(*index);
    if (auto const rank = rank_from_env(environment)) return counted(rank->rank);
    return std::nullopt;
  }
  if (given.id) return JobMember{*role, *given.id};
  auto const* const own = *role == JobRole::server ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID";
  if (auto const id = number_in(environment, own, 0, 65535)) return JobMember{*role, *id};
  // With a role of their own, pods are counted within it: a task of Volcano's, or a Job per role.
  if (auto const index = job_index_from_env(environment)) return JobMember{*role, *index};
  if (*role == JobRole::server) {
    if (auto const place = place_in_list(environment, servers)) return JobMember{*role, *place};
  }
  if (auto const rank = rank_from_env(environment)) {
    auto const member = counted(rank->rank);
    if (member.role == *role) return member;
    throw Error(Errc::config_contradiction, rank->variable, "='", rank->rank, "' is a ", name_of(member.role),
                " of a job with ", server_count, " servers, but the role is ", name_of(*role),
                ": servers come first; unset TRAINING_ROLE or change --server_num");
  }
  return std::nullopt;
}

}  // namespace prdist
