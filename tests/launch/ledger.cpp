#include <prdist/launch/ledger.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "support.hpp"

using namespace prdist;

namespace {

MemberReport member(JobRole role, std::size_t index, pid_t pid, std::string const& log) {
  return {{role, index}, pid, {}, 0, false, log};
}

}  // namespace

TEST(Ledger, HasNothingToTellOfAJobThatHasNotBegunOrIsReported) {
  JobLedger ledger;
  EXPECT_FALSE(ledger.read());
  ledger.begin("job");
  EXPECT_TRUE(ledger.read());
  ledger.close();
  EXPECT_FALSE(ledger.read());
}

TEST(Ledger, KeepsWhatAKilledProcessHasWritten) {
  JobLedger ledger;
  auto const code = launch_test::in_child([&] {
    ledger.begin("ctr", "abcdef", 2);
    ledger.joined(member(JobRole::server, 0, 11, "log/a\nb"));
    auto trainer = member(JobRole::trainer, 3, 12, "log/workerlog.3");
    trainer.host = "me@host";
    ledger.joined(trainer);
    trainer.ending = Ending{0, SIGSEGV, true};
    trainer.seconds = 1.5;
    ledger.ended(1, trainer);
    ledger.failed_first(1);
    return ::kill(::getpid(), SIGKILL);
  });
  EXPECT_EQ(code, 137);
  auto const report = ledger.read();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->job_id, "ctr");
  EXPECT_EQ(report->pod_name, "abcdef");
  EXPECT_EQ(report->restarts, 2U);
  EXPECT_EQ(report->outcome, Outcome::interrupted);
  EXPECT_LT(report->seconds, 60.0);
  EXPECT_EQ(report->first_failure, 1U);
  ASSERT_EQ(report->members.size(), 2U);
  EXPECT_EQ(report->members[0].member, (JobMember{JobRole::server, 0}));
  EXPECT_EQ(report->members[0].pid, 11);
  EXPECT_EQ(report->members[0].log, "log/a\nb");
  EXPECT_FALSE(report->members[0].ending);
  EXPECT_EQ(report->members[1].member, (JobMember{JobRole::trainer, 3}));
  EXPECT_EQ(report->members[1].host, "me@host");
  EXPECT_EQ(report->members[1].ending, (Ending{0, SIGSEGV, true}));
  EXPECT_EQ(report->members[1].seconds, 1.5);
}

TEST(Ledger, ANewRunForgetsTheOneBefore) {
  JobLedger ledger;
  ledger.begin("job");
  ledger.joined(member(JobRole::server, 0, 11, "log"));
  ledger.begin("job", "abcdef", 1);
  ledger.joined(member(JobRole::trainer, 0, 12, "log"));
  auto const report = ledger.read().value();
  ASSERT_EQ(report.members.size(), 1U);
  EXPECT_EQ(report.members[0].pid, 12);
}

TEST(Ledger, TakesTheLargestJobAndNoMoreThanItHasRoomFor) {
  JobLedger ledger;
  ledger.begin("job");
  std::string const log(4095, 'x');
  for (std::size_t i = 0; i < 1280; ++i) ledger.joined(member(JobRole::trainer, i, 1, log));
  EXPECT_EQ(ledger.read().value().members.size(), 1280U);
  for (std::size_t i = 0; i < 1280; ++i) ledger.joined(member(JobRole::trainer, i, 1, log));
  auto const report = ledger.read().value();
  EXPECT_LT(report.members.size(), 2560U);
  EXPECT_TRUE(std::ranges::all_of(report.members, [&](auto const& each) { return each.log == log; }));
}

TEST(Ledger, IsCompletedByWhatTheGuardHasReaped) {
  JobReport report;
  report.seconds = 9;
  report.members = {member(JobRole::server, 0, 11, "log"), member(JobRole::trainer, 0, 12, "log"),
                    member(JobRole::trainer, 1, 13, "log"), member(JobRole::trainer, 2, 11, "log")};
  report.members[1].ending = Ending{};
  report.members[1].seconds = 4;
  report.members[3].host = "elsewhere";
  complete(report, {{11, Ending{0, SIGKILL, false}}, {12, Ending{0, SIGKILL, false}}});
  EXPECT_EQ(report.members[0].ending, (Ending{0, SIGKILL, false}));
  EXPECT_TRUE(report.members[0].stopped);
  EXPECT_EQ(report.members[0].seconds, 9);
  EXPECT_EQ(report.members[1].ending, Ending{});
  EXPECT_FALSE(report.members[1].stopped);
  EXPECT_EQ(report.members[1].seconds, 4);
  EXPECT_FALSE(report.members[2].ending);
  EXPECT_FALSE(report.members[3].ending);  // its number is of another machine
}

TEST(Ledger, OneThatWasStartedAgainRunsAndIsAmongTheFallen) {
  JobLedger ledger;
  ledger.begin("job");
  auto trainer = member(JobRole::trainer, 0, 12, "log/workerlog.0");
  ledger.joined(trainer);
  trainer.ending = Ending{0, SIGKILL, false};
  ledger.ended(0, trainer);
  ledger.started_again(0, 13);
  ledger.started_again(7, 14);
  auto const report = ledger.read();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->members.size(), 1U);
  EXPECT_EQ(report->members[0].pid, 13);
  EXPECT_FALSE(report->members[0].ending);
  ASSERT_EQ(report->fallen.size(), 1U);
  EXPECT_EQ(report->fallen[0].pid, 12);
  EXPECT_EQ(report->fallen[0].ending, (Ending{0, SIGKILL, false}));
}
