// SPDX-License-Identifier: Apache-2.0
// How the state of a job goes on: pure functions from one state to the next, so they hold whatever the store is.
//
//   forming   nodes come; those that are gone are left out; when all are there, ranks and indices are given: running
//   running   nobody is let in, and a node that is lost or fails ends the job for all. An elastic job lets nodes with
//             trainers come and go and starts fallen trainers again, or, when its terms say that it re-forms, forms
//             again with those that are there
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
#include <prdist/launch/ending.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/rendezvous/trainer_count.hpp>

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

[[nodiscard]] inline Error no_place_left(JobState const& state, std::string_view job_id) {
  return refused("job '", job_id, "' has all its ", state.terms.most, " nodes already");
}

/// All that take part start again, in a new epoch. Only what a failure caused counts as a restart.
[[nodiscard]] inline JobState reformed(JobState state, std::string reason, bool counts) {
  std::erase_if(state.nodes, [](auto const& node) { return !takes_part(node); });
  for (auto& node : state.nodes) {
    node.phase = NodePhase::joined;
    node.count = {};
    node.granted = 0;
  }
  state.phase = JobPhase::forming;
  state.reason = std::move(reason);
  ++state.epoch;
  if (counts) ++state.restarts;
  return state;
}

[[nodiscard]] inline bool can_reform(JobState const& state, bool counts = true) noexcept {
  return state.phase == JobPhase::running && state.terms.reforms && (!counts || state.restarts < state.terms.restarts);
}

[[nodiscard]] inline Result<JobState> joined_running(JobState state, NodeInfo me, std::string_view job_id) {
  if (counted_nodes(state) >= state.terms.most) return no_place_left(state, job_id);
  if (auto const free = rank_is_free(state, me, job_id); !free) return free.error();
  if (!has_trainers(me)) {
    return refused(name_of(me), " has servers only, and job '", job_id,
                   "' runs with those it has: start such nodes before the others, or give this one --trainer_num");
  }
  if (has_finished(state)) {
    return refused("job '", job_id, "' has come to the end of its data: it takes no more nodes");
  }
  auto const come = concat(name_of(me), " has come");
  if (state.terms.reforms) {
    state = reformed(std::move(state), come, false);
    me.offered = state.epoch;
    state.nodes.push_back(std::move(me));
    return state;
  }
  auto const trainers = trainers_per_node(state);
  if (me.trainers.size() != trainers) {
    return refused("--trainer_num ", me.trainers.size(), " of ", name_of(me), " is not the ", trainers,
                   " of the other nodes: in an elastic job all have the same");
  }
  auto const taken = [&](auto&& is_its) {
    return std::ranges::any_of(state.nodes, [&](auto const& node) { return takes_part(node) && is_its(node); });
  };
  std::size_t rank = 0;
  while (taken([&](auto const& node) { return node.rank == rank; })) ++rank;
  std::size_t first = 0;
  while (taken([&](auto const& node) { return has_trainers(node) && node.first_trainer == first; })) first += trainers;
  me.rank = me.wanted_rank.value_or(rank);
  me.first_trainer = first;
  me.servers.clear();
  me.offered = ++state.epoch;
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
  bool const counts = has_trainers(me) || !state.terms.elastic();
  if (counts && counted_nodes(state) >= state.terms.most) return detail::no_place_left(state, job_id);
  me.offered = state.epoch;
  state.nodes.push_back(std::move(me));
  return state;
}

/// The range of an elastic job is of trainers: its servers may be on a node that is yet to come.
[[nodiscard]] inline bool waits_for_servers(JobState const& state) noexcept {
  return state.terms.elastic() && !state.terms.collective &&
         std::ranges::all_of(state.nodes, [](auto const& node) { return node.servers.empty(); });
}

/// Whether those that are there can start: all, or enough of an elastic job after nobody has come for a while.
[[nodiscard]] inline bool complete(JobState const& state, bool quiet) noexcept {
  auto const count = counted_nodes(state);
  bool const ready = std::ranges::all_of(state.nodes, [&](auto const& node) { return node.offered == state.epoch; });
  return state.phase == JobPhase::forming && ready && !waits_for_servers(state) &&
         (count >= state.terms.most || (quiet && count >= state.terms.least));
}

namespace detail {

/// Servers of an elastic job stay where they are, so they are on as few nodes as the job may have: those with the first
/// ranks, and those that have nothing else. Who has to go can then be any of the others.
inline void place_servers(std::vector<NodeInfo>& by_rank, JobTerms const& terms) {
  bool const placed =
      std::ranges::any_of(by_rank, [](auto const& node) { return node.serves && !node.servers.empty(); });
  std::size_t places = terms.least;
  for (auto& node : by_rank) {
    bool const keeps = !terms.elastic() || !has_trainers(node) || (placed ? node.serves : places > 0);
    if (!keeps) node.servers.clear();
    node.serves = !node.servers.empty();
    if (node.serves && has_trainers(node) && places > 0) --places;
  }
}

}  // namespace detail

