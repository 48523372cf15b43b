// SPDX-License-Identifier: Apache-2.0
// Waits until all nodes of a job have come, for a bounded time, and says while it waits who is there and who is not.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/rendezvous/outlook.hpp>
#include <prdist/launch/rendezvous/session.hpp>
#include <prdist/launch/rendezvous/trainer_count.hpp>
#include <prdist/launch/rendezvous/transitions.hpp>

namespace prdist {

/// "2 of 3 nodes have come, node a (10.0.0.4), node b (10.0.0.5); rank 1 is missing".
[[nodiscard]] inline std::string attendance_of(JobState const& state) {
  auto const come = counted_nodes(state);
  auto text = concat(come, " of ", to_string(state.terms), " nodes ", come == 1 ? "has" : "have", " come, ",
                     names_of(state, [](auto const&) { return true; }));
  // When all give their ranks, the missing ones are known by name.
  if (std::ranges::all_of(state.nodes, [](auto const& node) { return node.wanted_rank.has_value(); })) {
    std::string missing;
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < state.terms.least; ++rank) {
      if (std::ranges::find(state.nodes, rank, &NodeInfo::wanted_rank) != state.nodes.end()) continue;
      if (++count <= 8) missing += concat(missing.empty() ? "" : ", ", rank);
    }
    if (count > 0) {
      return concat(text, "; rank", count == 1 ? " " : "s ", missing, count > 8 ? ", ..." : "",
                    count == 1 ? " is missing" : " are missing");
    }
  }
  if (come >= state.terms.least && waits_for_servers(state)) return concat(text, "; a node with servers is missing");
  if (come >= state.terms.least) {
    bool const ready = std::ranges::all_of(state.nodes, [&](auto const& node) { return node.offered == state.epoch; });
    return concat(text, ready ? "; there may be more" : "; their members are being ended");
  }
  auto const left = state.terms.least - come;
  return concat(text, "; ", left, left == 1 ? " is missing" : " are missing");
}

/// How the waiting reaches the world.
struct NodeWatch {
  std::function<void(std::string_view)> say;  ///< a line whenever the state is another one
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  /// False ends the waiting: somebody asked this process to end.
  std::function<bool(std::chrono::milliseconds)> pause;
};

/// The first view of the running job. A store that does not answer is asked again until `patience` is over; what
/// waiting does not mend is returned at once. A passed deadline is job.deadline. The caller leaves the session.
[[nodiscard]] inline Result<SessionView> wait_for_nodes(NodeSession& session, std::chrono::milliseconds patience,
                                                        NodeWatch const& watch) {
  constexpr auto pause = std::chrono::milliseconds(200);
  auto const deadline = watch.now() + patience;
  std::string said;
  for (;;) {
    auto view = session.round(watch.now());
    if (!view && exit_code(view.error().code()) != exit_code(Errc::job_deadline)) return view.error();
    if (view && view->member && view->state.phase == JobPhase::running) return view;
    if (view && view->forgotten) return Error(Errc::job_peer_lost, "launcher: ", lost_state);
    if (view && view->fenced) {
      return Error(Errc::job_peer_lost,
                   "launcher: the other nodes have begun without this one, which was not heard in ",
                   "time: look whether it was stopped or cut off, or give more time with --node_timeout");
    }
    auto state = !view          ? std::string(view.error().message())
                 : view->member ? attendance_of(view->state)
                                : concat("the run before is being ended on ", names_of(view->state, takes_part));
    if (state != said) watch.say(concat("Waiting peer start... ", state));
    said = std::move(state);
    if (watch.now() + pause >= deadline) {
      return Error(Errc::job_deadline, "launcher: not all nodes were there within ",
                   std::chrono::ceil<std::chrono::seconds>(patience).count(), " s, ", said,
                   ": start the others with the same --master, --nnodes and --job_id, or wait longer with --wait");
    }
    if (!watch.pause(pause)) return Error(Errc::job_state, "launcher: stopped while waiting for nodes, ", said);
  }
}

}  // namespace prdist
