#include <prdist/strategy/by_name.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "../support/caught_log.hpp"
#include "../support/thrown.hpp"

using namespace prdist;

TEST(StrategyByName, EveryNameGivesItsOwnType) {
  for (auto const name : strategy_names) {
    with_strategy(name, {}, [&](auto strategy) { EXPECT_EQ(decltype(strategy)::name, name); });
  }
}

TEST(StrategyByName, EachTakesItsNumbers) {
  StrategyNumbers const numbers{.send_queue_size = 5, .max_merge_var_num = 6, .staleness = 7, .push_interval = 8};
  auto const sum = [](auto strategy) -> std::size_t {
    using Choice = decltype(strategy);
    if constexpr (std::is_same_v<Choice, Async>) return strategy.send_queue_size * 10 + strategy.max_merge_var_num;
    if constexpr (std::is_same_v<Choice, Ssp>) return strategy.staleness;
    if constexpr (std::is_same_v<Choice, Geo>) return strategy.push_interval;
    return 0;
  };
  EXPECT_EQ(with_strategy("async", numbers, sum), 56U);
  EXPECT_EQ(with_strategy("ssp", numbers, sum), 7U);
  EXPECT_EQ(with_strategy("geo", numbers, sum), 8U);
}

TEST(StrategyByName, MoreToMergeThanTheQueueHoldsIsTold) {
  CaughtLog const log;
  with_strategy("async", {.send_queue_size = 4, .max_merge_var_num = 5}, [](auto) {});
  EXPECT_TRUE(log.lines().empty());
  with_strategy("async", {.max_merge_var_num = 20}, [](auto) {});
  EXPECT_EQ(log.lines(),
            std::vector<std::string>{"strategy 'async': max_merge_var_num is 20, and with a send_queue_size "
                                     "of 2 at most 3 gradients leave as one: give a larger queue"});
}

TEST(StrategyByName, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  EXPECT_STREQ(test::thrown([] { with_strategy("asynchronous", {}, [](auto) {}); }).what(),
               "prdist[config.invalid] 'asynchronous' is no strategy: choose one of sync, half_async, async, geo, ssp");
}

TEST(StrategyByName, AnIntervalOfZeroIsRefused) {
  EXPECT_STREQ(test::thrown([] { with_strategy("geo", {.push_interval = 0}, [](auto) {}); }).what(),
               "prdist[config.invalid] strategy 'geo': push_interval is 0: give at least 1");
  EXPECT_STREQ(test::thrown([] { with_strategy("async", {.max_merge_var_num = 0}, [](auto) {}); }).what(),
               "prdist[config.invalid] strategy 'async': max_merge_var_num is 0: give at least 1");
}

TEST(StrategyOfPaddle, ReadsASyncAndKSteps) {
  StrategyNumbers numbers;
  EXPECT_EQ(strategy_of_paddle(false, 0, numbers).value(), "sync");
  EXPECT_EQ(strategy_of_paddle(false, -1, numbers).value(), "sync");
  EXPECT_EQ(strategy_of_paddle(true, 0, numbers).value(), "async");
  EXPECT_EQ(numbers.push_interval, Geo{}.push_interval);
  EXPECT_EQ(strategy_of_paddle(true, 400, numbers).value(), "geo");
  EXPECT_EQ(numbers.push_interval, 400U);
}

TEST(StrategyOfPaddle, WhatNamesNoModeThereIsRefusedHere) {
  StrategyNumbers numbers;
  EXPECT_STREQ(strategy_of_paddle(false, 100, numbers).error().what(),
               "prdist[config.contradiction] a_sync false with k_steps 100 names no strategy: (false, 0) is sync, "
               "(true, 0) async, (true, k) geo");
  EXPECT_FALSE(strategy_of_paddle(true, -2, numbers));
}
