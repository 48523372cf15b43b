#include <prdist/table/changed_rows.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "../support/random.hpp"

using namespace prdist;

namespace {

std::set<Key> keys_of(ChangedRows::Answer const& answer) {
  return {answer.keys.begin(), answer.keys.end()};
}

}  // namespace

TEST(ChangedRows, TellsWhatOthersHaveChangedAndNotWhatTheAskerDid) {
  ChangedRows rows({0, 1});
  rows.begin_change();
  rows.note(0, 10);
  rows.note(0, 11);
  rows.begin_change();
  rows.note(1, 11);
  rows.note(1, 12);
  EXPECT_EQ(keys_of(rows.changed(0, 0)), (std::set<Key>{11, 12}));
  EXPECT_EQ(keys_of(rows.changed(1, 0)), (std::set<Key>{10, 11}));
  EXPECT_EQ(rows.changed(0, 0).now, 2U);
  EXPECT_TRUE(rows.changed(0, 2).keys.empty());
}

TEST(ChangedRows, ForgetsWhatAllHaveHeardOf) {
  ChangedRows rows({0, 1});
  rows.begin_change();
  rows.note(0, 10);
  rows.heard(1, 1);
  EXPECT_EQ(rows.size(), 1U);
  rows.heard(0, 1);
  EXPECT_EQ(rows.size(), 0U);
  rows.begin_change();
  rows.note(0, 11);
  rows.heard(0, 2);
  rows.leave(1);  // nobody else would ask
  EXPECT_EQ(rows.size(), 0U);
}

TEST(ChangedRows, ASlowTrainerIsToldToFetchAllWhenTheRecordIsFull) {
  ChangedRows rows({0, 1, 2}, 100);
  rows.begin_change();
  for (Key key = 0; key < 60; ++key) rows.note(0, key);
  auto const fast = rows.changed(1, 0);
  rows.heard(1, fast.now);
  rows.begin_change();
  for (Key key = 50; key < 130; ++key) rows.note(0, key);
  EXPECT_EQ(rows.size(), 100U);
  EXPECT_TRUE(rows.changed(2, 0).forgotten);
  auto const next = rows.changed(1, fast.now);  // it had heard of those that went
  EXPECT_FALSE(next.forgotten);
  EXPECT_EQ(next.keys.size(), 80U);
  rows.heard(2, rows.changed(2, 0).now);
  EXPECT_FALSE(rows.changed(2, 2).forgotten);
}

TEST(ChangedRows, AgreesWithARecordOfEverything) {
  // The definition, written out: for each trainer every change since it last asked that another one made.
  test::Random random(5);
  ChangedRows rows({0, 1, 2});
  std::map<std::uint32_t, std::set<Key>> due;
  std::map<std::uint32_t, std::uint64_t> since;
  for (int i = 0; i < 3000; ++i) {
    auto const trainer = static_cast<std::uint32_t>(random.below(3));
    if (random.below(4) == 0) {
      rows.heard(trainer, since[trainer]);
      auto const answer = rows.changed(trainer, since[trainer]);
      EXPECT_EQ(keys_of(answer), due[trainer]);
      EXPECT_EQ(answer.keys.size(), due[trainer].size());
      EXPECT_FALSE(answer.forgotten);
      due[trainer].clear();
      since[trainer] = answer.now;
      continue;
    }
    rows.begin_change();
    for (int k = 0; k < 3; ++k) {
      Key const key = random.below(40);
      rows.note(trainer, key);
      for (std::uint32_t other = 0; other < 3; ++other) {
        if (other != trainer) due[other].insert(key);
      }
    }
    EXPECT_LE(rows.size(), 40U);
  }
}
