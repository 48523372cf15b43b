#include <prdist/launch/supervisor.hpp>

#include <gtest/gtest.h>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;
using std::chrono::milliseconds;

namespace {

MemberReport started(JobRole role, std::size_t index, std::string const& script, std::string const& word = "") {
  auto const pid = spawn({"/bin/sh", {"-c", script, word}, {"PATH=/usr/bin:/bin"}, STDERR_FILENO, -1}).value();
  return {{role, index}, pid, {}, 0, false, ""};
}

/// Steps until the job is over, or gives up.
JobReport run(Supervisor& supervisor) {
  auto const deadline = std::chrono::steady_clock::now() + launch_test::patience;
  while (supervisor.step(milliseconds(20)) && std::chrono::steady_clock::now() < deadline) {
  }
  return supervisor.report();
}

constexpr EndingLimits quick{milliseconds(100), milliseconds(200), {}};

}  // namespace

TEST(Supervisor, ReportsHowEachMemberEnded) {
  auto const code = launch_test::in_child([] {
    auto const held = hold_signals();
    adopt_orphans();
    Supervisor supervisor({started(JobRole::server, 0, "exec sleep 1000"), started(JobRole::trainer, 0, "exit 7")},
                          quick, held);
    auto const report = run(supervisor);
    if (report.outcome != Outcome::failed || report.exit_code != 7 || report.first_failure != 1U) return 1;
    if (report.members[1].stopped || report.members[1].ending != Ending{7, 0, false}) return 2;
    return report.members[0].stopped && report.members[0].ending == Ending{0, SIGTERM, false} ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
}

// What it had started goes with it: it would train on beside the one that takes its place.
TEST(Supervisor, AFallenTrainerIsStartedAgainAndTheReportKeepsHowItFell) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const code = launch_test::in_child([&] {
    auto const held = hold_signals();
    adopt_orphans();
    EndingLimits limits = quick;
    limits.expendable_trainers = true;
    auto const script = "sleep 1000 & echo $! >\"$0\"; kill -KILL $$";
    Supervisor supervisor({started(JobRole::trainer, 0, script, (folder / "box").string())}, limits, held);
    auto const child = mailbox.pids(1);
    auto const first = supervisor.members()[0].pid;
    while (supervisor.fallen().empty()) {
      if (!supervisor.step(milliseconds(20))) return 1;
    }
    while (!living_children().empty()) (void)supervisor.step(milliseconds(20));
    if (child.empty() || !launch_test::gone_within(child[0])) return 2;
    auto const again = started(JobRole::trainer, 0, "exit 0");
    supervisor.started_again(0, again.pid);
    auto const report = run(supervisor);
    if (report.outcome != Outcome::succeeded || report.members[0].pid != again.pid) return 3;
    if (report.fallen.size() != 1 || report.fallen[0].pid != first) return 4;
    return report.fallen[0].ending == Ending{0, SIGKILL, false} ? 0 : 5;
  });
  EXPECT_EQ(code, 0);
}

TEST(Supervisor, WakesAStoppedMemberSoThatItHearsSigterm) {
  auto const code = launch_test::in_child([] {
    auto const held = hold_signals();
    adopt_orphans();
    auto const member = started(JobRole::trainer, 0, "kill -STOP $$; exec sleep 1000");
    int status = 0;
    if (::waitpid(member.pid, &status, WUNTRACED) != member.pid || !WIFSTOPPED(status)) return 1;
    EndingLimits limits;
    limits.grace = launch_test::patience;
    Supervisor supervisor({member}, limits, held);
    ::kill(::getpid(), SIGTERM);
    auto const report = run(supervisor);
    return report.members[0].ending == Ending{0, SIGTERM, false} ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

TEST(Supervisor, KillsWhatDoesNotHeedSigterm) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const code = launch_test::in_child([&] {
    auto const held = hold_signals();
    adopt_orphans();
    auto server = started(JobRole::server, 0, "trap '' TERM; echo ready >\"$0\"; while :; do sleep 1000; done",
                          (folder / "box").string());
    if (mailbox.next() != "ready") return 1;
    Supervisor supervisor({server, started(JobRole::trainer, 0, "exit 0")}, quick, held);
    auto const report = run(supervisor);
    if (report.outcome != Outcome::succeeded || report.exit_code != 0) return 2;
    return report.members[0].ending == Ending{0, SIGKILL, false} && living_children().empty() ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
}

// The shell ends at once with SIGTERM; what it started saves its state first and must be given the time.
TEST(Supervisor, GivesWhatAMemberStartedItsGrace) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const code = launch_test::in_child([&] {
    auto const held = hold_signals();
    adopt_orphans();
    auto trainer =
        started(JobRole::trainer, 0,
                R"((trap 'sleep 0.4; echo saved >"$0"; exit 0' TERM; echo ready >"$0"; while :; do sleep 0.1; done) &
                              wait)",
                (folder / "box").string());
    if (mailbox.next() != "ready") return 1;
    EndingLimits limits;
    limits.grace = launch_test::patience;
    Supervisor supervisor({trainer}, limits, held);
    ::kill(::getpid(), SIGTERM);
    auto const report = run(supervisor);
    if (report.exit_code != 143) return 2;
    return mailbox.next(milliseconds(0)) == "saved" ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
}

// It would save, and does not come to an end with it.
TEST(Supervisor, WhoHasNotSavedWithinTheGraceIsTooLate) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const code = launch_test::in_child([&] {
    auto const held = hold_signals();
    adopt_orphans();
    auto const saves = "trap 'while :; do sleep 0.02; done' TERM; echo ready >\"$0\"; while :; do sleep 0.02; done";
    auto trainer = started(JobRole::trainer, 0, saves, (folder / "box").string());
    if (mailbox.next() != "ready") return 1;
    Supervisor supervisor({started(JobRole::server, 0, "exec sleep 1000"), trainer}, quick, held);
    ::kill(::getpid(), SIGTERM);
    auto const report = run(supervisor);
    if (report.outcome != Outcome::interrupted || report.exit_code != 137) return 2;
    if (report.grace != quick.grace || report.signal != SIGTERM) return 3;
    if (report.members[0].too_late || report.members[0].ending != Ending{0, SIGTERM, false}) return 4;
    if (!report.members[1].too_late || report.members[1].ending != Ending{0, SIGKILL, false}) return 5;
    return supervisor.members()[1].too_late ? 0 : 6;
  });
  EXPECT_EQ(code, 0);
}

// The shell ends at once with SIGTERM.
TEST(Supervisor, WhatAMemberStartedMayBeTooLate) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const code = launch_test::in_child([&] {
    auto const held = hold_signals();
    adopt_orphans();
    auto trainer =
        started(JobRole::trainer, 0, R"((trap '' TERM; echo ready >"$0"; while :; do sleep 0.02; done) & wait)",
                (folder / "box").string());
    if (mailbox.next() != "ready") return 1;
    Supervisor supervisor({trainer}, quick, held);
    ::kill(::getpid(), SIGTERM);
    auto const report = run(supervisor);
    if (report.exit_code != 137 || !report.leftovers_too_late) return 2;
    return report.members[0].ending == Ending{0, SIGTERM, false} && !report.members[0].too_late ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
}

TEST(Supervisor, EndsOrphansOfASuccessfulJob) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const code = launch_test::in_child([&] {
    auto const held = hold_signals();
    adopt_orphans();
    Supervisor supervisor(
        {started(JobRole::trainer, 0, "setsid sleep 1000 & echo $! >\"$0\"; exit 0", (folder / "box").string())}, quick,
        held);
    auto const report = run(supervisor);
    auto const orphan = mailbox.pids(1);
    if (report.exit_code != 0 || orphan.size() != 1) return 1;
    return launch_test::gone_within(orphan.front(), milliseconds(0)) ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}
