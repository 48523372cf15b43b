#include <prdist/table/row_block.hpp>

#include <gtest/gtest.h>

#include "../support/thrown.hpp"

namespace prdist {
namespace {

TEST(RowBlock, IsComparedByWhatItHolds) {
  RowBlock const block{.table = 7, .shard = 3, .row_bytes = 4, .keys = {1, 2}, .rows = std::vector<std::byte>(8)};
  auto other = block;
  EXPECT_EQ(block, other);
  other.rows[7] = std::byte{1};
  EXPECT_NE(block, other);
}

TEST(RowBlock, RowsOfAnotherSizeAreRefusedWithBothSizes) {
  RowBlock const block{.table = 7, .row_bytes = 8, .keys = {1, 2}, .rows = std::vector<std::byte>(16)};
  EXPECT_NO_THROW(check_shape("ads", block, 8));
  EXPECT_STREQ(test::thrown([&] { check_shape("ads", block, 12); }).what(),
               "prdist[table.shape] table 'ads' has rows of 12 bytes, those to be loaded have 8: load them with the "
               "dim, optimizer and precision they were saved with");
  auto removed = block;
  removed.kind = BlockKind::removed;
  EXPECT_NO_THROW(check_shape("ads", removed, 12)) << "it has no rows";
}

TEST(RowBlock, ABlockThatIsNotWholeIsRefused) {
  RowBlock block{.table = 7, .row_bytes = 8, .keys = {1, 2}, .rows = std::vector<std::byte>(16)};
  for (std::size_t const bytes : {0U, 8U, 15U, 17U, 24U}) {
    block.rows.resize(bytes);
    EXPECT_EQ(test::thrown([&] { check_shape("ads", block, 8); }).what(),
              concat("prdist[table.shape] table 'ads': a block of 2 keys has ", bytes,
                     " bytes of rows instead of 8 each: it is damaged"));
  }
}

}  // namespace
}  // namespace prdist
