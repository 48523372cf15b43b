// How a job on this machine ends, and what of it is left then: nothing.
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdlib>

#include <prdist/launch/local.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::has;
using launch_test::Mailbox;
using launch_test::parent_of;
using launch_test::Prrun;
using launch_test::run_prrun;
using launch_test::shell;
using launch_test::TempFolder;
using std::chrono::milliseconds;
using testing::TestWithParam;

namespace {

bool all_gone(std::vector<pid_t> const& pids, milliseconds time = launch_test::patience) {
  for (auto const pid : pids) {
    if (!launch_test::gone_within(pid, time)) return false;
  }
  return true;
}

/// Every member says the pids of a grandchild in a session of its own, of one beside it and of itself, and waits.
std::string const three_pids_each =
    R"(setsid sleep 1000 & echo $! >box; sleep 1000 & echo $! >box; echo $$ >box; wait)";

}  // namespace

TEST(LocalJob, ServersThatNeverEndAreEndedAfterSuccess) {
  auto const finished = run_prrun(
      shell({"--server_num", "2", "--server_grace", "0.1"}, "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000"));
  EXPECT_EQ(finished.code(), 0);
  EXPECT_TRUE(has(finished.error, "SIGTERM, stopped")) << finished.error;
  EXPECT_TRUE(has(finished.error, " Pod completed\n"));
  EXPECT_TRUE(has(finished.error, " Exit code 0\n"));
  EXPECT_LT(finished.seconds, 8);
}

TEST(LocalJob, ServersHaveTheirGraceToEndByThemselves) {
  auto const finished = run_prrun(shell({}, "[ $TRAINING_ROLE = TRAINER ] || sleep 0.3"));
  EXPECT_EQ(finished.code(), 0);
  EXPECT_FALSE(has(finished.error, "stopped")) << finished.error;
}

TEST(LocalJob, ExitsWithTheFirstFailuresCodeAndShowsItsLog) {
  auto const finished = run_prrun(shell({"--server_num", "2", "--trainer_num", "2"},
                                        R"(trap 'exit 5' TERM
    if [ "$PADDLE_TRAINER_ID" = 1 ]; then for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; exit 7; fi
    while :; do sleep 0.02; done)"));
  EXPECT_EQ(finished.code(), 7);
  EXPECT_TRUE(has(finished.error, "trainer 1 ended with exit code 7 after ")) << finished.error;
  EXPECT_TRUE(has(finished.error, "s: see log/workerlog.1\n")) << finished.error;
  EXPECT_TRUE(has(finished.error, "  | line 12\n"));
  EXPECT_TRUE(has(finished.error, "  | line 3\n"));
  EXPECT_FALSE(has(finished.error, "  | line 2\n"));
  EXPECT_TRUE(has(finished.error, "exit 5, stopped"));
  EXPECT_TRUE(has(finished.error, " Pod failed\n"));
  EXPECT_TRUE(has(finished.error, " Exit code 7\n"));
}

TEST(LocalJob, AFailedServerEndsTheJobToo) {
  auto const finished = run_prrun(shell({}, "[ $TRAINING_ROLE = TRAINER ] && exec sleep 1000; exit 3"));
  EXPECT_EQ(finished.code(), 3);
  EXPECT_TRUE(has(finished.error, "server 0 ended with exit code 3 after "));
}

TEST(LocalJob, AKilledTrainerEndsTheJobQuickly) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--server_num", "2", "--trainer_num", "2"},
                            R"(if [ "$PADDLE_TRAINER_ID" = 1 ]; then echo $$ >box; fi; exec sleep 1000)"));
  auto const victim = box.pids(1);
  ASSERT_EQ(victim.size(), 1U);
  auto const before = std::chrono::steady_clock::now();
  ::kill(victim.front(), SIGKILL);
  auto const finished = prrun.finish();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(3));
  EXPECT_EQ(finished.code(), 137);
  EXPECT_TRUE(has(finished.error, "trainer 1 was killed by SIGKILL after ")) << finished.error;
}

