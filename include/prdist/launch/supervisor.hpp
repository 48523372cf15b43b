// SPDX-License-Identifier: Apache-2.0
// Watches started members on this machine and ends them by the rules: one thread, no handlers. It knows nothing of
// how they were started, so an ssh client that stands for a remote member is watched like any other process.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/memory_limit.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/ledger.hpp>
#include <prdist/launch/report.hpp>
#include <prdist/launch/rules.hpp>
#include <prdist/launch/signals.hpp>

namespace prdist {

/// Every child of the process is the job's: it reaps them all, and at the end none is left. The caller has called
/// hold_signals() and adopt_orphans() before it started anything.
class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;

  /// `members` by rank, with pid and log filled in, each leading a process group. A ledger has them already and is told
  /// how they end.
  Supervisor(std::vector<MemberReport> members, EndingLimits limits, sigset_t const& held, JobLedger* ledger = nullptr)
      : start_(Clock::now()),
        members_(std::move(members)),
        began_(members_.size(), 0.0),
        signals_(held),
        rules_(names(members_), limits, start_),
        ledger_(ledger) {}

  /// Waits for news for at most `patience` and acts on them. False when the job is over.
  [[nodiscard]] bool step(std::chrono::milliseconds patience) {
    for (int const signal : signals_.wait(patience)) {
      if (signal != SIGCHLD) rules_.interrupted(signal, Clock::now());
    }
    reap();
    if (auto const now = Clock::now(); now - looked_at_memory_ > std::chrono::seconds(1)) {
      looked_at_memory_ = now;
      memory_kills_ = out_of_memory_kills();
    }
    // Looking for orphans costs a walk through /proc; they matter only at the end.
    bool const looking = rules_.ending() || std::ranges::none_of(members_, lives);
    auto const orphans = looking ? find_orphans() : std::vector<pid_t>();
    switch (rules_.next(Clock::now(), !orphans.empty())) {
      case EndingRules::Action::wait:
        if (rules_.ending()) terminate(orphans);
        return true;
      case EndingRules::Action::terminate: terminate(orphans); return true;
      case EndingRules::Action::kill: kill(orphans); return true;
      case EndingRules::Action::finish:
      case EndingRules::Action::abandon: break;
    }
    return false;
  }

  /// As EndingRules::trainers_elsewhere().
  void trainers_elsewhere(bool busy) noexcept { rules_.trainers_elsewhere(busy); }

  /// As EndingRules::nodes_elsewhere().
  void nodes_elsewhere(bool busy) noexcept { rules_.nodes_elsewhere(busy); }

  /// As EndingRules::failed_elsewhere(); `what` is the sentence that the report gives as the cause.
  void failed_elsewhere(int code, std::string what, bool asked = false) {
    if (!rules_.ending() && rules_.outcome() == Outcome::succeeded) elsewhere_ = std::move(what);
    rules_.failed_elsewhere(code, asked);
  }

