#include <prdist/server/barrier.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace prdist;

TEST(Barriers, OpenWhenAllMembersAreThere) {
  Barriers barriers;
  std::string order;
  auto const note = [&](char who) {
    return [&order, who](Error const* error) { order += error == nullptr ? who : '!'; };
  };
  barriers.arrive(1, 0, {0, 1, 2}, note('a'));
  barriers.arrive(2, 1, {0, 1, 2}, note('x'));  // another name is another barrier
  barriers.arrive(1, 1, {0, 1, 2}, note('b'));
  EXPECT_EQ(order, "");
  barriers.arrive(1, 2, {0, 1, 2}, note('c'));
  EXPECT_EQ(order, "abc");
}

TEST(Barriers, OpenWithoutOneThatHasLeft) {
  Barriers barriers;
  int open = 0;
  barriers.arrive(1, 0, {0, 1}, [&](Error const*) { ++open; });
  EXPECT_EQ(open, 0);
  barriers.release({0});
  EXPECT_EQ(open, 1);
  barriers.release({0});
  EXPECT_EQ(open, 1);  // told once
}

TEST(Barriers, FailTellsEverybodyWhy) {
  Barriers barriers;
  std::string said;
  barriers.arrive(1, 0, {0, 1}, [&](Error const* error) { said += error->what(); });
  barriers.arrive(2, 0, {0, 1}, [&](Error const* error) { said += error->what(); });
  barriers.fail(Error(Errc::job_peer_lost, "1;"));
  EXPECT_EQ(said, "prdist[job.peer_lost] 1;prdist[job.peer_lost] 1;");
}
