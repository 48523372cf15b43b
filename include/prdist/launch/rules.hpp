// SPDX-License-Identifier: Apache-2.0
// When a job ends and with which code, apart from how: the caller tells what happened and when, asks what to do, and
// does it. Time comes in as an argument, so every rule is tested without a process and without waiting.
//
//   every trainer exits 0          servers may end by themselves for server_grace, then they are ended: success
//   any member fails               the others are ended; the code is the first failure's, 128+n for signal n
//   a member has lost its peer     (code 75) whoever caused that has a moment to end with its own code, which counts
//   a member has stopped in order  (code 143) the others, with whom it met for that, have a moment to end by
//   themselves;
//                                  the code is 143, or that of one of them which could not save (70, 78)
//   a member fails on another node all are ended; the code is that failure's
//   a trainer of an elastic job    falls alone, unless its code says that no other one could do better: it is started
//                                  again or given up, and until that is decided it counts as one that runs
//   other nodes are not done       this one stays to hear how the job ends, even with no member left
//   Ctrl-C, SIGTERM, SIGHUP        all are ended; the code is 128+n, or that of a member which could not save (70, 78)
//   a job that was asked to stop   was to save: when something of it is still there after grace, the code is 137; not
//                                  when a second signal wants it gone at once
//   the time limit passes          all are ended; the code is 124
//   "are ended"                    SIGTERM, and SIGKILL after grace or at the next signal
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/launch/ending.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/signal_echo.hpp>

namespace prdist {

enum class Outcome : std::uint8_t { succeeded, failed, interrupted, timed_out };

[[nodiscard]] constexpr std::string_view name_of(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::succeeded: return "succeeded";
    case Outcome::failed: return "failed";
    case Outcome::interrupted: return "interrupted";
    case Outcome::timed_out: return "timed_out";
  }
  return "failed";
}

