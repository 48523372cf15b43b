#include <prdist/table/shard_counters.hpp>

#include <gtest/gtest.h>

#include "../support/thrown.hpp"

namespace prdist {
namespace {

TEST(ShardCounters, GoThroughABlock) {
  ShardCounters const counters{.pushes = 0x123456789abcdefULL, .day = 77};
  auto const block = block_of(counters, 5, 9);
  EXPECT_EQ(block.table, 5U);
  EXPECT_EQ(block.shard, 9U);
  EXPECT_EQ(block.kind, BlockKind::counters);
  EXPECT_EQ(block.keys.size(), 1U) << "a block without keys is not written";
  EXPECT_EQ(counters_in(block, "ads"), counters);
}

TEST(ShardCounters, OfTwoTheLaterNumbersHold) {
  ShardCounters counters{.pushes = 5, .day = 9};
  counters.take_later({.pushes = 7, .day = 2});
  EXPECT_EQ(counters, (ShardCounters{.pushes = 7, .day = 9}));
  counters.take_later({.pushes = 6, .day = 10});
  EXPECT_EQ(counters, (ShardCounters{.pushes = 7, .day = 10}));
}

TEST(ShardCounters, ABlockOfAnotherSizeIsRefused) {
  auto block = block_of({}, 5, 9);
  block.row_bytes = 8;
  EXPECT_TRUE(
      test::holds(test::thrown([&] { (void)counters_in(block, "ads"); }).what(), "prdist[table.shape] table 'ads'"));
  block = block_of({}, 5, 9);
  block.rows.resize(4);
  EXPECT_TRUE(test::holds(test::thrown([&] { (void)counters_in(block, "ads"); }).what(), "it is damaged"));
}

}  // namespace
}  // namespace prdist
