#include <prdist/launch/report.hpp>

#include <gtest/gtest.h>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

namespace {

JobReport failed_job(std::filesystem::path const& folder = "log") {
  JobReport report;
  report.job_id = "default";
  report.pod_name = "abcdef";
  report.outcome = Outcome::failed;
  report.exit_code = 137;
  report.seconds = 3.5;
  report.first_failure = 2;
  report.members = {{{JobRole::server, 0}, 101, Ending{0, SIGTERM, false}, 3.4, true, folder / "serverlog.0"},
                    {{JobRole::trainer, 0}, 102, Ending{0, 0, false}, 1.0, false, folder / "workerlog.0"},
                    {{JobRole::trainer, 1}, 103, Ending{0, SIGKILL, false}, 3.2, false, folder / "workerlog.1"}};
  return report;
}

}  // namespace

TEST(Report, TableHasALinePerMember) {
  EXPECT_EQ(table_of(failed_job()),
            "rank  role       pid  ended                      seconds  log\n"
            "0     server 0   101  SIGTERM, stopped           3.4      log/serverlog.0\n"
            "1     trainer 0  102  exit 0                     1.0      log/workerlog.0\n"
            "2     trainer 1  103  SIGKILL  <- first failure  3.2      log/workerlog.1\n");
}

TEST(Report, NamesHostsWhereMembersRanOnSeveral) {
  auto report = failed_job();
  for (auto& each : report.members) each.host = each.member.index == 0 ? "node1" : "me@node2";
  report.members[0].ending.reset();
  EXPECT_EQ(table_of(report),
            "rank  role       host      pid  ended                      seconds  log\n"
            "0     server 0   node1     101  unknown                    3.4      log/serverlog.0\n"
            "1     trainer 0  node1     102  exit 0                     1.0      log/workerlog.0\n"
            "2     trainer 1  me@node2  103  SIGKILL  <- first failure  3.2      log/workerlog.1\n");
  EXPECT_TRUE(cause_of(report).starts_with("trainer 1 on me@node2 was killed by SIGKILL")) << cause_of(report);
}

TEST(Report, TableNamesWhatWouldNotDie) {
  auto report = failed_job();
  report.members[0].ending.reset();
  EXPECT_NE(table_of(report).find("server 0   101  still there"), std::string::npos);
}

TEST(Report, NamesTheFirstFailureInASentence) {
  auto report = failed_job();
  EXPECT_EQ(cause_of(report),
            "trainer 1 was killed by SIGKILL after 3.2 s: see log/workerlog.1 (if nobody sent it, the machine ran out "
            "of memory: dmesg shows it)");
  report.members[2].ending = Ending{0, SIGSEGV, true};
  EXPECT_EQ(cause_of(report), "trainer 1 was killed by SIGSEGV after 3.2 s: see log/workerlog.1");
  report.members[2].ending = Ending{7, 0, false};
  EXPECT_EQ(cause_of(report), "trainer 1 ended with exit code 7 after 3.2 s: see log/workerlog.1");
}

TEST(Report, NamesOtherEnds) {
  auto report = failed_job();
  report.first_failure.reset();
  report.failed_elsewhere = "trainer 3 on 10.0.0.2 ended with exit code 7";
  EXPECT_EQ(cause_of(report), report.failed_elsewhere);
  report.outcome = Outcome::interrupted;
  report.signal = SIGINT;
  report.exit_code = 130;
  EXPECT_EQ(cause_of(report), "the job was stopped by SIGINT after 3.5 s");
  report.outcome = Outcome::timed_out;
  EXPECT_EQ(cause_of(report),
            "the job passed its time limit after 3.5 s (still running: server 0): raise --timeout, or see their logs");
  report.outcome = Outcome::succeeded;
  EXPECT_EQ(cause_of(report), "");
}

