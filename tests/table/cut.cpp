#include <prdist/table/cut.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "cut_support.hpp"

using namespace prdist;
using test::Collector;

TEST(BlockBuilder, MakesBlocksOfOneShard) {
  Collector sink;
  GuardedSink guarded(sink);
  BlockBuilder builder(guarded, 9, sizeof(float));
  test::RowMap expected;
  for (std::size_t i = 0; i < 20000; ++i) {
    auto const value = static_cast<float>(i);
    builder.add(i % 3, i, &value);
    auto const* const bytes = reinterpret_cast<std::byte const*>(&value);
    expected[i] = {bytes, bytes + sizeof value};
  }
  builder.add_removed(5, 77);
  builder.flush();
  EXPECT_EQ(test::rows_in(sink.blocks, 9), expected);
  EXPECT_EQ(test::removed_in(sink.blocks, 9), std::vector<Key>{77});
  for (auto const& block : sink.blocks) {
    EXPECT_LE(block.keys.size(), 4096U);
    EXPECT_EQ(block.row_bytes, sizeof(float));
    for (auto const key : block.keys) EXPECT_EQ(block.shard, block.kind == BlockKind::removed ? 5 : key % 3);
  }
  auto const count = sink.blocks.size();
  builder.flush();
  EXPECT_EQ(sink.blocks.size(), count) << "nothing is left, nothing is sent";
}

TEST(BlockBuilder, LargeRowsMakeBlocksOfFew) {
  Collector sink;
  GuardedSink guarded(sink);
  std::vector<std::byte> const row(50000);
  BlockBuilder builder(guarded, 9, row.size());
  for (Key key = 0; key < 9; ++key) builder.add(0, key, row.data());
  builder.flush();
  ASSERT_EQ(sink.blocks.size(), 3U);
  for (auto const& block : sink.blocks) EXPECT_EQ(block.keys.size(), 3U);
}

TEST(BlockBuilder, FillsTheMemoryThatItsSinkHasToSpare) {
  struct Sink final : CutSink {
    std::vector<RowBlock> blocks{}, free{};
    void take(RowBlock&& block) override { blocks.push_back(std::move(block)); }
    RowBlock spare() override { return std::exchange(free, {}).front(); }
  } sink;
  RowBlock old{.table = 1, .shard = 7, .kind = BlockKind::removed, .row_bytes = 2};
  old.rows.reserve(1000);
  sink.free.push_back(std::move(old));
  GuardedSink guarded(sink);
  BlockBuilder builder(guarded, 9, sizeof(float));
  auto const value = 1.5F;
  builder.add(3, 11, &value);
  builder.flush();
  ASSERT_EQ(sink.blocks.size(), 1U);
  EXPECT_TRUE(sink.free.empty());
  auto const* const bytes = reinterpret_cast<std::byte const*>(&value);
  EXPECT_EQ(sink.blocks[0], (RowBlock{9, 3, BlockKind::rows, sizeof value, {11}, {bytes, bytes + sizeof value}}))
      << "nothing of the block before";
}

TEST(GuardedSink, KeepsTheFirstErrorAndDropsWhatFollows) {
  Collector sink;
  sink.fails_after = 1;
  GuardedSink guarded(sink);
  guarded.take({});
  EXPECT_FALSE(guarded.failed());
  guarded.take({});
  ASSERT_TRUE(guarded.failed());
  sink.fails_after = 99;
  guarded.take({});
  EXPECT_EQ(sink.blocks.size(), 1U);
  EXPECT_THROW(std::rethrow_exception(guarded.failed()), Error);
}