TEST(LocalJob, AKilledServerEndsTheJobQuickly) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder,
              shell({"--server_num", "2", "--trainer_num", "2"},
                    R"(echo $$ >all.$$; if [ "$PADDLE_PSERVER_ID" = 1 ]; then echo $$ >box; fi; exec sleep 1000)"));
  auto const victim = box.pids(1);
  ASSERT_EQ(victim.size(), 1U);
  ::kill(victim.front(), SIGKILL);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 137);
  EXPECT_TRUE(has(finished.error, "server 1 was killed by SIGKILL after ")) << finished.error;
  for (auto const& entry : std::filesystem::directory_iterator(folder.path())) {
    auto const name = entry.path().filename().string();
    pid_t pid = 0;
    if (name.starts_with("all.") && parse_number(name.substr(4), pid)) {
      EXPECT_TRUE(all_gone({pid}, milliseconds(0)));
    }
  }
}

TEST(LocalJob, NamesTheSignalThatKilledAMember) {
  auto const finished =
      run_prrun(shell({}, "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000; ulimit -c 0; kill -SEGV $$"));
  EXPECT_EQ(finished.code(), 139);
  EXPECT_TRUE(has(finished.error, "trainer 0 was killed by SIGSEGV after ")) << finished.error;
}

class LocalJobSignal : public TestWithParam<int> {};

TEST_P(LocalJobSignal, EndsEveryProcessEvenInSessionsOfTheirOwn) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--server_num", "2", "--trainer_num", "2"}, three_pids_each));
  auto const pids = box.pids(12);
  ASSERT_EQ(pids.size(), 12U);
  prrun.signal(GetParam());
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 128 + GetParam());
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
  EXPECT_TRUE(has(finished.error, "the job was stopped by " + signal_name(GetParam()))) << finished.error;
}

INSTANTIATE_TEST_SUITE_P(Signals, LocalJobSignal, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT),
                         [](auto const& each) { return signal_name(each.param); });

// Ctrl-C reaches every process of the foreground group; were it heard twice, nobody could save.
TEST(LocalJob, CtrlCOfATerminalCountsOnce) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({}, "trap 'sleep 0.2; exit 9' TERM; echo $PPID >box; while :; do sleep 0.02; done"));
  auto const supervising = box.pids(2);
  ASSERT_EQ(supervising.size(), 2U);
  // Two signals close together look like one, so that the group is asked as well.
  EXPECT_NE(::getpgid(supervising.front()), prrun.pid());
  ASSERT_EQ(::kill(-prrun.pid(), SIGINT), 0);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 130);
  EXPECT_TRUE(has(finished.error, "exit 9, stopped")) << finished.error;
  EXPECT_FALSE(has(finished.error, "SIGKILL,")) << finished.error;
}

TEST(LocalJob, ASecondInterruptKillsAtOnce) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder,
              shell({"--grace", "1000"}, R"(trap 'echo heard >box' TERM; echo $$ >box; while :; do sleep 0.02; done)"));
  auto const pids = box.pids(2);
  prrun.signal(SIGINT);
  EXPECT_EQ(box.next(), "heard");  // SIGTERM has come, and has not ended it
  prrun.signal(SIGTERM);           // another one, which counts at once
  EXPECT_EQ(prrun.finish().code(), 130);
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
}

// As pkill does, which finds the one people see and the one that supervises; the first passes it on to the second.
TEST(LocalJob, OneSignalToTwoOfItsProcessesLeavesMembersTheTimeToSave) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({}, "trap 'sleep 0.2; exit 9' TERM; echo $PPID >box; while :; do sleep 0.02; done"));
  auto const supervising = box.pids(2);
  ASSERT_EQ(supervising.size(), 2U);
  ASSERT_EQ(::kill(supervising.front(), SIGTERM), 0);
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 143);
  EXPECT_TRUE(has(finished.error, "exit 9, stopped")) << finished.error;
  EXPECT_FALSE(has(finished.error, "SIGKILL,")) << finished.error;
}

