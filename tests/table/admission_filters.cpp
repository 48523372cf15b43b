#include <prdist/table/admission_filters.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/table/placement.hpp>

#include "../support/random.hpp"
#include "../support/thrown.hpp"
#include "cut_support.hpp"

using namespace prdist;
using test::Collector;
using test::Random;

namespace {

constexpr TableId id = 4;

std::vector<std::uint16_t> all_shards() {
  std::vector<std::uint16_t> shards(shard_count);
  for (std::size_t i = 0; i < shards.size(); ++i) shards[i] = static_cast<std::uint16_t>(i);
  return shards;
}

/// The filters of every shard, and what is cut of them.
struct Table {
  explicit Table(Admission const& policy) : filters(arena, policy, 1, shard_count) {}

  bool push(Key key, std::uint64_t sighting = 0) {
    auto const hash = hash_key(key);
    return filters.admits(shard_of(hash), hash, key, sighting);
  }
  void load(std::vector<RowBlock> const& blocks) {
    for (auto const& block : blocks) filters.load("t", block.shard, block);
  }
  void begin(GuardedSink& sink) { filters.begin_cut(sink, id, shards); }
  std::vector<RowBlock> cut() {
    Collector sink;
    GuardedSink guarded(sink);
    begin(guarded);
    while (filters.advance_cut(512)) {
    }
    return std::move(sink.blocks);
  }

