#include <prdist/strategy/async.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recorded_step.hpp"

using namespace prdist;

TEST(Async, LetsABoundedNumberOfPushesBeUnderWay) {
  for (std::size_t const in_flight : {0U, 1U, 4U}) {
    test::RecordedStep step;
    Async const async{.in_flight = in_flight};
    async.step(step);
    EXPECT_EQ(step.calls, (std::vector<std::string>{"pull", "compute", "push", "settle " + std::to_string(in_flight)}));
  }
}

TEST(Async, DefaultsToTwo) {
  test::RecordedStep step;
  Async{}.step(step);
  EXPECT_EQ(step.calls.back(), "settle 2");
}

TEST(Async, TablesApplyAtOnce) {
  EXPECT_EQ(Async::apply, ApplyRule::immediate);
  EXPECT_EQ(Async::name, "async");
}
