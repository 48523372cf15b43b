// SPDX-License-Identifier: Apache-2.0
// What became of the nodes of a job, for the report of any of them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/report.hpp>

namespace prdist {

[[nodiscard]] constexpr std::string_view name_of(NodePhase phase) noexcept {
  switch (phase) {
    case NodePhase::joined: return "running";
    case NodePhase::trained: return "trained";
    case NodePhase::ended: return "ended";
    case NodePhase::left: return "left";
    case NodePhase::lost: return "lost";
  }
  return "";
}

/// By rank. The one with the first failure of the job is "failed".
[[nodiscard]] inline std::vector<NodeReport> outcomes_of(JobState const& state) {
  std::vector<NodeReport> nodes;
  for (auto const& node : state.nodes) {
    bool const failed = state.failure && state.failure->node == node.name && node.phase != NodePhase::lost;
    nodes.push_back({node.rank, node.name, node.host, std::string(failed ? "failed" : name_of(node.phase)),
                     failed ? state.failure->code : 0});
  }
  std::ranges::stable_sort(nodes, {}, &NodeReport::rank);
  return nodes;
}

}  // namespace prdist
