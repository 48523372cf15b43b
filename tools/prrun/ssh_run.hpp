// SPDX-License-Identifier: Apache-2.0
// Runs a job whose members agents on other hosts start: one set of rules for all of them decides when it ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <prdist/launch/ledger.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/report.hpp>
#include <prdist/launch/rules.hpp>
#include <prdist/launch/ssh/messages_json.hpp>

#include "ssh_hosts.hpp"

namespace prrun {

struct SshRunJob {
  prdist::AgentJob common;  ///< what is the same for all
  prdist::EndingLimits limits;
  std::filesystem::path log_dir;
  std::string with_gloo = "1";
  prdist::JobLedger* ledger = nullptr;  ///< for the guards of this process
};

class SshRun {
 public:
  /// The hosts have been looked at, and the workspaces are there.
  SshRun(SshContext& context, std::vector<SshNode>& nodes, SshRunJob job);

  /// Starts an agent on every host, makes the plan of what they have bound, and sends it. The members start.
  /// @throws prdist::Error when not all agents are ready, Interrupted
  void start();

  /// Until everything has ended everywhere.
  [[nodiscard]] prdist::JobReport watch();

 private:
  using Clock = std::chrono::steady_clock;

  void note_members();
  void tell_all(std::string_view word);
  void hear(SshNode& node);
  void take(SshNode& node, boost::json::object const& message);
  void ended(prdist::MemberReport const& report);
  void lost(SshNode& node, int code, std::string const& why);
  void act(prdist::EndingRules::Action action);
  void show();
  [[nodiscard]] bool anything_left() const;
  [[nodiscard]] std::string ending_note() const;
  [[nodiscard]] std::string progress() const;
  [[nodiscard]] std::string board() const;
  [[nodiscard]] std::size_t rank_of(prdist::JobMember const& member) const;

  SshContext& context_;
  std::vector<SshNode>& nodes_;
  SshRunJob job_;
  prdist::LaunchPlan plan_;
  std::vector<prdist::NodeReady> ready_;
  prdist::JobReport report_;
  prdist::EndingRules rules_;
  std::vector<bool> known_;  ///< members whose end the rules have heard of, by rank
  std::vector<bool> over_;   ///< nodes whose agent has said its last word
  std::map<std::size_t, std::string> progress_;
  std::string last_progress_;
  Clock::time_point start_;
  Clock::time_point shown_{};
  Clock::time_point alive_{};
  bool told_of_ending_ = false;
  int kills_ = 0;
  std::size_t hidden_ = 0;  ///< lines of trainer 0 that the console had no room for
};

}  // namespace prrun