// SIGTERM after which it was killed is none after which it saved.
TEST(LocalJob, WhatDoesNotHeedSigtermIsKilledAfterTheGrace) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--grace", "0.2"}, R"(trap '' TERM; echo $$ >box; while :; do sleep 0.02; done)"));
  auto const pids = box.pids(2);
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 137);
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
  for (auto const* const part :
       {"SIGKILL, stopped", " Pod failed\n", "which has up to 0.2 s (--grace) for a last checkpoint",
        " s, and server 0 and trainer 0 were killed after 0.2 s of --grace: what they were saving is lost, raise "
        "--grace\n"}) {
    EXPECT_TRUE(has(finished.error, part)) << part << " is not in\n" << finished.error;
  }
}

// A shell in front of the program ends at once; what it runs is killed while it saves.
TEST(LocalJob, AWrappedProgramThatDoesNotHeedSigtermHasNotSavedEither) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--grace", "0.2"}, R"(trap 'exit 143' TERM
    sh -c 'trap "" TERM; echo $$ >box; while :; do sleep 0.02; done' & wait)"));
  auto const pids = box.pids(2);
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 137);
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
  EXPECT_TRUE(has(finished.error, ", and what members had started was killed after 0.2 s of --grace: "))
      << finished.error;
}

TEST(LocalJob, KillingPrrunLeavesNoProcess) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--server_num", "2", "--trainer_num", "2", "--json", "report.json"}, three_pids_each));
  auto const pids = box.pids(12);
  ASSERT_EQ(pids.size(), 12U);
  std::vector<pid_t> supervising;
  for (auto const pid : pids) {
    if (parent_of(parent_of(parent_of(pid))) == prrun.pid()) supervising.push_back(parent_of(pid));
  }
  ASSERT_FALSE(supervising.empty());
  prrun.signal(SIGKILL);
  EXPECT_EQ(prrun.finish().code(), 137);
  EXPECT_TRUE(all_gone(pids));
  EXPECT_TRUE(all_gone(supervising));  // it writes the report when all others are gone
  auto const said = launch_test::read_file(folder / "stderr");
  EXPECT_TRUE(has(said, "the job was stopped because prrun itself was killed after ")) << said;
  EXPECT_TRUE(has(launch_test::read_file(folder / "report.json"), "because prrun itself was killed"));
  EXPECT_TRUE(has(launch_test::read_file(folder / "report.json"), "\"exit_code\":137")) << "what a shell shows";
}

TEST(LocalJob, KillingTheSupervisingProcessLeavesAReportAndNoProcess) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--server_num", "2", "--json", "report.json"},
                            "if [ \"$PADDLE_PSERVER_ID\" = 1 ]; then exit 0; fi\n"
                            "echo how far; setsid sleep 1000 & echo $PPID >box; echo $! >box; echo $$ >box; wait"));
  auto pids = box.pids(6);
  ASSERT_EQ(pids.size(), 6U);
  auto const worker = std::ranges::find_if(pids, [&](pid_t pid) { return parent_of(parent_of(pid)) == prrun.pid(); });
  ASSERT_NE(worker, pids.end());
  // Server 1 is reaped when it is no child any more, and was noted before that.
  auto const children = [&] {
    return launch_test::read_file(concat("/proc/", *worker, "/task/", *worker, "/children"));
  };
  auto const deadline = std::chrono::steady_clock::now() + launch_test::patience;
  while (std::ranges::count(children(), ' ') != 2 && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 5);
  ::kill(*worker, SIGKILL);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 137);
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
  for (auto const* const part :
       {"rank  role", "server 0 ", "SIGKILL, stopped", "exit 0", "log/workerlog.0",
        "last lines of log/workerlog.0:\n  | how far\n", "LAUNCH ERROR", "the launcher was killed by SIGKILL after "}) {
    EXPECT_TRUE(has(finished.error, part)) << part << " is not in\n" << finished.error;
  }
  auto const report = launch_test::read_file(folder / "report.json");
  for (auto const* const part :
       {R"("cause":"the launcher was killed by SIGKILL after )", R"("exit_code":137)",
        R"("signal":"SIGKILL","stopped":true)", R"("exit_code":0,"signal":null)", R"("outcome":"interrupted")"}) {
    EXPECT_TRUE(has(report, part)) << part << " is not in\n" << report;
  }
}

