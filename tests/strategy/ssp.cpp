#include <prdist/strategy/ssp.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recorded_step.hpp"

using namespace prdist;

TEST(Ssp, CountsAStepWhenItsPushIsApplied) {
  test::RecordedStep step;
  Ssp{.staleness = 5}.step(step);
  EXPECT_EQ(step.calls, (std::vector<std::string>{"pull", "compute", "push 1", "settle 0", "tick 5"}));
}

TEST(Ssp, IsDeclaredWithItsRule) {
  EXPECT_EQ(Ssp::apply, ApplyRule::immediate);
  EXPECT_EQ(Ssp::name, "ssp");
}
