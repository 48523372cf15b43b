#include <prdist/server/clocks.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace prdist;

namespace {

struct Note {
  std::string& order;
  auto operator()(char who) const {
    return [&out = order, who](Clocks::Answer answer) { out += answer == Clocks::Answer::go ? who : '?'; };
  }
};

}  // namespace

TEST(Clocks, LetGoWhoIsNotTooFarAhead) {
  Clocks clocks(2);
  std::string order;
  Note const note{order};
  clocks.tick(0, 0, 1, 1, 1, {}, note('a'));
  EXPECT_EQ(order, "a");
  clocks.tick(0, 0, 1, 2, 1, {}, note('b'));  // two ahead of one that has not begun
  EXPECT_EQ(order, "a");
  EXPECT_EQ(clocks.slowest(), 0U);
  clocks.tick(1, 0, 1, 1, 1, {}, note('c'));
  EXPECT_EQ(order, "abc");
}

TEST(Clocks, CountEveryThreadOfATrainerFromItsFirstMessage) {
  Clocks clocks(1);
  std::string order;
  Note const note{order};
  clocks.tick(0, 0, 3, 1, 0, {}, note('a'));
  clocks.tick(0, 1, 3, 1, 0, {}, note('b'));
  EXPECT_EQ(order, "");
  clocks.tick(0, 2, 3, 1, 0, {}, note('c'));
  EXPECT_EQ(order, "abc");
  clocks.tick(0, 1, 3, 2, 0, {}, note('d'));
  clocks.leave(0, 0, 3);
  EXPECT_EQ(order, "abc");
  clocks.leave(0, 2, 3);
  EXPECT_EQ(order, "abcd");
}

TEST(Clocks, AThreadThatComesBackIsWaitedForAgain) {
  Clocks clocks(2);
  std::string order;
  Note const note{order};
  clocks.leave(0, 0, 1);
  clocks.tick(1, 0, 1, 5, 0, {}, note('a'));
  EXPECT_EQ(order, "a");
  clocks.tick(0, 0, 1, 5, 0, {}, note('b'));
  clocks.tick(1, 0, 1, 6, 0, {}, note('c'));
  EXPECT_EQ(order, "ab");
}

TEST(Clocks, DoNotWaitForATrainerThatHasLeft) {
  Clocks clocks(2);
  std::string order;
  Note const note{order};
  clocks.tick(0, 0, 1, 3, 1, {}, note('a'));
  EXPECT_EQ(order, "");
  clocks.leave(1);
  EXPECT_EQ(order, "a");
  clocks.tick(1, 0, 1, 9, 0, {}, note('b'));  // it may still ask
  EXPECT_EQ(order, "ab");
  clocks.leave(0);
  EXPECT_EQ(clocks.slowest(), std::nullopt);
}

TEST(Clocks, CallEverybodyWhoWaitsAway) {
  Clocks clocks(2);
  std::string order;
  Note const note{order};
  clocks.tick(0, 0, 1, 1, 0, {}, note('a'));
  clocks.look_again();
  EXPECT_EQ(order, "?");
  clocks.look_again();
  EXPECT_EQ(order, "?");                      // told once
  clocks.tick(0, 0, 1, 1, 0, {}, note('b'));  // asks again
  clocks.tick(1, 0, 1, 1, 0, {}, note('c'));
  EXPECT_EQ(order, "?bc");
}

TEST(Clocks, LetThoseAskAgainWhoWouldGiveUp) {
  Clocks clocks(2);
  std::string order;
  Note const note{order};
  TimePoint const start{};
  clocks.tick(0, 0, 1, 1, 0, start + std::chrono::seconds(5), note('a'));
  clocks.overdue(start + std::chrono::seconds(4));
  EXPECT_EQ(order, "");
  clocks.overdue(start + std::chrono::seconds(5));
  EXPECT_EQ(order, "?");
}