// As with pkill -9 prrun, which finds those that are called so.
TEST(LocalJob, KillingAllThatIsCalledPrrunLeavesAReportAndNoProcess) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--json", "report.json"}, three_pids_each));
  auto const pids = box.pids(6);
  ASSERT_EQ(pids.size(), 6U);
  pid_t worker = 0;
  for (auto const pid : pids) {
    if (parent_of(parent_of(parent_of(pid))) == prrun.pid()) worker = parent_of(pid);
  }
  ASSERT_GT(worker, 1);
  auto const between = parent_of(worker);
  EXPECT_EQ(launch_test::read_file(concat("/proc/", worker, "/comm")), "prrun\n");
  EXPECT_EQ(launch_test::read_file(concat("/proc/", between, "/comm")), "prdist-guard\n");
  ::kill(worker, SIGKILL);
  prrun.signal(SIGKILL);
  EXPECT_EQ(prrun.finish().code(), 137);
  EXPECT_TRUE(all_gone(pids));
  EXPECT_TRUE(all_gone({between}));
  EXPECT_TRUE(has(launch_test::read_file(folder / "report.json"), "the launcher was killed by SIGKILL after "));
  EXPECT_TRUE(has(launch_test::read_file(folder / "stderr"), "the launcher was killed by SIGKILL after "));
}

namespace {

/// The process that stands beside the ones of a prrun; 0 when there is none.
pid_t sweeper_of(std::filesystem::path const& folder) {
  for (auto const& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid = 0;
    if (!parse_number(entry.path().filename().native(), pid)) continue;
    bool const named = launch_test::read_file(entry.path() / "comm") == "job-sweeper\n";
    // It was started with prrun's environment, which names the folder.
    if (named && has(launch_test::read_file(entry.path() / "environ"), concat("FOLDER=", folder.string()))) return pid;
  }
  return 0;
}

}  // namespace

TEST(LocalJob, KillingAllOfPrrunAtOnceLeavesAReportAndNoProcess) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--json", "report.json"}, "echo how far; " + three_pids_each));
  auto const pids = box.pids(6);
  ASSERT_EQ(pids.size(), 6U);
  auto const worker = launch_test::worker_of(prrun.pid());
  auto const between = parent_of(worker);
  ASSERT_EQ(parent_of(between), prrun.pid());
  auto const sweeper = sweeper_of(folder.path());
  ASSERT_GT(sweeper, 1);
  // Not found by who looks for the command line, as pkill -f prrun does.
  EXPECT_FALSE(has(launch_test::read_file(concat("/proc/", sweeper, "/cmdline")), "prrun"));
  EXPECT_NE(::getsid(sweeper), ::getsid(prrun.pid()));
  // All are stopped before the first is killed, so that none sees another's end.
  for (int const signal : {SIGSTOP, SIGKILL}) {
    for (auto const pid : {prrun.pid(), between, worker}) ::kill(pid, signal);
  }
  EXPECT_EQ(prrun.finish().code(), 137);
  EXPECT_TRUE(all_gone(pids));
  EXPECT_TRUE(all_gone({sweeper}));
  auto const said = launch_test::read_file(folder / "stderr");
  for (auto const* const part : {"rank  role", "SIGKILL, stopped", "last lines of log/workerlog.0:\n  | how far\n",
                                 "the launcher was killed by SIGKILL after "}) {
    EXPECT_TRUE(has(said, part)) << part << " is not in\n" << said;
  }
  auto const report = launch_test::read_file(folder / "report.json");
  EXPECT_TRUE(has(report, R"("cause":"the launcher was killed by SIGKILL after )")) << report;
  EXPECT_TRUE(has(report, R"("exit_code":137)")) << report;
}

