#include <prdist/checkpoint/shard_blocks.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include <prdist/checkpoint/part_reader.hpp>

#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

TEST(ShardBlocks, EveryRowIsInABlockOfItsShard) {
  TempDir const dir;
  PartWriter writer(dir.path().native(), 0);
  ShardBlocks blocks(writer, "t", sizeof(Key));
  for (Key key = 0; key < 5000; ++key) std::memcpy(blocks.add(key), &key, sizeof key);
  blocks.finish();
  EXPECT_EQ(writer.close().tables.at(0).rows, 5000U);
  std::map<Key, Key> found;
  PartReader(dir.path().native() + "/part-000")
      .for_each([](auto, auto) { return true; },
                [&](RowBlock const& block) {
                  EXPECT_EQ(block.table, table_id("t"));
                  for (std::size_t i = 0; i < block.keys.size(); ++i) {
                    EXPECT_EQ(block.shard, shard_of(hash_key(block.keys[i])));
                    std::memcpy(&found[block.keys[i]], &block.rows[i * sizeof(Key)], sizeof(Key));
                  }
                });
  EXPECT_EQ(found.size(), 5000U);
  for (auto const& [key, row] : found) EXPECT_EQ(key, row);
}

TEST(ShardBlocks, RowsLeaveWhenThereIsABlockOfThem) {
  TempDir const dir;
  auto const path = dir.path().native() + "/part-000";
  PartWriter writer(dir.path().native(), 0);
  auto const row = ShardBlocks::block_bytes / 2;
  constexpr std::size_t of_writer = std::size_t{4} << 20;  // what it may gather itself
  ShardBlocks blocks(writer, "t", row);
  auto const rows = of_writer / row;
  for (std::size_t i = 0; i < rows; ++i) (void)blocks.add(9);
  EXPECT_EQ(std::filesystem::file_size(path), 0U) << "two of them are with the blocks, the others with the writer";
  (void)blocks.add(9);
  EXPECT_GE(std::filesystem::file_size(path), of_writer);
  // A row larger than a block is a block.
  ShardBlocks large(writer, "u", 2 * ShardBlocks::block_bytes);
  for (int i = 0; i < 2; ++i) (void)large.add(9);
  large.finish();
  blocks.finish();
  EXPECT_EQ(writer.close().tables.size(), 2U);
}

}  // namespace
}  // namespace prdist
