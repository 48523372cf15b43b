// SPDX-License-Identifier: Apache-2.0
// A rendered job to a cluster, by kubectl: looked at first, created as a whole or not at all.
#pragma once

#include <optional>
#include <string>

#include "kubectl.hpp"
#include "submit_flags.hpp"

namespace prrun {

struct ClusterJob {
  std::string name;
  std::string name_space;  ///< as the file or -n names it; empty for that of kubectl's context
  std::string target;
  std::string manifest;
};

/// Shows what would be created and which commands would run, without asking anybody. Returns the exit code.
int plan_on_cluster(SubmitFlags const& flags, ClusterJob const& job);

/// Kubernetes 1.x: the x, as the cluster says it; nothing when --kube_version says it instead. Shows which cluster it
/// is.
/// @throws prdist::Error when it does not answer
[[nodiscard]] std::optional<int> minor_of(Kubectl const& kubectl, SubmitFlags const& flags);

/// Creates the job. Returns the exit code. @throws prdist::Error
int create_on_cluster(Kubectl const& kubectl, SubmitFlags const& flags, ClusterJob const& job);

}  // namespace prrun
