#include <prdist/strategy/async.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recorded_step.hpp"

using namespace prdist;

TEST(Async, LetsABoundedNumberOfPushesBeUnderWay) {
  for (std::size_t const queue : {0U, 1U, 4U}) {
    test::RecordedStep step;
    Async const async{.send_queue_size = queue, .max_merge_var_num = 3};
    async.step(step);
    std::vector<std::string> expected{"pull", "ask ahead", "compute", "push 3", "settle " + std::to_string(queue)};
    if (queue == 0) expected.erase(expected.begin() + 1);  // who waits for its own pushes wants to see them
    EXPECT_EQ(step.calls, expected);
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
