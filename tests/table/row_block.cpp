#include <gtest/gtest.h>

#include <prdist/table/row_block.hpp>

namespace prdist {
namespace {

TEST(RowBlock, IsComparedByWhatItHolds) {
  RowBlock const block{.table = 7, .shard = 3, .row_bytes = 4, .keys = {1, 2}, .rows = std::vector<std::byte>(8)};
  auto other = block;
  EXPECT_EQ(block, other);
  other.rows[7] = std::byte{1};
  EXPECT_NE(block, other);
}

}  // namespace
}  // namespace prdist
