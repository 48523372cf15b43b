// SPDX-License-Identifier: Apache-2.0
// What a manifest asks of a cluster: kinds of objects that it must serve, and objects that the manifest refers to and
// does not bring along.
#pragma once

#include <string>
#include <vector>

#include "render.hpp"

namespace prrun {

/// An object that pods refer to. Pods that miss it hang, or fail one by one.
struct Reference {
  std::string resource;  ///< as kubectl names it: secret, configmap, persistentvolumeclaim, ...
  std::string name;
  std::vector<std::string> keys{};  ///< of a secret or configmap, where a variable takes one of them
};

/// A kind that only clusters with the right operator serve.
struct ForeignKind {
  std::string group;
  std::string resource;  ///< jobs.batch.volcano.sh
};

struct ClusterNeeds {
  std::vector<std::string> objects{};    ///< what is created, for people: Job ctr (batch/v1)
  std::vector<std::string> resources{};  ///< the same as kubectl names the kinds, each once: jobs.batch
  std::vector<ForeignKind> foreign{};
  std::string queue{};  ///< of Volcano; empty when there is none
  std::vector<Reference> references{};
};

[[nodiscard]] ClusterNeeds needs_of(std::vector<prdist::gen::Json> const& documents);

}  // namespace prrun
