// SPDX-License-Identifier: Apache-2.0
// The look at a cluster before a job is created in it: whether it has what the job needs, and the way out when not.
#pragma once

#include <string>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/launch/command.hpp>

#include "cluster_needs.hpp"
#include "kubectl.hpp"

namespace prrun {

enum class Topic { name_space, api, queue, object, right, twin, trial };

/// One question to the cluster.
struct Look {
  Topic topic;
  std::string what;       ///< what is asked about: a name, a resource
  Words words{};          ///< for kubectl
  bool manifest = false;  ///< whether the manifest goes to its standard input
  Reference reference{};
};

/// All questions, in order. Each group needs the answers of those before it: a namespace before what is in it.
[[nodiscard]] std::vector<std::vector<Look>> looks_for(ClusterNeeds const& needs, std::string const& name_space);

enum class Found { yes, no, unknown };

struct Finding {
  Found found = Found::yes;
  std::string text;  ///< what there is; or what is missing, and the way out
};

/// What an answer of kubectl's means. @throws prdist::Error when the cluster does not answer any more
[[nodiscard]] Finding judge(Look const& look, prdist::CommandResult const& result, std::string const& name_space,
                            std::string const& job);

}  // namespace prrun
