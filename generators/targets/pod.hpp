// SPDX-License-Identifier: Apache-2.0
// The data of pod.yaml.inja: one role's pod as all Kubernetes targets write it. A target adds what is its own (ids,
// endpoints, plugins) to the environment and hands the result to its template.
#pragma once

#include <string>
#include <string_view>

#include "../job_spec.hpp"
#include "../options.hpp"
#include "../render.hpp"

namespace prdist::gen {

enum class PodRole { server, trainer, either };

/// PSERVER or TRAINER, as TRAINING_ROLE has it.
[[nodiscard]] std::string_view training_role(PodRole role);

/// env entries: a value, a field of the pod, a key of a Secret.
[[nodiscard]] Json env_value(std::string_view name, std::string value);
[[nodiscard]] Json env_field(std::string_view name, std::string field);
[[nodiscard]] Json env_secret(std::string_view name, std::string secret, std::string key);

/// What all pods of a job have in their environment, whatever finds their ids: counts, ports, paths, log level.
[[nodiscard]] Json common_env(JobSpec const& job, std::string const& endpoints);

/// The user's own variables and those from Secrets; they come last.
void append_user_env(JobSpec const& job, Json& env);

/// host0:port,host1:port with hosts made of prefix, index and suffix.
[[nodiscard]] std::string endpoint_list(std::string const& prefix, std::int64_t count, std::string const& suffix,
                                        std::int64_t port);

/// All trainers' endpoints and the pod's own, for pods whose host name is their own name and `suffix`.
void append_trainer_endpoints(JobSpec const& job, std::string const& middle, std::string const& suffix, Json& env);

/// A pod with safe defaults and one container, its environment `env`.
[[nodiscard]] Json pod_data(JobSpec const& job, PodRole role, Json env);

/// A pod that is a server and a trainer, a container each.
[[nodiscard]] Json pod_data_of_both(JobSpec const& job, Json server_env, Json trainer_env);

/// Labels that every object of the job carries.
[[nodiscard]] Json labels_of(JobSpec const& job);

/// The data of metadata.yaml.inja.
[[nodiscard]] Json metadata_of(JobSpec const& job, std::string const& name);

/// The same for the job itself, which also says what wrote it.
[[nodiscard]] Json job_metadata_of(JobSpec const& job, std::string const& name);

/// Metadata, ConfigMap and account: what templates of Kubernetes objects begin with.
[[nodiscard]] Json object_data(JobSpec const& job);

/// The program of a role and its arguments, behind the launcher when there is one; none when the image has its own.
[[nodiscard]] Json command_of(JobSpec const& job, PodRole role, std::string_view launcher_command);

inline constexpr std::string_view config_path = "/etc/prdist/config.yaml";

}  // namespace prdist::gen