/// The same nodes in the order of their ranks, which wanted ones keep: the node that runs the store takes the first
/// free one, the others follow as they came. config.invalid when there is no server or no trainer among them.
[[nodiscard]] inline Result<JobState> formed(JobState state) {
  auto waiting = std::exchange(state.nodes, std::vector<NodeInfo>());
  std::vector<std::optional<NodeInfo>> places(waiting.size());
  std::ranges::stable_sort(waiting, {}, [](NodeInfo const& node) {
    return std::pair(node.wanted_rank ? 0 : node.first ? 1 : 2, node.wanted_rank.value_or(0));
  });
  for (auto& node : waiting) {
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
  for (auto& place : places) state.nodes.push_back(std::move(*place));
  detail::place_servers(state.nodes, state.terms);
  std::size_t servers = 0;
  std::size_t trainers = 0;
  for (std::size_t rank = 0; rank < state.nodes.size(); ++rank) {
    auto& node = state.nodes[rank];
    node.rank = rank;
    node.first_trainer = trainers;
    servers += node.servers.size();
    trainers += node.trainers.size();
  }
  if ((servers == 0 && !state.terms.collective) || trainers == 0) {
    return Error(Errc::config_invalid, "launcher: the ", state.nodes.size(), " nodes have ", servers, " servers and ",
                 trainers, " trainers together: give --server_num and --trainer_num so that there is one of each");
  }
  bool const even = std::ranges::all_of(state.nodes, [&](auto const& node) {
    return !has_trainers(node) || node.trainers.size() == trainers_per_node(state);
  });
  if (goes_on_without(state.terms) && !even) {
    return Error(Errc::config_invalid, "launcher: --trainer_num differs between the nodes: in an elastic job all have ",
                 "the same");
  }
  state.first_trainers = trainers;
  state.phase = JobPhase::running;
  return state;
}

/// What becomes of a trainer that fell, in the words of the state after that was decided.
[[nodiscard]] inline std::string fate_of(JobState const& state, bool again) {
  if (again)
    return concat("it is started again, restart ", state.restarts, " of ", state.terms.restarts, " of the job");
  if (has_finished(state)) return "it is not started again, the data has come to its end";
  return concat("it is not started again, the job has no restart left of its --max_restart ", state.terms.restarts);
}

/// A failure is told once; one that is a consequence makes room for its cause. A job that re-forms does so instead,
/// when another try may help and is left, unless somebody has asked it to end.
[[nodiscard]] inline JobState with_failure(JobState state, JobFailure failure) {
  bool const another_try = !failure.stopped && may_try_again(failure.code);
  if (!state.failure && another_try && detail::can_reform(state)) {
    return detail::reformed(std::move(state), failure.what, true);
  }
  if (state.phase != JobPhase::running) return state;
  // Servers give up as launchers do, and may be the first to.
  if (auto const shortage = shortage_of(state); failure.victim && shortage) failure.what += concat("; ", *shortage);
  if (!state.failure || (state.failure->victim && !failure.victim)) state.failure = std::move(failure);
  return state;
}

/// A node has gone from a running job, `lost` or `left`. Elastic jobs go on without it unless it had servers; when too
/// few are left, others have some time to come (shortage_of).
[[nodiscard]] inline JobState departed(JobState state, std::string_view name, NodePhase phase,
                                       std::string const& what) {
  auto const found = std::ranges::find(state.nodes, name, &NodeInfo::name);
  if (found == state.nodes.end() || !takes_part(*found)) return state;
  found->phase = phase;
  JobFailure failure{found->name, 75, what, false};
  bool const had_servers = !found->servers.empty();
  if (std::ranges::none_of(state.nodes, takes_part)) state.phase = JobPhase::ended;
  if (state.failure || state.phase != JobPhase::running) return state;
  bool const counts = phase == NodePhase::lost;
  if (detail::can_reform(state, counts)) return detail::reformed(std::move(state), what, counts);
  if (goes_on_without(state.terms) && !had_servers) {
    ++state.epoch;
    state.reason = what;
    return state;
  }
  if (goes_on_without(state.terms)) failure.what += ", and its servers with it";
  if (state.terms.reforms) failure.what += concat(", and no restart is left of ", state.terms.restarts);
  return with_failure(std::move(state), std::move(failure));
}

/// A node's own word on how far it is, and why when it leaves. A node that has gone stays so.
[[nodiscard]] inline JobState with_phase(JobState state, std::string_view name, NodePhase phase,
                                         std::string_view why = {}) {
  auto const found = std::ranges::find(state.nodes, name, &NodeInfo::name);
  if (found == state.nodes.end() || !takes_part(*found) || found->phase >= phase) return state;
  if (phase == NodePhase::left) {
    auto const what = concat(name_of(*found), " has left", why.empty() ? "" : ": ", why);
    return departed(std::move(state), name, phase, what);
  }
  found->phase = phase;
  if (std::ranges::none_of(state.nodes, takes_part)) state.phase = JobPhase::ended;
  return state;
}

/// A node's own word on its trainers; `what` is a sentence on the last one that fell. Each fall takes one of the
/// restarts that the whole job has, while there are some and the data has not come to its end.
[[nodiscard]] inline JobState with_trainers(JobState state, std::string_view name, TrainerCount const& count,
                                            std::string_view what) {
  auto const found = std::ranges::find(state.nodes, name, &NodeInfo::name);
  if (found == state.nodes.end() || !takes_part(*found) || state.phase != JobPhase::running) return state;
  found->count.quit = std::max(found->count.quit, count.quit);
  found->count.finished = std::max(found->count.finished, count.finished);
  for (; found->count.falls < count.falls; ++found->count.falls) {
    bool const again = state.restarts < state.terms.restarts && !has_finished(state);
    if (again) {
      ++found->granted;
      ++state.restarts;
    }
    state.reason = concat(name_of(*found), ": ", what, "; ", fate_of(state, again));
  }
  return state;
}

/// A node that takes part gives up waiting for trainers. Nobody's failure, so all nodes hear of it.
[[nodiscard]] inline JobState without_enough(JobState state, std::string_view waited) {
  auto const shortage = shortage_of(state);
  if (!shortage) return state;
  return with_failure(std::move(state), {"", 75, concat(*shortage, ", for ", waited, ": giving up"), false});
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