TEST(LocalJob, NothingOfPrrunStaysAfterItsEnd) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Mailbox go(folder / "go");
  Prrun prrun(folder, shell({"-q"}, "echo $$ >box; read word <go"));
  ASSERT_EQ(box.pids(2).size(), 2U);
  auto const sweeper = sweeper_of(folder.path());
  ASSERT_GT(sweeper, 1);
  launch_test::write_file(folder / "go", "go\ngo\n");
  EXPECT_EQ(prrun.finish().code(), 0);
  EXPECT_TRUE(all_gone({sweeper}));
  EXPECT_EQ(launch_test::read_file(folder / "stderr"), "");
}

TEST(LocalJob, ThePassedTimeLimitIs124) {
  auto const finished = run_prrun(shell({"--timeout", "0.2"}, "exec sleep 1000"));
  EXPECT_EQ(finished.code(), 124);
  EXPECT_TRUE(has(finished.error, "the job passed its time limit after ")) << finished.error;
  EXPECT_TRUE(has(finished.error, "(still running: server 0, trainer 0): raise --timeout")) << finished.error;
}

TEST(LocalJob, StartsAFailedJobAgainAsOftenAsIsAsked) {
  Prrun prrun(shell({"--max_restart", "3", "--restart_delay", "0", "--server_grace", "0", "--json", "report.json"},
                    R"([ $TRAINING_ROLE = PSERVER ] && exec sleep 1000
    echo try >>tries; [ $(wc -l <tries) -lt 3 ] && kill -9 $$; exit 0)"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_EQ(launch_test::read_file(prrun.folder() / "tries"), "try\ntry\ntry\n");
  EXPECT_TRUE(has(finished.error, "LAUNCH WARNING ")) << finished.error;
  EXPECT_TRUE(has(finished.error, "Restart 2 of 3 of the whole job at once: trainer 0 was killed by SIGKILL after "));
  EXPECT_FALSE(has(finished.error, "Restart 3 of 3"));
  EXPECT_TRUE(has(finished.error, " Restarts 2 of 3\n"));
  EXPECT_TRUE(has(launch_test::read_file(prrun.folder() / "report.json"), "\"restarts\":2,"));
}

TEST(LocalJob, StartsNothingAgainThatCannotSucceedOrWasNotAsked) {
  struct Case {
    std::vector<std::string> flags;
    std::string end;
    int code;
    std::string tries;
  };
  for (auto const& [flags, end, code, tries] :
       std::vector<Case>{{{}, "kill -9 $$", 137, "try\n"},
                         {{"--max_restart", "2"}, "exit 64", 64, "try\n"},
                         {{"--max_restart", "2"}, "exit 78", 78, "try\n"},
                         {{"--max_restart", "2"}, "exit 124", 124, "try\n"},
                         {{"--max_restart", "1", "--restart_delay", "0"}, "exit 75", 75, "try\ntry\n"}}) {
    Prrun prrun(shell(flags, "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000; echo try >>tries; " + end));
    EXPECT_EQ(prrun.finish().code(), code);
    EXPECT_EQ(launch_test::read_file(prrun.folder() / "tries"), tries) << end;
  }
}

TEST(LocalJob, WaitsLongerBeforeEachRestartAndKeepsTheLogsOfTheFirstTry) {
  TempFolder folder;
  launch_test::write_file(folder / "tries", "");
  std::filesystem::create_directory(folder / "log");
  launch_test::write_file(folder / "log/workerlog.7.try1", "of the run before");
  Prrun prrun(folder, shell({"--max_restart", "3", "--restart_delay", "0.2"},
                            R"([ $TRAINING_ROLE = PSERVER ] && exec sleep 1000
    echo try >>tries; echo failure $(wc -l <tries); exit 3)"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 3) << finished.error;
  EXPECT_GE(finished.seconds, 0.2 + 0.4 + 0.8);
  for (auto const* text : {"Restart 1 of 3 of the whole job in 0.2 s: trainer 0 ended with exit code 3 after ",
                           ": see log/workerlog.0, from now on *.try1\n", "Restart 2 of 3 of the whole job in 0.4 s: ",
                           ": see log/workerlog.0, from now on *.prev\n", "Restart 3 of 3 of the whole job in 0.8 s: ",
                           "The first try failed so: trainer 0 ended with exit code 3 after "}) {
    EXPECT_TRUE(has(finished.error, text)) << text << " is not in " << finished.error;
  }
  EXPECT_EQ(prrun.log("workerlog.0.try1"), "failure 1\n");
  EXPECT_EQ(prrun.log("workerlog.0.prev"), "failure 3\n");
  EXPECT_EQ(prrun.log("workerlog.0"), "failure 4\n");
  EXPECT_TRUE(std::filesystem::exists(folder / "log/serverlog.0.try1"));
  EXPECT_FALSE(std::filesystem::exists(folder / "log/workerlog.7.try1"));
  EXPECT_EQ(prrun.log("workerlog.7.try1.prev"), "of the run before");
}

TEST(LocalJob, CtrlCEndsTheWaitForARestart) {
  TempFolder folder;
  Prrun prrun(folder, shell({"--max_restart", "5", "--restart_delay", "600", "--json", "report.json"},
                            "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000; echo try >>tries; exit 3"));
  auto const deadline = std::chrono::steady_clock::now() + launch_test::patience;
  while (!has(launch_test::read_file(folder / "stderr"), "Restart 1 of 5 of the whole job in 600 s: ")) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << launch_test::read_file(folder / "stderr");
    ::poll(nullptr, 0, 10);
  }
  auto const other = run_prrun({"--log_dir", (folder / "log").string(), "true"});
  EXPECT_EQ(other.code(), 78) << other.error;
  EXPECT_TRUE(has(other.error, "is in use by another job")) << "it is this one's while it waits: " << other.error;
  prrun.signal(SIGINT);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 130) << finished.error;
  EXPECT_TRUE(has(finished.error, "LAUNCH ERROR ")) << finished.error;
  EXPECT_TRUE(has(finished.error, "the job was stopped by SIGINT after ")) << finished.error;
  EXPECT_EQ(launch_test::read_file(folder / "tries"), "try\n");
  EXPECT_TRUE(has(launch_test::read_file(folder / "report.json"), "\"outcome\":\"interrupted\""));
}

