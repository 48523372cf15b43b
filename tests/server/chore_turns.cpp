#include <prdist/server/chore_turns.hpp>

#include <gtest/gtest.h>

using namespace prdist;
using namespace std::chrono_literals;

namespace {

ChoreTurns::Clock::time_point const start{1000s};

/// How much of `time` a chore gets when it takes slices of 100 us whenever it may.
ChoreTurns::Clock::duration spend(ChoreTurns& turns, ChoreTurns::Clock::time_point now) {
  ChoreTurns::Clock::duration spent{};
  while (turns.due(now) && spent < 1s) {
    turns.worked(100us);
    now += 100us;
    spent += 100us;
  }
  return spent;
}

}  // namespace

TEST(ChoreTurns, HaveNoEndWhileNoRequestsCome) {
  ChoreTurns turns;
  EXPECT_EQ(spend(turns, start), 1s);
  turns.requested(start);
  EXPECT_FALSE(turns.due(start));
  EXPECT_FALSE(turns.due(start + 999ms));
  EXPECT_TRUE(turns.due(start + 1s));
}

TEST(ChoreTurns, AreEarnedBySleep) {
  ChoreTurns turns;
  turns.requested(start);
  turns.slept(24ms);
  EXPECT_EQ(spend(turns, start), 2ms);
  EXPECT_FALSE(turns.due(start));
}

TEST(ChoreTurns, AreFewWhileTheThreadNeverSleeps) {
  ChoreTurns turns;
  turns.requested(start);
  turns.served(40ms);
  EXPECT_EQ(spend(turns, start), 1ms);
}

// A thread that slept long does not spend long when trainers are back.
TEST(ChoreTurns, AreNotSavedUp) {
  ChoreTurns turns;
  turns.requested(start);
  turns.slept(900ms);
  EXPECT_EQ(spend(turns, start), 3ms);
}

TEST(ChoreTurns, OfASliceThatLostItsProcessorAreNotPaidBackForLong) {
  ChoreTurns turns;
  turns.requested(start);
  turns.worked(500ms);
  turns.slept(35ms);
  EXPECT_FALSE(turns.due(start));
  turns.slept(2ms);
  EXPECT_TRUE(turns.due(start));
}

TEST(ChoreTurns, WakeUpASleeperOnceThereIsWorkForAWhile) {
  ChoreTurns turns;
  turns.requested(start);
  EXPECT_EQ(turns.wake_up(start), start + 36ms);
  turns.slept(6ms);
  EXPECT_EQ(turns.wake_up(start + 6ms), start + 36ms);
  // Or when the requests have ended.
  EXPECT_EQ(turns.wake_up(start + 995ms), start + 1s);
}
