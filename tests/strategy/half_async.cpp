#include <prdist/strategy/half_async.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recorded_step.hpp"

using namespace prdist;

TEST(HalfAsync, MeetsTheOtherThreadsInsteadOfPushing) {
  test::RecordedStep step;
  HalfAsync{}.step(step);
  EXPECT_EQ(step.calls, (std::vector<std::string>{"pull", "compute", "meet"}));
}

TEST(HalfAsync, IsDeclaredWithItsRule) {
  EXPECT_EQ(HalfAsync::apply, ApplyRule::immediate);
  EXPECT_EQ(HalfAsync::name, "half_async");
}