TEST(LocalJob, TheTimeLimitCountsTheWaitForARestart) {
  auto const finished = run_prrun(shell({"--max_restart", "5", "--restart_delay", "600", "--timeout", "1"},
                                        "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000; exit 3"));
  EXPECT_EQ(finished.code(), 124) << finished.error;
  EXPECT_TRUE(
      has(finished.error, "the job passed its time limit after 1.0 s, waiting for its next try: raise --timeout"))
      << finished.error;
}

TEST(LocalJob, AnInterruptedJobIsNotStartedAgain) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--max_restart", "5"}, "echo try >>tries; echo $$ >box; exec sleep 1000"));
  ASSERT_EQ(box.pids(2).size(), 2U);
  prrun.signal(SIGTERM);
  EXPECT_EQ(prrun.finish().code(), 143);
  EXPECT_EQ(launch_test::read_file(folder / "tries"), "try\ntry\n");
}

TEST(LocalJob, AFailedProcessEndsACollectiveJob) {
  auto const finished =
      run_prrun(shell({"--nproc_per_node", "3"}, "[ $PADDLE_TRAINER_ID = 1 ] && exit 9; exec sleep 1000"));
  EXPECT_EQ(finished.code(), 9);
  EXPECT_TRUE(has(finished.error, "trainer 1 ended with exit code 9 after ")) << finished.error;
}
