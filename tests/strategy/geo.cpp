#include <prdist/strategy/geo.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recorded_step.hpp"

using namespace prdist;

TEST(Geo, LearnsByItselfAndExchangesNowAndThen) {
  test::RecordedStep step;
  Geo{.push_interval = 7}.step(step);
  EXPECT_EQ(step.calls, (std::vector<std::string>{"pull", "compute", "learn", "exchange 7"}));
}

TEST(Geo, IsDeclaredWithItsRule) {
  EXPECT_EQ(Geo::apply, ApplyRule::add);
  EXPECT_EQ(Geo::name, "geo");
}
