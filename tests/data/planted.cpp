#include <prdist/data/planted.hpp>

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include <prdist/data/metrics.hpp>

using namespace prdist;

TEST(Planted, ARowDependsOnSeedSetAndIndexAlone) {
  Planted const planted(9), same(9), other(10);
  auto const row = planted.row(PlantedSet::train, 5);
  EXPECT_EQ(row.ids, same.row(PlantedSet::train, 5).ids);
  EXPECT_EQ(row.thousandths, same.row(PlantedSet::train, 5).thousandths);
  EXPECT_EQ(row.probability, same.row(PlantedSet::train, 5).probability);
  EXPECT_NE(row.ids, planted.row(PlantedSet::train, 6).ids);
  EXPECT_NE(row.ids, planted.row(PlantedSet::test, 5).ids);
  EXPECT_NE(row.ids, other.row(PlantedSet::train, 5).ids);
}

TEST(Planted, IdsAreWithinPaddleRecsTableAndBelongToOneSlot) {
  Planted const planted;
  std::map<Key, std::size_t> slot_of;
  for (std::size_t i = 0; i < 2000; ++i) {
    auto const row = planted.row(PlantedSet::train, i);
    for (std::size_t slot = 0; slot < row.ids.size(); ++slot) {
      ASSERT_GE(row.ids[slot], 1U);
      ASSERT_LE(row.ids[slot], 1000000U);
      ASSERT_EQ(slot_of.try_emplace(row.ids[slot], slot).first->second, slot);
    }
    for (auto const value : row.thousandths) ASSERT_LT(value, 1000);
  }
  EXPECT_GT(slot_of.size(), 8000U) << "rare ids are many";
}

TEST(Planted, ClicksFollowTheProbabilities) {
  Planted const planted;
  std::vector<double> clicks(5), expected(5), count(5);
  for (std::size_t i = 0; i < 20000; ++i) {
    auto const row = planted.row(PlantedSet::train, i);
    ASSERT_GT(row.probability, 0.0);
    ASSERT_LT(row.probability, 1.0);
    auto const fifth = static_cast<std::size_t>(row.probability * 5);
    clicks[fifth] += row.click ? 1 : 0;
    expected[fifth] += row.probability;
    ++count[fifth];
  }
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_GT(count[i], 500);
    EXPECT_NEAR(clicks[i] / count[i], expected[i] / count[i], 0.04);
  }
}

TEST(Planted, ABatchHoldsTheRows) {
  Planted const planted;
  auto const batch = planted.batch(PlantedSet::test, 10, 3);
  ASSERT_EQ(batch.size(), 3U);
  EXPECT_EQ(batch.slots, 26U);
  EXPECT_EQ(batch.dense_dim, 13U);
  auto const row = planted.row(PlantedSet::test, 12);
  EXPECT_EQ(batch.labels[2], row.click ? 1.0F : 0.0F);
  for (std::size_t slot = 0; slot < 26; ++slot) EXPECT_EQ(batch.keys_of(2, slot)[0], row.ids[slot]);
  EXPECT_EQ(batch.dense_of(2)[4], static_cast<float>(row.thousandths[4] / 1000.0));
}
