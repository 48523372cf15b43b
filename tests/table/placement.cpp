#include <prdist/table/placement.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../support/random.hpp"
#include "../support/thrown.hpp"

using namespace prdist;
using test::thrown;

TEST(Placement, EveryShardHasAServerAndNoneHasMoreThanItsShare) {
  for (std::size_t servers = 1; servers <= shard_count; ++servers) {
    Placement const placement(servers);
    EXPECT_EQ(placement.servers(), servers);
    std::vector<std::size_t> shards(servers);
    for (std::size_t shard = 0; shard < shard_count; ++shard) ++shards.at(placement.server_of_shard(shard));
    auto const [least, most] = std::minmax_element(shards.begin(), shards.end());
    EXPECT_GE(*least, 1U) << servers;
    EXPECT_LE(*most - *least, 1U) << servers;
  }
}

TEST(Placement, RefusesNoServersAndMoreThanShards) {
  for (std::size_t const servers : {std::size_t{0}, shard_count + 1, std::size_t{1} << 40}) {
    auto const error = thrown([&] { Placement const placement(servers); });
    EXPECT_EQ(error.code(), Errc::config_invalid);
    EXPECT_EQ(error.what(), concat("prdist[config.invalid] ", servers, " servers: a job has between 1 and 256"));
  }
}

TEST(Placement, CarriesItsEpoch) {
  EXPECT_EQ(Placement(3).epoch(), 1U);
  EXPECT_EQ(Placement(3, 9).epoch(), 9U);
}

TEST(Placement, SequentialKeysAreSpreadEvenly) {
  std::vector<int> keys(shard_count);
  constexpr int each = 200;
  for (Key key = 0; key < shard_count * each; ++key) ++keys.at(shard_of(hash_key(key)));
  // Five standard deviations around 200.
  for (auto const count : keys) EXPECT_NEAR(count, each, 5 * 14.2);
}

TEST(Placement, RangesOfTheServersPartitionATable) {
  test::Random random(1);
  for (std::size_t const servers : {1U, 2U, 3U, 7U, 256U}) {
    Placement const placement(servers);
    for (std::size_t const floats :
         {std::size_t{1}, range_floats - 1, range_floats, range_floats + 1, 1000 * range_floats}) {
      auto const table = random.bits();
      std::vector<int> holders(range_count(floats));
      std::size_t held = 0, least = holders.size(), most = 0;
      for (std::size_t server = 0; server < servers; ++server) {
        auto const ranges = placement.ranges_of(table, floats, server);
        EXPECT_TRUE(std::is_sorted(ranges.begin(), ranges.end()));
        for (auto const range : ranges) {
          ++holders.at(range);
          held += range_length(floats, range);
        }
        least = std::min(least, ranges.size());
        most = std::max(most, ranges.size());
      }
      EXPECT_EQ(held, floats);
      for (auto const count : holders) EXPECT_EQ(count, 1);
      // Shards are dealt in turn, beginning anew after the last: one range of difference for each beginning.
      EXPECT_LE(most - least, 2 + range_count(floats) / shard_count) << servers << " servers, " << floats;
    }
  }
}

TEST(Placement, OnlyTheLastRangeMayBeShort) {
  EXPECT_EQ(range_count(0), 0U);
  EXPECT_EQ(range_count(1), 1U);
  EXPECT_EQ(range_count(range_floats), 1U);
  EXPECT_EQ(range_count(range_floats + 1), 2U);
  EXPECT_EQ(range_length(range_floats + 5, 0), range_floats);
  EXPECT_EQ(range_length(range_floats + 5, 1), 5U);
  EXPECT_EQ(range_length(2 * range_floats, 1), range_floats);
}

TEST(Placement, ShardsAreTheTopBitsOfTheHash) {
  static_assert(shard_of(0) == 0 && shard_of(~0ULL) == 255 && shard_of(1ULL << 56) == 1);
  static_assert(shard_of_range(250, 10) == 4);
}
