#include <prdist/data/batch.hpp>

#include <gtest/gtest.h>

using namespace prdist;

namespace {

/// Two slots, one dense feature; the first slot of example i has i ids.
Batch growing(std::size_t examples) {
  Batch batch;
  batch.slots = 2;
  batch.dense_dim = 1;
  for (std::size_t i = 0; i < examples; ++i) {
    batch.labels.push_back(i % 2 == 0 ? 0.0F : 1.0F);
    batch.dense.push_back(static_cast<float>(i));
    for (std::size_t k = 0; k < i; ++k) batch.keys.push_back(100 * i + k);
    batch.end_slot();
    batch.keys.push_back(i);
    batch.end_slot();
  }
  return batch;
}

}  // namespace

TEST(Batch, KnowsTheIdsOfEverySlotOfEveryExample) {
  auto const batch = growing(3);
  ASSERT_EQ(batch.size(), 3U);
  EXPECT_TRUE(batch.keys_of(0, 0).empty());
  ASSERT_EQ(batch.keys_of(2, 0).size(), 2U);
  EXPECT_EQ(batch.keys_of(2, 0)[0], 200U);
  EXPECT_EQ(batch.keys_of(2, 0)[1], 201U);
  ASSERT_EQ(batch.keys_of(2, 1).size(), 1U);
  EXPECT_EQ(batch.keys_of(2, 1)[0], 2U);
  EXPECT_EQ(batch.dense_of(1)[0], 1.0F);
}

TEST(Batch, EveryKeyHasTheLabelOfItsExample) {
  auto batch = growing(3);  // example i has i keys in the first slot, one in the second
  batch.labels = {1, 0, 1};
  std::vector<float> labels(batch.keys.size(), 7);
  batch.labels_of_keys(labels);
  EXPECT_EQ(labels, (std::vector<float>{1, 0, 0, 1, 1, 1}));
}

TEST(Batch, ClearKeepsShapeAndMemory) {
  auto batch = growing(50);
  auto const* const keys = batch.keys.data();
  auto const* const labels = batch.labels.data();
  auto const* const offsets = batch.offsets.data();
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.slots, 2U);
  EXPECT_EQ(batch.offsets, std::vector<std::uint32_t>{0});
  auto const again = growing(50);
  for (std::size_t i = 0; i < again.size(); ++i) batch.append(again, i);
  EXPECT_EQ(batch, again);
  EXPECT_EQ(batch.keys.data(), keys);
  EXPECT_EQ(batch.labels.data(), labels);
  EXPECT_EQ(batch.offsets.data(), offsets);
}

TEST(Batch, AppendCopiesOneExampleWithAllItsIds) {
  auto const from = growing(4);
  Batch to;
  to.slots = 2;
  to.dense_dim = 1;
  to.append(from, 3);
  to.append(from, 0);
  ASSERT_EQ(to.size(), 2U);
  EXPECT_EQ(to.labels, (std::vector<float>{1, 0}));
  EXPECT_EQ(to.dense, (std::vector<float>{3, 0}));
  EXPECT_EQ(to.keys, (std::vector<Key>{300, 301, 302, 3, 0}));
  EXPECT_EQ(to.offsets, (std::vector<std::uint32_t>{0, 3, 4, 4, 5}));
}

TEST(Batch, ASliceHoldsItsExamplesAsTheyWere) {
  Batch batch{.slots = 2, .dense_dim = 1, .labels = {}, .dense = {}, .keys = {}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    batch.labels.push_back(static_cast<float>(i % 2));
    batch.dense.push_back(static_cast<float>(i));
    for (std::uint32_t k = 0; k < i; ++k) batch.keys.push_back(i * 10 + k);  // none, one, two, three in slot 0
    batch.end_slot();
    batch.keys.push_back(i);
    batch.end_slot();
  }
  auto const part = batch.slice(1, 2);
  Batch expected{.slots = 2, .dense_dim = 1, .labels = {}, .dense = {}, .keys = {}};
  expected.append(batch, 1);
  expected.append(batch, 2);
  EXPECT_EQ(part, expected);
  EXPECT_EQ(batch.slice(0, 4), batch);
  EXPECT_TRUE(batch.slice(4, 0).empty());
}
