// SPDX-License-Identifier: Apache-2.0
// How many trainers an elastic job has and how many it needs, told from the state of its nodes; and who is missing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include <prdist/core/text.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>

namespace prdist {

/// Trainers come and go while the others keep their processes.
[[nodiscard]] inline bool goes_on_without(JobTerms const& terms) noexcept {
  return terms.elastic() && !terms.reforms;
}

[[nodiscard]] inline bool has_trainers(NodeInfo const& node) noexcept {
  return !node.trainers.empty();
}

/// How many of its nodes count for the range: in an elastic job those with trainers, in another one all.
[[nodiscard]] inline std::size_t counted_nodes(JobState const& state) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(state.nodes, [&](auto const& node) {
    return takes_part(node) && (has_trainers(node) || !state.terms.elastic());
  }));
}

/// Trainers of a node that has some; in an elastic job all such nodes have the same number.
[[nodiscard]] inline std::size_t trainers_per_node(JobState const& state) noexcept {
  auto const found = std::ranges::find_if(state.nodes, has_trainers);
  return found == state.nodes.end() ? 0 : found->trainers.size();
}

/// Trainers of this node that train, or will as soon as they have been started again.
[[nodiscard]] inline std::size_t standing_trainers(NodeInfo const& node) noexcept {
  auto const gone = node.count.falls - std::min(node.granted, node.count.falls) + node.count.quit + node.count.finished;
  return node.phase == NodePhase::joined ? node.trainers.size() - std::min(gone, node.trainers.size()) : 0;
}

/// Whether a trainer has seen the end of the data: from then on none is missed, and none is started.
[[nodiscard]] inline bool has_finished(JobState const& state) noexcept {
  return std::ranges::any_of(state.nodes, [](auto const& node) { return node.count.finished > 0; });
}

/// "1 trainer is there and at least 2 are needed: node b (10.0.0.5) was lost"; nothing when enough are there, or when
/// their number is not the launchers' to judge.
[[nodiscard]] inline std::optional<std::string> shortage_of(JobState const& state) {
  if (state.phase != JobPhase::running || state.failure || !goes_on_without(state.terms) || has_finished(state))
    return {};
  auto const least = state.terms.least * trainers_per_node(state);
  std::size_t standing = 0;
  for (auto const& node : state.nodes) standing += standing_trainers(node);
  if (standing >= least) return {};
  std::string missing;
  for (auto const& node : state.nodes) {
    bool const replaced = !takes_part(node) && std::ranges::any_of(state.nodes, [&](auto const& other) {
      return takes_part(other) && has_trainers(other) && other.first_trainer == node.first_trainer;
    });
    auto const fewer = node.trainers.size() - standing_trainers(node);
    if (replaced || fewer == 0) continue;
    missing +=
        concat(missing.empty() ? "" : ", ", takes_part(node) ? concat(fewer, " of ") : std::string(), name_of(node),
               node.phase == NodePhase::lost ? " was lost"
               : takes_part(node)            ? " fell"
                                             : " has left");
  }
  return concat(standing, standing == 1 ? " trainer is" : " trainers are", " there and at least ", least,
                " are needed: ", missing);
}

}  // namespace prdist
