#include <prdist/table/shrink.hpp>

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include <prdist/core/hash.hpp>

using namespace prdist;

TEST(Shrink, DecaysShowsAndClicksOfARowThatStays) {
  Statistics const policy{.kept = true, .decay = 0.5F, .delete_below = 1, .unseen_days = 3};
  RowStatistics known{.show = 8, .click = 4, .delta_score = 7, .day = 10};
  EXPECT_TRUE(outlives(policy, 13, known));
  EXPECT_EQ(known.show, 4);
  EXPECT_EQ(known.click, 2);
  EXPECT_EQ(known.delta_score, 7);
  EXPECT_EQ(known.day, 10U);
}

TEST(Shrink, ARowGoesByItsDecayedScoreOrByItsDay) {
  Statistics const policy{
      .kept = true, .nonclick_weight = 0, .click_weight = 1, .decay = 0.5F, .delete_below = 1, .unseen_days = 3};
  RowStatistics poor{.show = 2, .click = 1.9F, .day = 10}, old{.show = 8, .click = 8, .day = 10}, young = old;
  EXPECT_FALSE(outlives(policy, 10, poor));
  EXPECT_FALSE(outlives(policy, 14, old));
  EXPECT_TRUE(outlives(policy, 9, young)) << "a day that comes before a row's last is no reason to let it go";
}

// Segments split while a pass is under way; a row is through once, whichever half it lies in.
TEST(Shrink, APassComesByEveryRowOnceHoweverTheTableGrows) {
  Arena arena;
  RowPool pool(arena, 8);
  std::vector<SparseTable> tables;
  for (int i = 0; i < 3; ++i) tables.emplace_back(arena, pool, 0U);
  for (Key key = 0; key < 9000; ++key) tables[key % 3].insert(hash_key(key), key);
  ShrinkPass pass;
  EXPECT_FALSE(pass.advance(1000, tables, [](SparseTable&, std::size_t) { FAIL() << "none was begun"; }));
  Key next = 9000;
  for (int round = 1; round <= 3; ++round) {
    auto const there = next;
    std::map<Key, int> seen;
    pass.begin();
    std::size_t slices = 0;
    auto const visit = [&](SparseTable& table, std::size_t segment) {
      table.for_each_in(segment, [&](Key key, MarkedRow const&) { ++seen[key]; });
    };
    while (pass.advance(100, tables, visit)) {
      ++slices;
      for (int i = 0; i < 100; ++i, ++next) tables[next % 3].insert(hash_key(next), next);
    }
    EXPECT_GT(slices, 10U);
    for (Key key = 0; key < there; ++key) ASSERT_EQ(seen[key], 1) << "key " << key << " in round " << round;
  }
}
