// SPDX-License-Identifier: Apache-2.0
// A node's part in a job on several nodes while its members run: what happens elsewhere reaches their supervisor, what
// happens here reaches the others, and trainers of an elastic job that fall are started again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/launch/local.hpp>
#include <prdist/launch/rendezvous/job_state.hpp>
#include <prdist/launch/rendezvous/keeper.hpp>
#include <prdist/launch/rendezvous/master.hpp>
#include <prdist/launch/rendezvous/outlook.hpp>
#include <prdist/launch/report.hpp>
#include <prdist/launch/supervisor.hpp>
#include <prdist/launch/tries.hpp>

#include "job_flags.hpp"
#include "nodes.hpp"

namespace prrun {

/// What a part needs to know of its node.
struct NodeSetting {
  JobFlags const& job;
  NodesFlags const& flags;
  prdist::Master const& place;  ///< where the nodes meet
  bool keeps_store = false;     ///< that place is here
  std::function<void(std::string_view level, std::string_view text)> say;
};

class NodePart {
 public:
  /// `first` is a running job with this node in it; `session` is the part's alone until it is destroyed.
  NodePart(NodeSetting setting, std::string const& name, prdist::NodeSession& session, prdist::SessionView first);

  /// In an elastic job trainers may fall.
  [[nodiscard]] bool trainers_are_expendable() const noexcept { return elastic_; }

  /// Between two steps of the supervisor.
  void between(prdist::LocalRun const& run);

  /// After the last of them: tells what is left to tell. Whether the members start again, with those that are there.
  [[nodiscard]] bool forms_again(prdist::Result<prdist::JobReport> const& report);

  /// The goodbye of a node that does not. False when the store did not hear it.
  bool end();

  [[nodiscard]] prdist::SessionKeeper::News news() { return keeper_.news(); }

 private:
  void look_at_store(prdist::SessionKeeper::News const& news, prdist::Supervisor& supervisor);
  void look_at_others(prdist::JobState const& state);
  void tell_failure(prdist::JobReport const& report);
  void tell_trainers(prdist::Supervisor const& supervisor, prdist::SessionKeeper::News const& news,
                     prdist::Outlook const& outlook);
  void ask_for_fallen(prdist::LocalRun const& run);
  void decide(prdist::SessionView const& view, prdist::LocalRun const& run);
  void start_due(prdist::SessionView const& view, prdist::LocalRun const& run);
  void say_what_fell(prdist::JobReport const& report) const;
  [[nodiscard]] std::chrono::milliseconds patience();

  NodeSetting setting_;
  prdist::NodeInfo me_;
  std::uint64_t epoch_;  ///< in which the members here began
  bool elastic_;         ///< trainers come and go
  bool leaves_;          ///< its failure is not that of the job
  prdist::SessionKeeper keeper_;
  prdist::TrainerCount count_;
  std::vector<std::size_t> asked_;  ///< ranks of all that fell, in the order of the falls
  std::vector<std::string> falls_;  ///< a sentence on each
  std::size_t decided_ = 0;         ///< the first so many of them
  std::map<std::size_t, std::chrono::steady_clock::time_point> due_;  ///< ranks that start again, and when
  prdist::RestartPauses pauses_;
  std::string reason_;             ///< of the last change that was said
  std::vector<std::string> gone_;  ///< why other nodes have gone, for the report
  std::string shortage_;           ///< likewise
  bool told_left_ = false;
  bool told_failure_ = false;
  bool told_trained_ = false;
  bool told_done_ = false;
  bool in_trouble_ = false;
};

}  // namespace prrun
