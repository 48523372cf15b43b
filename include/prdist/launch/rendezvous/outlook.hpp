// SPDX-License-Identifier: Apache-2.0
// What the state of the other nodes means for this one while its members run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <prdist/core/text.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/rendezvous/session.hpp>
#include <prdist/launch/rendezvous/trainer_count.hpp>

namespace prdist {

/// The end of who finds the state of its job gone.
inline constexpr std::string_view lost_state =
    "the store has lost the state of the job, as one that is started again with empty data does: give it a data folder "
    "that lasts, and start the job again";

struct Outlook {
  bool trainers_elsewhere = false;  ///< servers here are still needed
  bool nodes_elsewhere = false;     ///< the end of the job is not known yet
  std::optional<JobFailure> failure;
  std::optional<std::string> reforms;  ///< why all members are to start again
};

/// `keeps_store` is whether this node runs the store: it stays until no other one needs it.
/// `epoch` is the one in which its members began.
[[nodiscard]] inline Outlook outlook_of(SessionView const& view, std::string_view me, bool keeps_store,
                                        std::uint64_t epoch) {
  Outlook outlook;
  if (view.forgotten) {
    outlook.nodes_elsewhere = true;
    outlook.failure = JobFailure{"", 75, std::string(lost_state), false};
    return outlook;
  }
  for (auto const& node : view.state.nodes) {
    if (node.name == me) continue;
    bool const busy = node.phase == NodePhase::joined;
    outlook.trainers_elsewhere = outlook.trainers_elsewhere || standing_trainers(node) > 0;
    outlook.nodes_elsewhere = outlook.nodes_elsewhere || busy || (keeps_store && takes_part(node));
  }
  // Others may come in the place of those that are missing.
  if (shortage_of(view.state)) outlook.trainers_elsewhere = true;
  if (view.state.failure && view.state.failure->node != me) outlook.failure = view.state.failure;
  if (view.member && !view.fenced && view.state.terms.reforms && view.state.epoch != epoch) {
    outlook.reforms = view.state.reason;
  }
  if (view.fenced && !outlook.failure) {
    outlook.failure = JobFailure{std::string(me), 75,
                                 "the other nodes have given this one up, it was not heard in time: look whether it "
                                 "was stopped or cut off, or give more time with --node_timeout",
                                 false};
  }
  return outlook;
}

}  // namespace prdist
