// SPDX-License-Identifier: Apache-2.0
// Signals for a job whose supervising process does not answer, and what is said when the one people see is killed.
#include <prdist/launch/guard.hpp>

#include <gtest/gtest.h>

#include "support.hpp"

using namespace prdist;
using launch_test::Mailbox;
using launch_test::parent_of;
using launch_test::Prrun;
using launch_test::TempFolder;

namespace {

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// A job of a trainer that tells who supervises it and then waits.
std::vector<std::string> waiting_job(std::vector<std::string> flags = {}) {
  flags.insert(flags.end(), {"--", "sh", "-c", "[ $TRAINING_ROLE = TRAINER ] && echo $PPID >box; exec sleep 1000"});
  return flags;
}

}  // namespace

TEST(GuardSignals, AStoppedSupervisingProcessIsWokenByTheFirst) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, waiting_job());
  auto const worker = box.pids(1);
  ASSERT_EQ(worker.size(), 1U);
  auto const between = parent_of(worker.front());
  for (auto const pid : {worker.front(), between}) ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 143);
  EXPECT_TRUE(has(finished.error, "the job was stopped by SIGTERM")) << finished.error;
}

namespace {

/// Starts `work(ledger)` under guards, which give it `patience` after a second signal; returns the process people see.
template <class Work, class Tell>
pid_t start_guarded(TempFolder const& folder, std::chrono::milliseconds patience, Work const& work, Tell const& tell) {
  std::fflush(nullptr);
  auto const visible = ::fork();
  if (visible != 0) return visible;
  ::freopen((folder / "stderr").c_str(), "w", stderr);
  JobLedger ledger;
  ::_exit(run_guarded(
      ledger, [&] { return work(ledger); }, tell, patience));
}

}  // namespace

// As on a file system that does not answer any more.
TEST(GuardSignals, AWorkerThatHearsNothingIsKilledAfterTheSecond) {
  TempFolder folder;
  Mailbox box(folder / "box");
  auto const work = [&](JobLedger& ledger) {
    ledger.begin("job", "abcdef");
    auto const member = spawn({"/bin/sh",
                               {"-c", "setsid sleep 1000 & echo $! >\"$0\"; wait", (folder / "box").string()},
                               {"PATH=/usr/bin:/bin"},
                               STDERR_FILENO,
                               -1});
    ledger.joined({{JobRole::trainer, 0}, member.value(), {}, 0, false, "log"});
    for (;;) ::poll(nullptr, 0, -1);
    return 0;
  };
  auto const visible = start_guarded(folder, std::chrono::milliseconds(300), work, [&](JobReport const& report) {
    launch_test::write_file(folder / "report", concat(report.exit_code, ' ', cause_of(report)));
  });
  auto const grandchild = box.pids(1);
  ASSERT_EQ(grandchild.size(), 1U);
  ::kill(visible, SIGTERM);
  EXPECT_FALSE(launch_test::gone_within(grandchild.front(), std::chrono::milliseconds(1000))) << "after the first";
  ::kill(visible, SIGINT);
  EXPECT_EQ(launch_test::reap(visible), (Ending{137, 0, false}));
  EXPECT_TRUE(launch_test::gone_within(grandchild.front(), std::chrono::milliseconds(0)));
  EXPECT_TRUE(launch_test::read_file(folder / "report").starts_with("137 the launcher was killed by SIGKILL after "));
  EXPECT_EQ(launch_test::read_file(folder / "stderr"),
            "prdist[job.deadline] launcher: its supervising process has not ended within 0.3 s after a second signal: "
            "it was killed, and the job is ended with it\n");
}

// The worker says what it hears and ends for none of it, as one whose members take long to save.
TEST(GuardSignals, TheSameSignalAgainAtOnceIsNoSecondOne) {
  TempFolder folder;
  Mailbox box(folder / "box");
  auto const work = [&](JobLedger&) {
    SignalSource signals(hold_signals());
    launch_test::write_file(folder / "box", concat(::getpid(), '\n'));
    for (;;) {
      for (int const signal : signals.wait(launch_test::patience)) {
        if (signal != SIGCHLD) launch_test::write_file(folder / "box", concat(signal_name(signal), '\n'));
      }
    }
    return 0;
  };
  auto const visible = start_guarded(folder, std::chrono::milliseconds(100), work, [](JobReport const&) {});
  auto const worker = box.pids(1);
  ASSERT_EQ(worker.size(), 1U);
  for (int i = 0; i < 2; ++i) {
    ::kill(visible, SIGTERM);
    EXPECT_EQ(box.next(), "SIGTERM");  // heard before the next is sent, or they would be one
  }
  EXPECT_FALSE(launch_test::gone_within(worker.front(), std::chrono::milliseconds(500)));
  ::kill(visible, SIGINT);
  EXPECT_TRUE(launch_test::gone_within(worker.front()));
  EXPECT_EQ(launch_test::reap(visible), (Ending{137, 0, false}));
}

TEST(GuardSignals, AKilledPrrunIs137InEveryReport) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, waiting_job({"--json", "report.json"}));
  auto const worker = box.pids(1);
  ASSERT_EQ(worker.size(), 1U);
  prrun.signal(SIGKILL);
  EXPECT_EQ(prrun.finish().code(), 137);
  ASSERT_TRUE(launch_test::gone_within(worker.front()));
  auto const said = launch_test::read_file(folder / "stderr");
  EXPECT_TRUE(has(said, "the job was stopped because prrun itself was killed after ")) << said;
  EXPECT_TRUE(has(said, " Exit code 137\n")) << said;
  auto const report = launch_test::read_file(folder / "report.json");
  EXPECT_TRUE(has(report, R"("exit_code":137,)")) << report;
  EXPECT_FALSE(has(report, R"("exit_code":143)")) << report;
}

// As with a full disk.
TEST(GuardSignals, AMemberThatCouldNotSaveIsNamedBesideTheSignal) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, {"--", "sh", "-c",
                       "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000\n"
                       "trap 'exit 78' TERM; echo up >box; while :; do sleep 0.01; done"});
  ASSERT_EQ(box.next(), "up");
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "the job was stopped by SIGTERM after ")) << finished.error;
  EXPECT_TRUE(has(finished.error, " s, and trainer 0 could not save: exit code 78, see log/workerlog.0\n"))
      << finished.error;
}
