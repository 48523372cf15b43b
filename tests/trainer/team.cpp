#include <prdist/trainer/team.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

using namespace prdist;

TEST(Team, EverybodyWorksOnceInEachRun) {
  Team team(4);
  EXPECT_EQ(team.size(), 4U);
  std::vector<int> times(4, 0);
  for (int round = 0; round < 100; ++round) team.run([&](std::size_t i) { ++times[i]; });
  EXPECT_EQ(times, std::vector<int>(4, 100));
}

TEST(Team, OneIsTheCaller) {
  Team team(1);
  auto const caller = std::this_thread::get_id();
  team.run([&](std::size_t i) {
    EXPECT_EQ(i, 0U);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(Team, ThrowsWhatOneThrewAfterAllHaveEnded) {
  Team team(3);
  std::atomic<int> ended = 0;
  EXPECT_THROW(team.run([&](std::size_t i) {
    ++ended;
    if (i == 2) throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(ended, 3);
  team.run([&](std::size_t) { ++ended; });  // and goes on
  EXPECT_EQ(ended, 6);
}