// The code of such a job is that member's, and no signal's.
TEST(Report, NamesWhoCouldNotSaveAfterASignal) {
  auto report = failed_job();
  report.first_failure.reset();
  report.outcome = Outcome::interrupted;
  report.signal = SIGTERM;
  report.exit_code = 78;
  report.members[2].ending = Ending{78, 0, false};
  EXPECT_EQ(cause_of(report),
            "the job was stopped by SIGTERM after 3.5 s, and trainer 1 could not save: exit code 78, see "
            "log/workerlog.1");
}

TEST(Report, NamesWhoWasKilledBeforeItHadSaved) {
  auto report = failed_job();
  report.first_failure.reset();
  report.outcome = Outcome::interrupted;
  report.signal = SIGTERM;
  report.exit_code = 137;
  report.grace = std::chrono::seconds(30);
  report.members[2].too_late = true;
  EXPECT_EQ(cause_of(report),
            "the job was stopped by SIGTERM after 3.5 s, and trainer 1 was killed after 30 s of --grace: what it was "
            "saving is lost, raise --grace");
  for (auto& each : report.members) each.too_late = true;
  report.grace = std::chrono::milliseconds(1500);
  EXPECT_EQ(cause_of(report),
            "the job was stopped by SIGTERM after 3.5 s, and server 0, trainer 0 and trainer 1 were killed after 1.5 s "
            "of --grace: what they were saving is lost, raise --grace");
  report.launcher_killed = true;
  EXPECT_EQ(cause_of(report),
            "the job was stopped because prrun itself was killed after 3.5 s, and server 0, trainer 0 and trainer 1 "
            "were killed after 1.5 s of --grace: what they were saving is lost, raise --grace");
  report.launcher_killed = false;
  report.outcome = Outcome::failed;
  report.failed_elsewhere = "node 1 was stopped";
  EXPECT_TRUE(cause_of(report).starts_with("node 1 was stopped, and server 0, trainer 0 and trainer 1 were killed "))
      << cause_of(report);
}

// The first of them alone: there may be thousands.
TEST(Report, NamesTheFirstOfManyThatWereKilled) {
  auto report = failed_job();
  report.outcome = Outcome::interrupted;
  report.signal = SIGINT;
  report.exit_code = 137;
  report.grace = std::chrono::seconds(1);
  report.members.clear();
  for (std::size_t i = 0; i < 9; ++i) {
    report.members.push_back({{JobRole::trainer, i}, 1, Ending{0, SIGKILL, false}, 1, true, "log"});
    report.members.back().too_late = true;
  }
  EXPECT_EQ(cause_of(report),
            "the job was stopped by SIGINT after 3.5 s, and trainer 0, trainer 1, trainer 2, trainer 3, trainer 4, "
            "trainer 5, trainer 6 and 2 more were killed after 1 s of --grace: what they were saving is lost, raise "
            "--grace");
}

// The member is a shell that has ended, and the program behind it was saving.
TEST(Report, NamesWhatMembersHadStartedWhereThatWasKilled) {
  auto report = failed_job();
  report.outcome = Outcome::interrupted;
  report.signal = SIGTERM;
  report.exit_code = 137;
  report.grace = std::chrono::seconds(30);
  report.leftovers_too_late = true;
  EXPECT_EQ(cause_of(report),
            "the job was stopped by SIGTERM after 3.5 s, and what members had started was killed after 30 s of "
            "--grace: what it was saving is lost, raise --grace");
  report.members[0].too_late = true;
  EXPECT_TRUE(cause_of(report).find(", and server 0 and what members had started were killed after 30 s of --grace: "
                                    "what they were saving") != std::string::npos)
      << cause_of(report);
}

TEST(Report, ShowsTheEndOfTheFirstFailuresLog) {
  TempFolder folder;
  auto const report = failed_job(folder.path());
  auto const log = folder / "workerlog.1";
  EXPECT_EQ(failing_log(report), log.string() + " is empty\n");
  launch_test::write_file(log, "one\ntwo\nthree\n");
  EXPECT_EQ(failing_log(report, 2), concat("last lines of ", log.string(), ":\n  | two\n  | three\n"));
}