  /// Ranks of trainers that have fallen, until started_again() or give_up() is called for each.
  [[nodiscard]] std::vector<std::size_t> fallen() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (rules_.is_fallen(rank)) ranks.push_back(rank);
    }
    return ranks;
  }

  /// A fallen member runs again as this process; the report keeps how it fell.
  void started_again(std::size_t rank, pid_t pid) {
    auto& member = members_.at(rank);
    fallen_.push_back(member);
    member.pid = pid;
    member.ending.reset();
    member.seconds = 0;
    began_.at(rank) = elapsed().count();
    rules_.started_again(rank);
    if (ledger_ != nullptr) ledger_->started_again(rank, pid);
  }

  void finished_elsewhere() { rules_.finished_elsewhere(); }

  /// As EndingRules::given_up().
  void give_up(std::size_t rank) {
    fallen_.push_back(members_.at(rank));
    rules_.given_up(rank);
  }

  [[nodiscard]] EndingRules const& rules() const noexcept { return rules_; }
  [[nodiscard]] std::vector<MemberReport> const& members() const noexcept { return members_; }
  [[nodiscard]] std::chrono::duration<double> elapsed() const { return Clock::now() - start_; }

  /// The state of the job; final once step() has returned false.
  [[nodiscard]] JobReport report() const {
    JobReport report;
    report.outcome = rules_.outcome();
    report.exit_code = rules_.exit_code();
    report.signal = rules_.signal();
    report.seconds = elapsed().count();
    report.members = members_;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) report.members[rank].too_late = rules_.is_too_late(rank);
    report.leftovers_too_late = rules_.leftovers_too_late();
    report.grace = rules_.limits().grace;
    report.first_failure = rules_.first_failure();
    report.stopped_in_order = rules_.stopped_in_order();
    report.failed_elsewhere = elsewhere_;
    report.fallen = fallen_;
    return report;
  }

 private:
  static bool lives(MemberReport const& each) { return !each.ending; }

  static std::vector<JobMember> names(std::vector<MemberReport> const& members) {
    std::vector<JobMember> names;
    for (auto const& each : members) names.push_back(each.member);
    return names;
  }

  void reap() {
    std::vector<MemberEnding> endings;
    siginfo_t info{};
    // Looked at first and reaped then: were we killed between the two, the guards would find it in the ledger.
    while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
      auto const found = std::ranges::find(members_, info.si_pid, &MemberReport::pid);
      if (found != members_.end() && !found->ending) {  // else an adopted orphan
        auto const rank = static_cast<std::size_t>(found - members_.begin());
        found->ending = ending_of(info);
        // Kills for memory are counted; one just now was this one.
        bool const killed = was_killed(*found->ending) && !rules_.ending();
        found->ending->out_of_memory = killed && out_of_memory_kills() > memory_kills_;
        found->seconds = elapsed().count() - began_[rank];
        found->stopped = rules_.ending();
        endings.push_back({rank, *found->ending});
        if (ledger_ != nullptr) ledger_->ended(rank, *found);
      }
      ::waitpid(info.si_pid, nullptr, 0);
      info = {};
    }
    rules_.ended(endings);
    for (auto const& each : endings) {
      members_[each.rank].too_late = rules_.is_too_late(each.rank);
      if (rules_.is_fallen(each.rank)) kill_group(members_[each.rank].pid);
    }
    if (ledger_ == nullptr || told_failure_ || !rules_.first_failure()) return;
    ledger_->failed_first(*rules_.first_failure());
    told_failure_ = true;
  }

  /// What a fallen member had started would train on beside the one that takes its place. All are children of this
  /// process by now, so none of the numbers is another process's.
  void kill_group(pid_t group) const {
    for (auto const pid : find_orphans()) {
      if (::getpgid(pid) == group) ::kill(pid, SIGKILL);
    }
  }

  [[nodiscard]] std::vector<pid_t> find_orphans() const {
    auto orphans = living_children();
    std::erase_if(orphans, [&](pid_t pid) {
      return std::ranges::any_of(members_, [&](auto const& each) { return each.pid == pid && lives(each); });
    });
    return orphans;
  }

  /// SIGTERM once to every member's group and to every orphan outside them, with SIGCONT so that a stopped one hears
  /// it. Groups are told whole: a shell in front of the program would keep the signal to itself.
  void terminate(std::vector<pid_t> const& orphans) {
    for (auto const& each : members_) {
      if (lives(each) && told_.insert(each.pid).second) {
        ::kill(-each.pid, SIGTERM);
        ::kill(-each.pid, SIGCONT);
      }
    }
    for (auto const pid : orphans) {
      if (told_.contains(::getpgid(pid)) || !told_.insert(pid).second) continue;
      ::kill(pid, SIGTERM);
      ::kill(pid, SIGCONT);
    }
  }

  void kill(std::vector<pid_t> const& orphans) const {
    for (auto const& each : members_) {
      if (lives(each)) ::kill(-each.pid, SIGKILL);
    }
    for (auto const pid : orphans) ::kill(pid, SIGKILL);
  }

  Clock::time_point start_;
  std::vector<MemberReport> members_;
  std::vector<double> began_;         ///< seconds after the start
  std::vector<MemberReport> fallen_;  ///< in the order in which it was decided what becomes of them
  SignalSource signals_;
  EndingRules rules_;
  JobLedger* ledger_;
  bool told_failure_ = false;  ///< to the ledger
  std::string elsewhere_;
  std::uint64_t memory_kills_ = out_of_memory_kills();  ///< a moment ago
  Clock::time_point looked_at_memory_ = Clock::now();
  std::set<pid_t> told_;  ///< groups and processes that have had their SIGTERM
};

}  // namespace prdist