  Arena arena{};
  std::vector<std::uint16_t> shards = all_shards();
  AdmissionFilters filters;
};

/// What blocks hold, whatever slices they left in.
using Content = std::vector<std::tuple<std::uint32_t, Key, std::vector<std::byte>>>;
Content content(std::vector<RowBlock> const& blocks) {
  Content all;
  for (auto const& block : blocks) {
    EXPECT_EQ(block.table, id);
    EXPECT_EQ(block.kind, BlockKind::admission);
    EXPECT_EQ(block.rows.size(), block.keys.size() * block.row_bytes);
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      auto const* const row = block.rows.data() + i * block.row_bytes;
      all.emplace_back(block.shard, block.keys[i], std::vector(row, row + block.row_bytes));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Admission> const counting{
    {.kind = Admission::Kind::count, .pushes = 4},
    {.kind = Admission::Kind::count, .pushes = 4, .capacity = 4096},  // so few that some are forgotten
    {.kind = Admission::Kind::bloom, .pushes = 4},
    {.kind = Admission::Kind::bloom, .pushes = 4, .capacity = 4096, .false_positives = 0.2},
};

}  // namespace

TEST(AdmissionFilters, WithoutAPolicyThereAreNone) {
  Table all({}), chance(Admission::by_chance(0.5));
  EXPECT_TRUE(all.filters.empty());
  EXPECT_TRUE(all.cut().empty());
  EXPECT_FALSE(chance.filters.empty());
  (void)chance.push(1);
  EXPECT_TRUE(chance.cut().empty()) << "a draw remembers nothing";
  EXPECT_NO_THROW(all.load({RowBlock{.kind = BlockKind::admission, .row_bytes = 3}}));
  EXPECT_NO_THROW(chance.load({RowBlock{.kind = BlockKind::admission, .row_bytes = 3}}));
}

// The order of pushes decides who is forgotten, so it must not matter that one of the two was loaded.
TEST(AdmissionFilters, WhatIsLoadedGoesOnAsIfNothingHadBeen) {
  for (auto const& policy : counting) {
    Table alone(policy);
    Random random(3);
    for (int i = 0; i < 40000; ++i) (void)alone.push(random.below(9000));
    Table loaded(policy);
    for (int i = 0; i < 500; ++i) (void)loaded.push(random.below(9000));
    loaded.filters.clear();
    auto const saved = alone.cut();
    EXPECT_FALSE(saved.empty());
    loaded.load(saved);
    std::size_t admitted = 0;
    for (int i = 0; i < 40000; ++i) {
      auto const key = random.below(9000);
      auto const in = alone.push(key);
      admitted += in ? 1U : 0U;
      ASSERT_EQ(loaded.push(key), in) << name_of(policy.kind) << ", push " << i;
    }
    EXPECT_GT(admitted, 1000U);
    EXPECT_EQ(content(loaded.cut()), content(alone.cut()));
  }
}

TEST(AdmissionFilters, ACutIsOfTheMomentItBegan) {
  for (auto const& policy : counting) {
    Table table(policy);
    Random random(4);
    for (int i = 0; i < 20000; ++i) (void)table.push(random.below(9000));
    auto const before = content(table.cut());
    Collector sink;
    GuardedSink guarded(sink);
    table.begin(guarded);
    int slices = 0;
    do {
      ++slices;
      for (int i = 0; i < 50; ++i) (void)table.push(random.below(9000));
    } while (table.filters.advance_cut(256));
    EXPECT_GT(slices, 20);
    EXPECT_EQ(content(sink.blocks), before) << name_of(policy.kind) << " of " << policy.capacity;
    EXPECT_NE(content(table.cut()), before);
  }
}

// A full Bloom filter forgets all at once, in the middle of a cut too.
TEST(AdmissionFilters, WhatABloomFilterForgetsIsInTheCutBeforeIt) {
  Table table({.kind = Admission::Kind::bloom, .pushes = 4, .capacity = 256});
  for (Key key = 0; key < 2000; ++key) (void)table.push(key);
  auto const before = content(table.cut());
  Collector sink;
  GuardedSink guarded(sink);
  table.begin(guarded);
  for (Key key = 10000; key < 30000; ++key) (void)table.push(key);
  while (table.filters.advance_cut(512)) {
  }
  EXPECT_EQ(content(sink.blocks), before);
}

TEST(AdmissionFilters, ALoadInTheMiddleOfACutIsNotInIt) {
  Table table(counting[0]), other(counting[0]);
  for (Key key = 0; key < 3000; ++key) (void)(key % 2 == 0 ? table : other).push(key);
  auto const before = content(table.cut());
  auto const loaded = other.cut();
  Collector sink;
  GuardedSink guarded(sink);
  table.begin(guarded);
  table.filters.clear();
  table.load(loaded);
  EXPECT_FALSE(table.filters.advance_cut(512));
  EXPECT_EQ(content(sink.blocks), before);
  EXPECT_EQ(content(table.cut()), content(loaded));
}

TEST(AdmissionFilters, ACutThatWasCancelledHandsOutNoMore) {
  Table table(counting[0]);
  for (Key key = 0; key < 1000; ++key) (void)table.push(key);
  Collector sink;
  GuardedSink guarded(sink);
  table.begin(guarded);
  EXPECT_TRUE(table.filters.advance_cut(1));
  table.filters.cancel_cut();
  auto const handed_out = sink.blocks.size();
  for (Key key = 0; key < 1000; ++key) (void)table.push(key);
  EXPECT_FALSE(table.filters.advance_cut(1000));
  EXPECT_EQ(sink.blocks.size(), handed_out);
}

TEST(AdmissionFilters, CountsGoIntoAFilterOfAnotherCapacity) {
  Table small({.kind = Admission::Kind::count, .pushes = 4, .capacity = 256 * 40});
  Table large({.kind = Admission::Kind::count, .pushes = 3, .capacity = 256 * 4000});
  for (Key key = 0; key < 500; ++key) {
    (void)small.push(key);
    (void)small.push(key);
  }
  large.load(small.cut());
  for (Key key = 0; key < 500; ++key) EXPECT_TRUE(large.push(key)) << "its third";
  // And back, where they are too many: those seen most stay.
  for (Key key = 0; key < 50; ++key) {
    (void)large.push(key);
    (void)large.push(key);
  }
  for (Key key = 1000; key < 100000; ++key) (void)large.push(key);
  small.filters.clear();
  small.load(large.cut());
  for (Key key = 0; key < 50; ++key) {
    EXPECT_FALSE(small.push(key)) << "its third";
    EXPECT_TRUE(small.push(key)) << "its fourth";
  }
}

TEST(AdmissionFilters, ABlockThatDoesNotFitIsRefused) {
  Table count(counting[0]), bloom(counting[2]);
  (void)count.push(1);
  (void)bloom.push(1);
  auto const counts = count.cut(), pieces = bloom.cut();
  EXPECT_EQ(test::thrown([&] { count.load(pieces); }).code(), Errc::table_shape);
  EXPECT_EQ(test::thrown([&] { bloom.load(counts); }).code(), Errc::table_shape);
  auto beyond = pieces;
  for (auto& key : beyond.front().keys) key = 1000000;
  EXPECT_TRUE(test::holds(test::thrown([&] { bloom.load(beyond); }).what(),
                          "prdist[table.shape] table 't': piece 1000000 of a Bloom filter that has "));
}

TEST(AdmissionFilters, GoOnWhereTheOtherPolicyMeansTheSame) {
  auto const bloom = counting[2];
  auto wider = bloom, later = bloom;
  wider.capacity *= 2;
  later.pushes = 9;
  EXPECT_TRUE(continues(bloom, bloom));
  EXPECT_TRUE(continues(later, bloom)) << "counts are counts";
  EXPECT_FALSE(continues(wider, bloom)) << "other counters are whose";
  EXPECT_TRUE(continues(counting[0], counting[1]));
  EXPECT_FALSE(continues(counting[0], bloom));
  EXPECT_TRUE(continues({}, bloom)) << "nothing is lost that would be needed";
  EXPECT_TRUE(continues(bloom, Admission::by_chance(0.1))) << "nothing was there";
}
