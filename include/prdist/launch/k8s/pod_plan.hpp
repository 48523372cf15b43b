// SPDX-License-Identifier: Apache-2.0
// What a pod has to run, from the environment its manifest gives it: an Indexed Job of Kubernetes, a Volcano Job, a
// PaddleJob, or the Job of Paddle's v2 document, whose pods are a server and a trainer each. Where the environment does
// not tell all, a draft names the pods that have to be listed, and completed() puts them in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/identity.hpp>
#include <prdist/launch/k8s/pods.hpp>
#include <prdist/launch/k8s/wait_for_pods.hpp>
#include <prdist/launch/node_plan.hpp>

namespace prdist {

/// Flags of `prrun k8s` that go before the environment.
struct PodFlags {
  GivenIdentity identity;
  std::optional<std::size_t> servers;
  std::optional<std::size_t> trainers;
};

/// A plan, and what is still to be asked.
struct PodDraft {
  NodePlan plan;
  std::size_t server_count = 0;
  bool both = false;                      ///< each pod is a server and a trainer
  std::optional<JobRole> role;            ///< of this pod, where one Job per role or the manifest tells it
  std::optional<PodQuery> server_query;   ///< for the endpoints of the servers
  std::optional<PodQuery> trainer_query;  ///< for this trainer's id
  std::optional<PodQuery> job_query;      ///< all pods of one Job, for ids and endpoints
};

namespace detail {

class PodReader {
 public:
  PodReader(Environment const& environment, PodFlags const& flags) : environment_(environment), flags_(flags) {}

  [[nodiscard]] PodDraft read() const {
    PodDraft draft;
    draft.plan.job_name = first_of({"JOB_NAME", "PADDLE_JOB_NAME"}).value_or("default");
    draft.plan.ports = ports();
    draft.role = flags_.identity.role ? flags_.identity.role : role_from_env(environment_);
    draft.plan.servers = servers(draft.plan.ports.port);
    auto const given_servers = count(flags_.servers, {"PADDLE_PSERVERS_NUM"});
    draft.server_count = given_servers.value_or(draft.plan.servers.size());
    if (!draft.plan.servers.empty() && draft.server_count != draft.plan.servers.size()) {
      throw Error(Errc::config_contradiction, "PADDLE_PSERVERS_NUM='", draft.server_count,
                  "' but PADDLE_PSERVERS_IP_PORT_LIST has ", draft.plan.servers.size(), ": make them agree");
    }
    draft.both =
        !draft.role && !given_servers && draft.plan.servers.empty() && environment_("CONF_PADDLE_GRADIENT_NUM");
    auto const trainers =
        count(flags_.trainers, {"PADDLE_TRAINERS_NUM", "PADDLE_ELASTIC_NP", "CONF_PADDLE_GRADIENT_NUM"});
    if (!trainers) {
      throw Error(Errc::config_missing, "k8s: PADDLE_TRAINERS_NUM is not set",
                  ": the manifest has to say how many trainers there are, or give --trainer_num");
    }
    draft.plan.trainers = *trainers;
    if (draft.both) return both(std::move(draft));
    return one_role(std::move(draft));
  }