TEST(Report, HelpsAServerThatFindsItsPortTaken) {
  TempFolder folder;
  auto report = failed_job(folder.path());
  report.first_failure = 0;
  launch_test::write_file(folder / "serverlog.0", "OSError: [Errno 98] Address already in use\n");
  EXPECT_NE(failing_log(report).find("\na server that binds PADDLE_PORT itself without SO_REUSEADDR needs "
                                     "--no-listen-fd\n"),
            std::string::npos);
}

// SIGTERM to one process of a job: that is whom people look for, and nobody has failed.
TEST(Report, OfAJobThatWasAskedToStopNamesTheOneThatWas) {
  TempFolder folder;
  auto report = failed_job(folder.path());
  report.first_failure = 1;
  report.exit_code = 143;
  report.stopped_in_order = true;
  for (auto& each : report.members) each.ending = Ending{143, 0, false};
  for (auto& each : report.members) each.stopped = false;
  EXPECT_EQ(table_of(report).find("<-"), std::string::npos) << table_of(report);
  auto const log = [&](std::string const& name) { return (folder / name).string(); };
  EXPECT_EQ(cause_of(report),
            concat("a process of the job was asked to stop, and the job has ended in order with exit code 143 after "
                   "3.5 s: see ",
                   log("workerlog.0")));
  launch_test::write_file(folder / "workerlog.1", "worker 1 was asked to stop by SIGTERM\nbye\n");
  launch_test::write_file(folder / "serverlog.0", "server 0 was asked to stop by SIGTERM\n");
  report.members[0].stopped = true;  // by the launcher, later
  EXPECT_EQ(cause_of(report),
            concat("trainer 1 was asked to stop, and the job has ended in order with exit code 143 after 3.5 s: see ",
                   log("workerlog.1")));
  auto const table = table_of(report);
  EXPECT_NE(table.find("trainer 1  103  exit 143  <- asked to stop"), std::string::npos) << table;
  EXPECT_EQ(table.find("first failure"), std::string::npos) << table;
  auto late = report;
  late.exit_code = 137;
  late.grace = std::chrono::seconds(30);
  late.members[0].too_late = true;
  EXPECT_EQ(
      cause_of(late),
      concat("trainer 1 was asked to stop after 3.5 s, and server 0 was killed after 30 s of --grace: what it was "
             "saving is lost, raise --grace; see ",
             log("workerlog.1")));
  EXPECT_EQ(failing_log(report),
            concat("last lines of ", log("workerlog.1"), ":\n  | worker 1 was asked to stop by SIGTERM\n  | bye\n"));
}

TEST(Report, OfASuccessShowsNoLog) {
  auto report = failed_job();
  report.first_failure.reset();
  EXPECT_EQ(failing_log(report), "");
}

TEST(Report, OfAKilledLauncherSaysSo) {
  JobReport report;
  report.outcome = Outcome::interrupted;
  report.exit_code = 143;
  report.signal = SIGTERM;
  report.seconds = 2;
  EXPECT_EQ(cause_of(report), "the job was stopped by SIGTERM after 2.0 s");
  report.launcher_killed = true;
  EXPECT_EQ(cause_of(report), "the job was stopped because prrun itself was killed after 2.0 s");
  report.launcher = Ending{0, SIGKILL, false};
  EXPECT_EQ(cause_of(report),
            "the launcher was killed by SIGKILL after 2.0 s (if nobody sent it, the machine ran out of memory: dmesg "
            "shows it)");
  report.launcher = Ending{70, 0, false};
  EXPECT_EQ(cause_of(report), "the launcher ended with exit code 70 after 2.0 s");
}

TEST(Report, OfAKilledLauncherShowsHowFarTheFirstTrainerWas) {
  TempFolder folder;
  auto report = failed_job(folder.path());
  report.first_failure.reset();
  report.outcome = Outcome::interrupted;
  EXPECT_EQ(failing_log(report), "");
  report.launcher = Ending{0, SIGKILL, false};
  launch_test::write_file(folder / "workerlog.0", "epoch 3\n");
  EXPECT_EQ(failing_log(report), concat("last lines of ", (folder / "workerlog.0").string(), ":\n  | epoch 3\n"));
}
