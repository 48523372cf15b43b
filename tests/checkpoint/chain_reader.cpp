#include <prdist/checkpoint/chain_reader.hpp>

#include <gtest/gtest.h>

#include "sample.hpp"

namespace prdist {
namespace {

using Weights = std::map<Key, float>;

TEST(ChainReader, AFullCheckpointGivesEveryRowOfAllParts) {
  TempDir const dir;
  std::vector<Checkpoint> const chain{
      save(dir.path().native(), 0, {{rows_of(0, {1, 2}, 10), rows_of(2, {3}, 20)}, {rows_of(1, {4}, 30)}})};
  EXPECT_EQ(weights_in(chain), (Weights{{1, 10}, {2, 11}, {3, 20}, {4, 30}}));
}

TEST(ChainReader, TheNewestRowWinsAndRemovedKeysAreGone) {
  TempDir const dir;
  auto const path = dir.path().native();
  auto const full = save(path, 0, {{rows_of(0, {1, 2, 3}, 10), rows_of(1, {4}, 20)}, {rows_of(0, {5, 6}, 30)}});
  auto const second = save(path, 1, {{rows_of(0, {2, 7}, 40), removed(0, {5})}}, CheckpointBase{0, full.id});
  auto const third = save(path, 2, {{rows_of(0, {5}, 50), removed(0, {7, 1})}}, CheckpointBase{1, second.id});
  EXPECT_EQ(weights_in(chain_of(full)), (Weights{{1, 10}, {2, 11}, {3, 12}, {4, 20}, {5, 30}, {6, 31}}));
  EXPECT_EQ(weights_in(chain_of(second)), (Weights{{1, 10}, {2, 40}, {3, 12}, {4, 20}, {6, 31}, {7, 41}}));
  EXPECT_EQ(weights_in(chain_of(third)), (Weights{{2, 40}, {3, 12}, {4, 20}, {5, 50}, {6, 31}}));
}

TEST(ChainReader, GivesRowsAndNothingElse) {
  TempDir const dir;
  auto const path = dir.path().native();
  auto const full = save(path, 0, {{counters(0, 5), rows_of(0, {1, 2}, 10), on_probation(0, {1, 3}), counters(9, 5)}});
  auto const second =
      save(path, 1, {{on_probation(0, {2}), rows_of(0, {2}, 40), counters(0, 6)}}, CheckpointBase{0, full.id});
  EXPECT_EQ(weights_in(chain_of(full)), (Weights{{1, 10}, {2, 11}}));
  EXPECT_EQ(weights_in(chain_of(second)), (Weights{{1, 10}, {2, 40}}));
}

TEST(ChainReader, ServersOfAnyNumberGetEachRowOnce) {
  TempDir const dir;
  std::vector<std::vector<RowBlock>> parts(3);
  for (std::uint32_t shard = 0; shard < 40; ++shard) {
    parts[shard % 3].push_back(rows_of(shard, {shard * 2, shard * 2 + 1}, static_cast<float>(shard)));
  }
  std::vector<Checkpoint> const chain{save(dir.path().native(), 0, parts)};
  for (std::uint32_t servers : {1U, 2U, 5U, 40U}) {
    Placement const placement(servers);
    std::multiset<Key> keys;
    for (std::uint32_t server = 0; server < servers; ++server) {
      ChainReader(chain).for_each(
          [&](TableId, std::uint32_t shard) { return placement.server_of_shard(shard) == server; },
          [&](RowBlock const& block) {
            EXPECT_EQ(placement.server_of_shard(block.shard), server);
            keys.insert(block.keys.begin(), block.keys.end());
          });
    }
    EXPECT_EQ(keys.size(), 80U);
    EXPECT_EQ(std::set<Key>(keys.begin(), keys.end()).size(), 80U);
  }
}

}  // namespace
}  // namespace prdist