 private:
  [[nodiscard]] std::optional<std::string> first_of(std::initializer_list<std::string_view> names) const {
    for (auto const name : names) {
      if (auto value = environment_(name); value && !value->empty()) return value;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> count(std::optional<std::size_t> given,
                                                 std::initializer_list<std::string_view> names) const {
    if (given) return given;
    for (auto const name : names) {
      if (auto const number = number_in(environment_, name, 1, 65536)) return *number;
    }
    return std::nullopt;
  }

  [[nodiscard]] ServerPorts ports() const {
    ServerPorts ports;
    auto const number = [&](std::initializer_list<std::string_view> names, std::uint32_t low, std::uint16_t fallback) {
      for (auto const name : names) {
        if (auto const value = number_in(environment_, name, low, 65535)) return static_cast<std::uint16_t>(*value);
      }
      return fallback;
    };
    ports.port = number({"PADDLE_PORT", "CONF_PADDLE_PORT"}, 1, 7164);
    ports.dense = number({"CONF_PADDLE_PORTS_NUM"}, 1, 1);
    ports.sparse = number({"CONF_PADDLE_PORTS_NUM_SPARSE"}, 0, 1);
    ports.nics = first_of({"CONF_PADDLE_NIC", "PADDLE_INIT_NICS"}).value_or("");
    return ports;
  }

  /// The list of the manifest or the operator, else the hosts that Volcano's svc plugin names.
  [[nodiscard]] std::vector<Endpoint> servers(std::uint16_t port) const {
    constexpr std::string_view list = "PADDLE_PSERVERS_IP_PORT_LIST";
    if (auto const value = first_of({list})) return endpoints_of(list, *value);
    std::vector<Endpoint> endpoints;
    auto const hosts = first_of({"VC_PSERVER_HOSTS", "VC_PS_HOSTS"});
    if (!hosts) return endpoints;
    for (std::string_view rest = *hosts; !rest.empty();) {
      auto const comma = std::min(rest.find(','), rest.size());
      if (comma > 0) endpoints.push_back({std::string(rest.substr(0, comma)), port});
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return endpoints;
  }

  [[nodiscard]] std::string job_label() const {
    auto const name = first_of({"JOB_NAME", "PADDLE_JOB_NAME"});
    if (name) return *name;
    throw Error(Errc::config_missing, "k8s: JOB_NAME is not set", ": pods of this job cannot be told from others");
  }

  [[nodiscard]] PodDraft both(PodDraft draft) const {
    draft.server_count = draft.plan.trainers;
    draft.job_query = PodQuery{concat("job-name=", job_label()), draft.plan.trainers};
    return draft;
  }

  [[nodiscard]] PodDraft one_role(PodDraft draft) const {
    auto const identity = identity_from_env(environment_, flags_.identity, draft.plan.servers, draft.server_count);
    if (identity) {
      draft.role = identity->role;
      draft.plan.members = {*identity};
    }
    bool const endpoints_missing = draft.server_count > draft.plan.servers.size();
    if (!draft.role) {
      if (draft.server_count == 0 && draft.plan.trainers == 1) {
        draft.plan.members = {{JobRole::trainer, 0}};
        return draft;
      }
      draft.job_query = PodQuery{concat("job-name=", job_label()), draft.server_count + draft.plan.trainers};
      return draft;
    }
    auto const label = [&] { return first_of({"PADDLE_JOB_NAME"}).value_or(job_label()); };
    bool const server = draft.role == JobRole::server;
    if (endpoints_missing && !environment_("TRAINING_ROLE") && !environment_("PADDLE_TRAINING_ROLE") &&
        job_index_from_env(environment_)) {
      // One Indexed Job: its pods have no label of their role.
      draft.job_query = PodQuery{concat("job-name=", job_label()), draft.server_count + draft.plan.trainers};
      return draft;
    }
    if (endpoints_missing || (server && !identity)) {
      draft.server_query = PodQuery{concat("paddle-job-pserver=", label()), draft.server_count};
    }
    if (!server && !identity) draft.trainer_query = PodQuery{concat("paddle-job=", label()), draft.plan.trainers};
    return draft;
  }

  Environment const& environment_;
  PodFlags const& flags_;
};

/// The place of this pod among `pods`.
[[nodiscard]] inline std::size_t own_place(Environment const& environment, std::span<Pod const> pods) {
  auto const place = [&](std::string_view variable, auto member) -> std::optional<std::size_t> {
    auto const value = environment(variable);
    if (!value) return std::nullopt;
    auto const found = std::ranges::find(pods, *value, member);
    return found == pods.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - pods.begin()));
  };
  if (auto const found = place("POD_NAME", &Pod::name)) return *found;
  if (auto const found = place("POD_IP", &Pod::ip)) return *found;
  if (auto const found = place("HOSTNAME", &Pod::name)) return *found;
  throw Error(Errc::config_contradiction, "k8s: this pod is none of the ", pods.size(), " that were listed (POD_NAME='",
              environment("POD_NAME").value_or(""), "', POD_IP='", environment("POD_IP").value_or(""), "', HOSTNAME='",
              environment("HOSTNAME").value_or(""), "'): set POD_NAME from the field metadata.name");
}

[[nodiscard]] inline std::vector<Endpoint> endpoints_at(std::span<Pod const> pods, std::uint16_t port) {
  std::vector<Endpoint> endpoints;
  for (auto const& pod : pods) endpoints.push_back({pod.ip, port});
  return endpoints;
}

}  // namespace detail

/// @throws Error config.missing, config.invalid, config.contradiction
[[nodiscard]] inline PodDraft read_pod(Environment const& environment, PodFlags const& flags = {}) {
  return detail::PodReader(environment, flags).read();
}

/// The plan of a draft, asking `list` for the pods of a query, in the order of their ids.
/// @throws Error what `list` throws, and config.contradiction
template <class List>
[[nodiscard]] NodePlan completed(PodDraft draft, Environment const& environment, List&& list) {
  auto& plan = draft.plan;
  auto const member_of = [&](JobRole role, std::span<Pod const> pods) {
    if (plan.members.empty()) plan.members = {{role, detail::own_place(environment, pods)}};
  };
  if (draft.job_query) {
    std::vector<Pod> const pods = list(*draft.job_query);
    auto const servers = std::span(pods).first(std::min(draft.server_count, pods.size()));
    plan.servers = detail::endpoints_at(servers, plan.ports.port);
    auto const place = detail::own_place(environment, pods);
    plan.mark = pods.at(place).name;
    for (auto const& pod : pods) plan.marks.push_back(pod.name);
    if (draft.both) {
      auto const id = number_in(environment, "PADDLE_TRAINER_ID", 0, 65535);
      plan.members = {{JobRole::server, place}, {JobRole::trainer, id.value_or(static_cast<std::uint32_t>(place))}};
    } else if (plan.members.empty()) {
      bool const server = place < draft.server_count;
      plan.members = {{server ? JobRole::server : JobRole::trainer, server ? place : place - draft.server_count}};
    }
  }
  if (draft.server_query) {
    std::vector<Pod> const pods = list(*draft.server_query);
    if (plan.servers.empty()) plan.servers = detail::endpoints_at(pods, plan.ports.port);
    if (draft.role == JobRole::server) member_of(JobRole::server, pods);
  }
  if (draft.trainer_query) member_of(JobRole::trainer, list(*draft.trainer_query));
  check_plan(plan);
  return plan;
}

}  // namespace prdist
