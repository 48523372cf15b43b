#include <prdist/strategy/sync.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recorded_step.hpp"

using namespace prdist;

TEST(Sync, WaitsUntilItsPushIsAppliedBeforeTheNextStep) {
  test::RecordedStep step;
  Sync const sync;
  sync.step(step);
  EXPECT_EQ(step.calls, (std::vector<std::string>{"pull", "compute", "push 1", "settle 0"}));
}

TEST(Sync, TablesGather) {
  EXPECT_EQ(Sync::apply, ApplyRule::gather);
  EXPECT_EQ(Sync::name, "sync");
}
