#include <prdist/data/epoch_order.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace prdist;

using Order = std::vector<std::uint32_t>;

TEST(EpochOrder, WithoutASeedFilesComeAsTheyAre) {
  for (std::uint64_t const epoch : {0, 7}) EXPECT_EQ(file_order(4, std::nullopt, epoch), (Order{0, 1, 2, 3}));
  EXPECT_TRUE(file_order(0, 3, 0).empty());
}

TEST(EpochOrder, OfASeedIsTheSameEverywhereAndForEver) {
  // Numbers that a job of an earlier release went by: a checkpoint of it must mean the same files and rows today.
  EXPECT_EQ(file_order(6, 1, 0), (Order{1, 3, 0, 4, 5, 2}));
  EXPECT_EQ(file_order(6, 1, 1), (Order{4, 5, 2, 1, 0, 3}));
  EXPECT_EQ(row_order(6, 1, 0, 1), (Order{4, 3, 2, 1, 5, 0}));
  EXPECT_EQ(row_order(6, 1, 0, 2), (Order{0, 1, 4, 3, 5, 2}));
}

TEST(EpochOrder, HangsOnEachOfItsNumbers) {
  auto const order = row_order(1000, 5, 6, 7);
  EXPECT_NE(order, row_order(1000, 4, 6, 7));
  EXPECT_NE(order, row_order(1000, 5, 7, 7));
  EXPECT_NE(order, row_order(1000, 5, 6, 8));
  EXPECT_NE(order, row_order(1000, 5, 7, 6));
  auto sorted = order;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, file_order(1000, std::nullopt, 0));
}
