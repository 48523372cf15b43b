// SPDX-License-Identifier: Apache-2.0
// How the state of a job goes on: pure functions from one state to the next, so they hold whatever the store is.
//
//   forming   nodes come; those that are gone are left out; when all are there, ranks and indices are given: running
//   running   nobody is let in, and a node that is lost or fails ends the job for all. An elastic job lets nodes with
//             trainers come and go, or, when its terms say that it re-forms, forms again with those that are there
//   ended     every node has said that it ended, or is lost; who comes next begins another run
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>

namespace prdist {

namespace detail {

template <class... Parts>
[[nodiscard]] Error refused(Parts const&... parts) {
  return {Errc::config_contradiction, "launcher: ", parts...};
}

[[nodiscard]] inline Result<void> rank_is_free(JobState const& state, NodeInfo const& me, std::string_view job_id) {
  for (auto const& other : state.nodes) {
    if (!me.wanted_rank || !takes_part(other)) continue;
    bool const taken =
        state.phase == JobPhase::running ? other.rank == *me.wanted_rank : other.wanted_rank == me.wanted_rank;
    if (taken) {
      return refused("--rank ", *me.wanted_rank, " of ", name_of(me), " belongs to ", name_of(other),
                     " already: give each node of job '", job_id, "' a rank of its own");
    }
  }
  return {};
}

/// All that take part start again, in a new epoch.
[[nodiscard]] inline JobState reformed(JobState state, std::string reason) {
  std::erase_if(state.nodes, [](auto const& node) { return !takes_part(node); });
  for (auto& node : state.nodes) node.phase = NodePhase::joined;
  state.phase = JobPhase::forming;
  state.reason = std::move(reason);
  ++state.epoch;
  ++state.restarts;
  return state;
}

[[nodiscard]] inline bool can_reform(JobState const& state) noexcept {
  return state.phase == JobPhase::running && state.terms.reforms && state.restarts < state.terms.restarts;
}

[[nodiscard]] inline Result<JobState> joined_running(JobState state, NodeInfo me, std::string_view job_id) {
  auto const here = static_cast<std::size_t>(std::ranges::count_if(state.nodes, takes_part));
  if (here >= state.terms.most) return refused("job '", job_id, "' has all its ", state.terms.most, " nodes already");
  if (auto const free = rank_is_free(state, me, job_id); !free) return free.error();
  bool const counts = me.again || state.terms.reforms;
  if (counts && state.restarts >= state.terms.restarts) {
    return refused("job '", job_id, "' has no restart left of its --max_restart ", state.terms.restarts);
  }
  auto const come = concat(name_of(me), " has come");
  me.founder = false;
  if (state.terms.reforms) {
    state = reformed(std::move(state), come);
    me.offered = state.epoch;
    state.nodes.push_back(std::move(me));
    return state;
  }
  if (std::ranges::find(state.nodes, NodePhase::trained, &NodeInfo::phase) != state.nodes.end()) {
    return refused("job '", job_id, "' has come to the end of its data: it takes no more nodes");
  }
  auto const trainers = state.nodes.front().trainers.size();
  if (me.trainers.size() != trainers) {
    return refused("--trainer_num ", me.trainers.size(), " of ", name_of(me), " is not the ", trainers,
                   " of the other nodes: in an elastic job all have the same");
  }
  auto const taken = [&](std::size_t rank) {
    return std::ranges::any_of(state.nodes, [&](auto const& node) { return takes_part(node) && node.rank == rank; });
  };
  std::size_t rank = 0;
  while (taken(rank)) ++rank;
  me.rank = me.wanted_rank.value_or(rank);
  me.first_trainer = me.rank * trainers;
  me.servers.clear();
  me.offered = ++state.epoch;
  if (me.again) ++state.restarts;
  state.reason = come;
  state.nodes.push_back(std::move(me));
  return state;
}

}  // namespace detail

/// The state with this node in it. Nothing while an earlier run, which has failed, is still being ended: to be asked
/// again. config.contradiction for what waiting does not mend: a job of this name that runs, other terms, a rank that
/// is taken.
[[nodiscard]] inline Result<std::optional<JobState>> joined(JobState state, AliveNodes const& alive, NodeInfo me,
                                                            JobTerms const& terms, std::string_view job_id) {
  auto const lives = [&](NodeInfo const& node) { return takes_part(node) && alive.contains(node.name); };
  if (state.phase == JobPhase::ended || std::ranges::none_of(state.nodes, lives)) {
    if (me.again)
      return detail::refused("job '", job_id, "' has ended meanwhile: ", name_of(me), " does not come back");
    JobState fresh;
    fresh.run = state.run + 1;
    fresh.epoch = 1;
    fresh.phase = JobPhase::forming;
    fresh.terms = terms;
    me.offered = 1;
    fresh.nodes.push_back(std::move(me));
    return fresh;
  }
  if (state.phase == JobPhase::running && state.failure) return std::optional<JobState>();
  if (state.phase == JobPhase::running && !state.terms.elastic()) {
    return detail::refused("job '", job_id, "' runs already, on ", names_of(state, lives),
                           ": give this one another --job_id, or start it when that one has ended");
  }
  if (state.terms != terms) {
    return detail::refused("--nnodes ", to_string(terms), " of ", name_of(me), " and ", to_string(state.terms), " of ",
                           names_of(state, lives), " differ, or --max_restart or --elastic_sync does: give all nodes ",
                           "of a job the same, or this job another --job_id");
  }
  if (state.phase == JobPhase::running) {
    auto next = detail::joined_running(std::move(state), std::move(me), job_id);
    if (!next) return next.error();
    return std::move(*next);
  }
  // One that went away before the start takes no place. Should it come back, it finds itself missing and joins anew.
  std::erase_if(state.nodes, [&](auto const& node) { return !alive.contains(node.name); });
  if (auto const free = detail::rank_is_free(state, me, job_id); !free) return free.error();
  me.offered = state.epoch;
  state.nodes.push_back(std::move(me));
  return state;
}

/// Whether those that are there can start: all, or enough of an elastic job after nobody has come for a while.
[[nodiscard]] inline bool complete(JobState const& state, bool quiet) noexcept {
  auto const count = state.nodes.size();
  bool const ready = std::ranges::all_of(state.nodes, [&](auto const& node) { return node.offered == state.epoch; });
  return state.phase == JobPhase::forming && ready &&
         (count >= state.terms.most || (quiet && count >= state.terms.least));
}

/// The same nodes in the order of their ranks, which wanted ones keep: the node that runs the store takes the first
/// free one, the others follow as they came. config.invalid when there is no server or no trainer among them.
[[nodiscard]] inline Result<JobState> formed(JobState state) {
  auto waiting = std::exchange(state.nodes, std::vector<NodeInfo>());
  bool const begins = state.epoch == 1;
  bool const founded =
      std::ranges::any_of(waiting, [](auto const& node) { return node.founder && !node.servers.empty(); });
  std::vector<std::optional<NodeInfo>> places(waiting.size());
  std::ranges::stable_sort(waiting, {}, [](NodeInfo const& node) {
    return std::pair(node.wanted_rank ? 0 : node.first ? 1 : 2, node.wanted_rank.value_or(0));
  });
  std::size_t servers = 0;
  std::size_t trainers = 0;
  for (auto& node : waiting) {
    if (begins) node.founder = true;
    if (founded && !node.founder) node.servers.clear();
    auto const free = static_cast<std::size_t>(std::ranges::find(places, false, &std::optional<NodeInfo>::has_value) -
                                               places.begin());
    auto place = node.wanted_rank.value_or(free);
    // With fewer nodes than there could be, not every rank is there to be had.
    if (state.terms.elastic() && (place >= places.size() || places[place])) place = free;
    if (place >= places.size()) {
      return Error(Errc::config_invalid, "launcher: --rank ", place, " of ", name_of(node), " is not below --nnodes ",
                   places.size());
    }
    places[place] = std::move(node);
  }
  for (auto& place : places) {
    place->rank = state.nodes.size();
    place->first_trainer = trainers;
    servers += place->servers.size();
    trainers += place->trainers.size();
    state.nodes.push_back(std::move(*place));
  }
  if (servers == 0 || trainers == 0) {
    return Error(Errc::config_invalid, "launcher: the ", state.nodes.size(), " nodes have ", servers, " servers and ",
                 trainers, " trainers together: give --server_num and --trainer_num so that there is one of each");
  }
  bool const even = trainers == state.nodes.size() * state.nodes.front().trainers.size();
  if (state.terms.elastic() && !state.terms.reforms && !even) {
    return Error(Errc::config_invalid, "launcher: --trainer_num differs between the nodes: in an elastic job all have ",
                 "the same");
  }
  state.first_trainers = trainers;
  state.phase = JobPhase::running;
  return state;
}

/// A failure is told once; one that is a consequence makes room for its cause. A job that re-forms does so instead,
/// when another try may help and is left.
[[nodiscard]] inline JobState with_failure(JobState state, JobFailure failure) {
  bool const may_help = failure.code != 64 && failure.code != 78 && failure.code != 124;
  if (!state.failure && may_help && detail::can_reform(state)) return detail::reformed(std::move(state), failure.what);
  if (state.phase != JobPhase::running) return state;
  if (!state.failure || (state.failure->victim && !failure.victim)) state.failure = std::move(failure);
  return state;
}

/// A node has gone from a running job, `lost` or `left`. Elastic jobs go on without it as long as enough are there and
/// it had no servers.
[[nodiscard]] inline JobState departed(JobState state, std::string_view name, NodePhase phase,
                                       std::string const& what) {
  auto const found = std::ranges::find(state.nodes, name, &NodeInfo::name);
  if (found == state.nodes.end() || !takes_part(*found)) return state;
  found->phase = phase;
  JobFailure failure{found->name, 75, what, false};
  bool const had_servers = !found->servers.empty();
  if (std::ranges::none_of(state.nodes, takes_part)) state.phase = JobPhase::ended;
  if (state.failure || state.phase != JobPhase::running) return state;
  if (detail::can_reform(state)) return detail::reformed(std::move(state), what);
  auto const left = static_cast<std::size_t>(std::ranges::count_if(state.nodes, takes_part));
  bool const trained = std::ranges::find(state.nodes, NodePhase::trained, &NodeInfo::phase) != state.nodes.end();
  if (state.terms.elastic() && !state.terms.reforms && !had_servers && (left >= state.terms.least || trained)) {
    ++state.epoch;
    state.reason = what;
    return state;
  }
  if (state.terms.elastic() && !state.terms.reforms) {
    failure.what +=
        had_servers ? ", and its servers with it" : concat(", and fewer than ", state.terms.least, " nodes are left");
  }
  if (state.terms.reforms) failure.what += concat(", and no restart is left of ", state.terms.restarts);
  return with_failure(std::move(state), std::move(failure));
}

/// A node's own word on how far it is. A node that has gone stays so.
[[nodiscard]] inline JobState with_phase(JobState state, std::string_view name, NodePhase phase) {
  auto const found = std::ranges::find(state.nodes, name, &NodeInfo::name);
  if (found == state.nodes.end() || !takes_part(*found) || found->phase >= phase) return state;
  if (phase == NodePhase::left) return departed(std::move(state), name, phase, concat(name_of(*found), " has left"));
  found->phase = phase;
  if (std::ranges::none_of(state.nodes, takes_part)) state.phase = JobPhase::ended;
  auto const trains = [](auto const& node) { return node.phase == NodePhase::joined && !node.trainers.empty(); };
  auto const has_trained = [](auto const& node) {
    return node.phase == NodePhase::trained || node.phase == NodePhase::ended;
  };
  if (phase == NodePhase::fallen && std::ranges::none_of(state.nodes, trains) &&
      std::ranges::none_of(state.nodes, has_trained)) {
    state = with_failure(std::move(state),
                         {std::string(name), 75, "no trainer is left on any node: see their logs", false});
  }
  return state;
}

/// Nodes of a running job whose lease has ended are lost.
[[nodiscard]] inline JobState without_the_dead(JobState state, AliveNodes const& alive) {
  auto const nodes = state.nodes;
  for (auto const& node : nodes) {
    if (state.phase != JobPhase::running || !takes_part(node) || alive.contains(node.name)) continue;
    state =
        departed(std::move(state), node.name, NodePhase::lost,
                 concat(name_of(node), " was lost, nothing is heard of its launcher: look whether that machine is up"));
  }
  return state;
}

/// This node gives up before the start.
[[nodiscard]] inline JobState without(JobState state, std::string_view name) {
  if (state.phase == JobPhase::forming) std::erase_if(state.nodes, [&](auto const& node) { return node.name == name; });
  return state;
}

}  // namespace prdist
