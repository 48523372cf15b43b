// SPDX-License-Identifier: Apache-2.0
// What the nodes of a job know together: one value under one key, which each changes only by compare-and-swap, by the
// rules in transitions.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

enum class JobPhase : std::uint8_t { forming, running, ended };

enum class NodePhase : std::uint8_t {
  joined,
  trained,  ///< nobody trains there any more; its servers may be needed yet
  ended,    ///< its launcher has said goodbye
  left,     ///< it went out of an elastic job, which goes on
  lost,     ///< its lease ended before it said so
};

/// What all nodes of a job have to agree on.
struct JobTerms {
  std::size_t least = 1;  ///< nodes, of an elastic job those with trainers; as many as `most` when it is not elastic
  std::size_t most = 1;
  bool reforms = false;      ///< an elastic job that starts again, all of it, whenever its nodes change
  std::size_t restarts = 0;  ///< how often it may after a failure; in another elastic job, fallen trainers in all
  bool collective = false;   ///< trainers only, which speak to each other

  [[nodiscard]] bool elastic() const noexcept { return least != most; }

  friend bool operator==(JobTerms const&, JobTerms const&) = default;
};

/// "2", or "2:4" of an elastic job.
[[nodiscard]] inline std::string to_string(JobTerms const& terms) {
  return terms.elastic() ? concat(terms.least, ':', terms.most) : concat(terms.most);
}

/// What became of a node's trainers so far. Numbers only grow, so that to tell them twice is to tell them once.
struct TrainerCount {
  std::size_t falls = 0;     ///< that asked for a restart
  std::size_t quit = 0;      ///< that went because somebody asked them to
  std::size_t finished = 0;  ///< that have seen the end of the data

  friend bool operator==(TrainerCount const&, TrainerCount const&) = default;
};

/// A node and what it offers: endpoints of its members, whose ports it holds.
struct NodeInfo {
  std::string name;
  std::string host;
  std::vector<Endpoint> servers;
  std::vector<Endpoint> trainers;
  Endpoint gloo;
  std::optional<std::size_t> wanted_rank;
  bool first = false;         ///< it runs the store, so it is the first of those that want no rank of their own
  bool serves = false;        ///< the servers of the run are on this node and others like it
  std::uint64_t offered = 0;  ///< the epoch that these endpoints are for
  std::size_t rank = 0;       ///< once the job runs, as the next
  std::size_t first_trainer = 0;
  TrainerCount count;
  std::size_t granted = 0;  ///< restarts: the first so many of its falls
  NodePhase phase = NodePhase::joined;

  friend bool operator==(NodeInfo const&, NodeInfo const&) = default;
};

/// "node abcdef (10.0.0.4)".
[[nodiscard]] inline std::string name_of(NodeInfo const& node) {
  return concat("node ", node.name, " (", node.host, ')');
}

struct JobFailure {
  std::string node;  ///< the name of the node it happened on
  int code = 0;
  std::string what;      ///< a sentence
  bool victim = false;   ///< a failure that another one caused: it makes room for its cause
  bool stopped = false;  ///< somebody asked a launcher to end the job: it does not form again
};

struct JobState {
  std::uint64_t run = 0;    ///< how often a job of this name has begun on this store
  std::uint64_t epoch = 0;  ///< how often its nodes have changed in this run
  JobPhase phase = JobPhase::ended;
  JobTerms terms;
  std::size_t restarts = 0;        ///< of those that the terms allow
  std::size_t first_trainers = 0;  ///< trainers when the run began
  std::vector<NodeInfo> nodes;     ///< by rank once they run; before, and those that come later, as they came
  std::string reason;              ///< of the last change of nodes; a sentence
  std::optional<JobFailure> failure;
};

/// Names of nodes whose lease lives.
using AliveNodes = std::set<std::string, std::less<>>;

[[nodiscard]] inline NodeInfo const* find_node(JobState const& state, std::string_view name) {
  auto const found = std::ranges::find(state.nodes, name, &NodeInfo::name);
  return found == state.nodes.end() ? nullptr : &*found;
}

/// Has not gone in any way.
[[nodiscard]] inline bool takes_part(NodeInfo const& node) noexcept {
  return node.phase < NodePhase::ended;
}

/// "node a (10.0.0.4), node b (10.0.0.5)" of those that pass.
template <class Which>
[[nodiscard]] std::string names_of(JobState const& state, Which&& which) {
  std::string text;
  for (auto const& node : state.nodes) {
    if (which(node)) text += concat(text.empty() ? "" : ", ", name_of(node));
  }
  return text;
}

}  // namespace prdist
