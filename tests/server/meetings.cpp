#include <prdist/server/meetings.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace prdist;

namespace {

struct Job {
  std::set<std::uint32_t> everybody, training;
  Meetings meetings{
      [this](Attendance attendance) { return attendance == Attendance::training ? training : everybody; }};
};

}  // namespace

TEST(Meetings, EndWhenAllMembersAreThereAndGiveAllTexts) {
  Job job{{0, 1, 2}, {0, 1, 2}};
  std::string order;
  auto const note = [&](char who) {
    return [&order, who](Error const* error, Texts const& texts) {
      order += error == nullptr ? who : '!';
      for (auto const& [trainer, text] : texts) order += text;
    };
  };
  job.meetings.arrive("m1", Attendance::everybody, 0, "p", std::nullopt, note('a'));
  job.meetings.arrive("m2", Attendance::everybody, 1, "x", std::nullopt, note('x'));  // another name is another meeting
  job.meetings.arrive("m1", Attendance::everybody, 2, "r", std::nullopt, note('c'));
  EXPECT_EQ(order, "");
  job.meetings.arrive("m1", Attendance::everybody, 1, "q", std::nullopt, note('b'));
  EXPECT_EQ(order, "apqrbpqrcpqr");
}

TEST(Meetings, EndWithoutOneThatHasLeft) {
  Job job{{0, 1}, {0, 1}};
  int open = 0;
  job.meetings.arrive("m1", Attendance::everybody, 0, "", std::nullopt, [&](Error const*, auto const&) { ++open; });
  EXPECT_EQ(open, 0);
  job.everybody = {0};
  job.meetings.release();
  EXPECT_EQ(open, 1);
  job.meetings.release();
  EXPECT_EQ(open, 1);  // told once
}

TEST(Meetings, OfThoseInTrainingDoNotWaitForOneThatHasNoMoreBatches) {
  Job job{{0, 1}, {0, 1}};
  std::string ended;
  job.meetings.arrive("m1", Attendance::training, 0, "", std::nullopt,
                      [&](Error const*, auto const&) { ended += 't'; });
  job.meetings.arrive("m1", Attendance::everybody, 0, "", std::nullopt,
                      [&](Error const*, auto const&) { ended += 'e'; });
  job.training = {0};
  job.meetings.release();
  EXPECT_EQ(ended, "t");
}

TEST(Meetings, FailTellsEverybodyWhy) {
  Job job{{0, 1}, {0, 1}};
  std::string said;
  auto const note = [&](Error const* error, Texts const&) { said += error->what(); };
  job.meetings.arrive("m1", Attendance::everybody, 0, "", std::nullopt, note);
  job.meetings.arrive("m2", Attendance::training, 0, "", std::nullopt, note);
  job.meetings.fail(Error(Errc::job_peer_lost, "1;"));
  EXPECT_EQ(said, "prdist[job.peer_lost] 1;prdist[job.peer_lost] 1;");
}

// One calls a barrier where the other comes to a checkpoint: no time is long enough.
TEST(Meetings, ThatWaitForEachOtherEndWithTheNamesOfBoth) {
  Job job{{0, 1}, {0, 1}};
  TimePoint const start{};
  auto const second = std::chrono::seconds(1);
  std::map<std::uint32_t, std::string> said;
  auto const wait = [&](std::uint32_t trainer, std::string const& name, int from, bool looks = false) {
    job.meetings.arrive(
        name, Attendance::everybody, trainer, "", start + (from + 1) * second,
        [&said, trainer](Error const* error, Texts const&) {
          said[trainer] = error == nullptr ? "met" : error->what();
        },
        looks);
  };
  auto const round = [&](int from, char const* of_0, char const* of_1, bool looks = false) {
    said.clear();
    wait(0, of_0, from, looks);
    wait(1, of_1, from);
    job.meetings.tell_overdue(start + (from + 1) * second);
  };
  std::string const first = "prdist[job.deadline] trainer 0 waits at 'epoch' for trainers 1: look at their logs";
  round(0, "epoch", "checkpoint 3");
  EXPECT_EQ(said[0], first) << "it may be on its way";
  round(1, "same", "same");
  EXPECT_EQ(said[0], "met");
  round(2, "epoch", "checkpoint 3");
  EXPECT_EQ(said[0], first) << "a meeting has ended since";
  round(3, "epoch", "checkpoint 4");
  EXPECT_EQ(said[0], first) << "it has moved";
  round(4, "epoch", "checkpoint 4");
  EXPECT_EQ(said[0],
            "prdist[job.state] trainer 0 waits at 'epoch', and trainer 1 at 'checkpoint 4': neither comes to the "
            "other's meeting, so both would wait for ever; all workers have to meet under the same names in the same "
            "order, and where checkpoints are taken Checkpointer::barrier() is the barrier");
  for (int i = 0; i < 5; ++i) {
    round(10 + i, "between", "checkpoint 9", true);
    EXPECT_TRUE(said[0].starts_with("prdist[job.deadline] ")) << "it looks for others' meetings itself";
    EXPECT_TRUE(said[1].starts_with("prdist[job.deadline] ")) << said[1];
  }
}

TEST(Meetings, TellWhoIsMissingWhenTheTimeIsUp) {
  Job job{{0, 1, 2}, {0, 1, 2}};
  TimePoint const start{};
  auto const second = std::chrono::seconds(1);
  std::string said;
  auto const note = [&](Error const* error, Texts const&) { said += error == nullptr ? "all;" : error->what(); };
  job.meetings.arrive("start", Attendance::everybody, 1, "", start + second, note);
  job.meetings.tell_overdue(start);
  EXPECT_EQ(said, "");
  job.meetings.tell_overdue(start + second);
  EXPECT_EQ(said, "prdist[job.deadline] trainer 1 waits at 'start' for trainers 0, 2: look at their logs");
  said.clear();
  job.meetings.arrive("cut", Attendance::training, 0, "", start + second, note);
  job.training = {0, 2};
  job.meetings.tell_overdue(start + 2 * second);
  EXPECT_EQ(said,
            "prdist[job.deadline] trainer 0 waits at 'cut' for trainers 2: look at their logs; a trainer that has no "
            "more batches calls finish()");
  said.clear();
  // Who gave up is waited for again.
  job.meetings.arrive("start", Attendance::everybody, 0, "", std::nullopt, note);
  job.meetings.arrive("start", Attendance::everybody, 2, "", std::nullopt, note);
  EXPECT_EQ(said, "");
  job.meetings.arrive("start", Attendance::everybody, 1, "", std::nullopt, note);
  EXPECT_EQ(said, "all;all;all;");
}
