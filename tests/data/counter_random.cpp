#include <prdist/data/counter_random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace prdist;

TEST(CounterRandom, IsAPureFunctionOfStreamAndPosition) {
  // These numbers are part of what a seed means; a change of them changes every planted set and every shuffle.
  constexpr CounterRandom random(1);
  EXPECT_EQ(random.bits(0), 6791897765849424158U);
  EXPECT_EQ(random.fork(7).bits(3), 7085033223367039486U);
}

TEST(CounterRandom, UnitsFillTheUnitIntervalEvenly) {
  CounterRandom const random(5);
  std::vector<int> tenths(10);
  for (std::uint64_t i = 0; i < 100000; ++i) {
    auto const u = random.unit(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++tenths[static_cast<std::size_t>(u * 10)];
  }
  for (auto const count : tenths) EXPECT_NEAR(count, 10000, 400);  // four standard deviations
}

TEST(CounterRandom, ForksAndSeedsGiveOtherNumbers) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::uint64_t fork = 0; fork < 50; ++fork) seen.insert(CounterRandom(seed).fork(fork).bits(0));
  }
  EXPECT_EQ(seen.size(), 2500U);
}

TEST(CounterRandom, BelowStaysBelow) {
  CounterRandom const random(5);
  std::set<std::size_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(random.below(i, 7));
  EXPECT_EQ(seen, (std::set<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(RandomOrder, IsAPermutationThatDependsOnTheStreamAlone) {
  auto const order = random_order(1000, CounterRandom(3));
  EXPECT_EQ(order, random_order(1000, CounterRandom(3)));
  EXPECT_NE(order, random_order(1000, CounterRandom(4)));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[i], i);
  EXPECT_TRUE(random_order(0, CounterRandom(3)).empty());
}
