#include <prdist/table/shard_tables.hpp>

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "../support/random.hpp"

using namespace prdist;

TEST(ShardTables, BlocksHoldEveryOwnedKeyInOrderWithItsRow) {
  std::bitset<shard_count> owned;
  for (std::size_t shard = 0; shard < shard_count; shard += 3) owned.set(shard);
  Arena arena;
  RowPool pool(arena, 8);
  ShardTables tables(arena, pool, 8, owned);
  EXPECT_EQ(tables.all().size(), owned.count());
  EXPECT_EQ(tables.shards()[1], 3);
  test::Random random(1);
  for (std::size_t const count : {0U, 1U, 15U, 16U, 17U, 48U, 49U, 1000U}) {
    std::vector<Key> keys(count);
    for (auto& key : keys) key = random.below(300);
    std::vector<std::size_t> expected, positions;
    for (std::size_t i = 0; i < count; ++i) {
      if (owned[shard_of(hash_key(keys[i]))]) expected.push_back(i);
    }
    tables.in_blocks(keys, [&](ShardTables::Block const& block) {
      for (std::size_t i = 0; i < block.count; ++i) {
        auto const key = keys[block.positions[i]];
        positions.push_back(block.positions[i]);
        ASSERT_EQ(block.hashes[i], hash_key(key));
        ASSERT_EQ(block.rows[i].row(), tables.of(block.hashes[i]).find(block.hashes[i], key).row());
      }
    });
    EXPECT_EQ(positions, expected);
    for (auto const key : keys) {
      auto const hash = hash_key(key);
      if (tables.owns(hash) && !tables.of(hash).find(hash, key)) tables.of(hash).insert(hash, key);
    }
  }
  std::set<Key> present;
  for (auto const& table : tables.all()) table.for_each([&](Key key, float const*) { present.insert(key); });
  EXPECT_EQ(present.size(), tables.rows());
}