struct EndingLimits {
  std::chrono::milliseconds server_grace{10'000};
  std::chrono::milliseconds grace{30'000};
  std::optional<std::chrono::milliseconds> timeout;  ///< of the whole job
  bool expendable_trainers = false;                  ///< in an elastic job a trainer that falls takes nobody with it
};

/// A member by rank, and how it ended.
struct MemberEnding {
  std::size_t rank = 0;
  Ending ending;
  bool too_late = false;  ///< killed when its grace was over, as says who watches it elsewhere
};

class EndingRules {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Action : std::uint8_t {
    wait,
    terminate,  ///< SIGTERM to all that is left; said once
    kill,       ///< SIGKILL to all that is left; said until it is gone
    finish,     ///< nothing is left
    abandon,    ///< something survives SIGKILL, a process stuck in the kernel; waiting longer helps nobody
  };
  /// By the launch contract the code of a member that lost a peer: somebody else's failure is the cause.
  static constexpr int code_of_a_victim = 75;
  /// Likewise that of one that was asked to stop and has saved: that takes all of them, so the others are ending too.
  static constexpr int code_after_stop = 143;
  /// How long the cause may take to show itself: a process that fails closes its connections before it has ended.
  static constexpr std::chrono::milliseconds cause_patience{2'000};
  static constexpr std::chrono::milliseconds kill_patience{5'000};

  EndingRules(std::vector<JobMember> members, EndingLimits limits, TimePoint start)
      : members_(std::move(members)),
        ended_(members_.size(), false),
        too_late_(members_.size(), false),
        fallen_(members_.size()),
        limits_(limits),
        start_(start) {}

  /// Members found ended at one look. Those that name a lost peer count only when nobody else has failed.
  void ended(std::span<MemberEnding const> endings) {
    for (auto const& each : endings) {
      bool const going_on = !ending_ && outcome_ == Outcome::succeeded;
      if (going_on && !each.ending.ok() && is_expendable(each)) {
        fallen_.at(each.rank) = each;
        continue;
      }
      ended_.at(each.rank) = true;
      if (asked_to_stop() && (each.too_late || (late_ && was_killed(each.ending)))) too_late(each.rank);
      finished_ = finished_ || (each.ending.ok() && members_.at(each.rank).role == JobRole::trainer);
      // Asked to stop, it says that it could not do so in order: what it was to save is not saved.
      bool const could_not = each.ending == Ending{78, 0, false} || each.ending == Ending{70, 0, false};
      if (could_not && outcome_ == Outcome::interrupted && exit_code_ > 128) exit_code_ = each.ending.code;
      if (could_not && in_order_) fail(each);
      if (each.ending.ok() || !going_on || outcome_ != Outcome::succeeded) continue;
      if (each.ending != Ending{code_of_a_victim, 0, false}) {
        fail(each);
      } else if (!victim_) {
        victim_ = each;
      }
    }
  }

  /// Whether this member has fallen and nobody has said yet what becomes of it.
  [[nodiscard]] bool is_fallen(std::size_t rank) const { return fallen_.at(rank).has_value(); }

  /// A fallen member runs again.
  void started_again(std::size_t rank) { fallen_.at(rank).reset(); }

  /// A trainer of another node has ended well: the data has come to its end, whoever falls now.
  void finished_elsewhere() noexcept { finished_ = true; }

  /// A fallen member stays away. When it was the last here and no trainer has finished, its failure is this node's.
  void given_up(std::size_t rank) {
    auto const fall = std::exchange(fallen_.at(rank), std::nullopt);
    ended_.at(rank) = true;
    bool const last = all_ended([](auto const&) { return true; });
    if (fall && last && !finished_ && !ending_ && outcome_ == Outcome::succeeded) fail(*fall);
  }

  /// An ending signal to the launcher. The second one, or one while the job is being ended, means at once; the same one
  /// again is no second one before half a second has passed (signal_echo.hpp).
  void interrupted(int signal, TimePoint now) {
    if (echo_.heard(signal, now)) return;
    if (ending_ || outcome_ != Outcome::succeeded) {
      hurry_ = true;
      return;
    }
    outcome_ = Outcome::interrupted;
    signal_ = signal;
    exit_code_ = 128 + signal;
  }

  /// A member on another node was the first to fail, with this code, or that node was `asked` to stop the job. Later
  /// than a failure here it changes nothing.
  void failed_elsewhere(int code, bool asked = false) {
    if (ending_ || outcome_ != Outcome::succeeded) return;
    outcome_ = Outcome::failed;
    exit_code_ = code;
    asked_elsewhere_ = asked;
  }

  /// Elsewhere, what members had started was killed when its grace was over.
  void leftovers_elsewhere_too_late() {
    if (asked_to_stop()) leftovers_too_late_ = not_saved();
  }

  /// Whether trainers of the job still train on other nodes: until they have finished, servers here are not done.
  void trainers_elsewhere(bool busy) noexcept { elsewhere_ = busy; }

  /// Whether the job goes on elsewhere: until it does not, its end here is not known, nor is the code.
  void nodes_elsewhere(bool busy) noexcept { staying_ = busy; }

  /// What is to be done now. `anything_left` says whether processes live that are no members: what members started.
  [[nodiscard]] Action next(TimePoint now, bool anything_left) {
    // Where all are being ended nobody decides any more.
    for (std::size_t rank = 0; ending_ && rank < fallen_.size(); ++rank) {
      if (fallen_[rank]) given_up(rank);
    }
    bool const all = all_ended([](auto const&) { return true; });
    bool const over = all && !anything_left;
    if (victim_ && !ending_ && outcome_ == Outcome::succeeded) {
      if (!victim_since_) victim_since_ = now;
      if (all || now >= *victim_since_ + cause_patience) fail(*victim_);
    }
    if (!ending_) {
      if (outcome_ == Outcome::succeeded && over && !staying_) return Action::finish;
      if (!must_end(now)) return Action::wait;
      ending_ = true;
      deadline_ = now + limits_.grace;
      return Action::terminate;
    }
    if (over) return Action::finish;
    if (!killing_) {
      if (now < deadline_ && !hurry_) return Action::wait;
      killing_ = true;
      deadline_ = now + kill_patience;
      late_ = !hurry_ && asked_to_stop();
      if (late_ && anything_left) leftovers_too_late_ = not_saved();
    }
    if (now < deadline_) return Action::kill;
    for (std::size_t rank = 0; late_ && rank < ended_.size(); ++rank) {
      if (!ended_[rank]) too_late(rank);
    }
    return Action::abandon;
  }

  [[nodiscard]] EndingLimits const& limits() const noexcept { return limits_; }
  [[nodiscard]] bool has_trainers_elsewhere() const noexcept { return elsewhere_; }
  /// Whether the job is being ended by the launcher: what ends from here on ends because of that.
  [[nodiscard]] bool ending() const noexcept { return ending_; }
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }
  /// That interrupted the job, or 0. The code does not tell it where a member could not save.
  [[nodiscard]] int signal() const noexcept { return signal_; }
  [[nodiscard]] std::optional<std::size_t> first_failure() const noexcept { return first_failure_; }
  /// Whether the first to end was asked to stop, and nobody has said that it could not save.
  [[nodiscard]] bool stopped_in_order() const noexcept { return in_order_; }
  /// Whether the job was to stop and save, and not because something failed.
  [[nodiscard]] bool asked_to_stop() const noexcept {
    return outcome_ == Outcome::interrupted || in_order_ || asked_elsewhere_;
  }
  /// Whether this member of a job that was asked to stop had to be killed, because its grace was over.
  [[nodiscard]] bool is_too_late(std::size_t rank) const { return too_late_.at(rank); }
  /// Likewise for processes that members had started.
  [[nodiscard]] bool leftovers_too_late() const noexcept { return leftovers_too_late_; }

 private:
  /// 64 and 78 are what another trainer would come to as well.
  [[nodiscard]] bool is_expendable(MemberEnding const& each) const {
    bool const configured_wrong = each.ending.signal == 0 && (each.ending.code == 64 || each.ending.code == 78);
    return limits_.expendable_trainers && members_.at(each.rank).role == JobRole::trainer && !configured_wrong;
  }

  void fail(MemberEnding const& first) {
    outcome_ = Outcome::failed;
    exit_code_ = prdist::exit_code(first.ending);
    first_failure_ = first.rank;
    in_order_ = first.ending == Ending{code_after_stop, 0, false};
  }

  void too_late(std::size_t rank) { too_late_[rank] = not_saved(); }

  /// What the job was to save when asked to stop is lost. Who says why (70, 78) knows more than SIGKILL tells.
  bool not_saved() {
    if (exit_code_ > 128) exit_code_ = 128 + SIGKILL;
    return true;
  }

  template <class Which>
  [[nodiscard]] bool all_ended(Which&& which) const {
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (which(members_[rank]) && !ended_[rank]) return false;
    }
    return true;
  }

  [[nodiscard]] bool must_end(TimePoint now) {
    bool const all = all_ended([](auto const&) { return true; });
    if (outcome_ != Outcome::succeeded) {
      if (!in_order_ || all || hurry_) return true;
      if (!in_order_since_) in_order_since_ = now;
      return now >= *in_order_since_ + cause_patience;
    }
    if (limits_.timeout && now >= start_ + *limits_.timeout) {
      outcome_ = Outcome::timed_out;
      exit_code_ = 124;
      return true;
    }
    if (all && staying_) return false;
    if (elsewhere_ && !all) {
      trainers_done_.reset();
      return false;
    }
    if (!all_ended([](auto const& member) { return member.role == JobRole::trainer; })) return false;
    if (!trainers_done_) trainers_done_ = now;
    // Only orphans are left when all members are gone: they have no work of their own to finish.
    return now >= *trainers_done_ + limits_.server_grace || all;
  }

  std::vector<JobMember> members_;
  std::vector<bool> ended_;
  std::vector<bool> too_late_;
  std::vector<std::optional<MemberEnding>> fallen_;  // those of which it is not decided
  EndingLimits limits_;
  TimePoint start_;
  TimePoint deadline_{};
  std::optional<TimePoint> trainers_done_;
  std::optional<MemberEnding> victim_;  // the first that lost a peer, until a cause is known
  std::optional<TimePoint> victim_since_;
  std::optional<TimePoint> in_order_since_;
  std::optional<std::size_t> first_failure_;
  Outcome outcome_ = Outcome::succeeded;
  int exit_code_ = 0;
  int signal_ = 0;
  SignalEcho echo_;
  bool in_order_ = false;  // the first failure is a member that was asked to stop
  bool finished_ = false;  // a trainer has ended well
  bool elsewhere_ = false;
  bool staying_ = false;
  bool ending_ = false;
  bool killing_ = false;
  bool hurry_ = false;
  bool asked_elsewhere_ = false;
  bool late_ = false;  // the grace of a job that was asked to stop is over
  bool leftovers_too_late_ = false;
};

}  // namespace prdist
