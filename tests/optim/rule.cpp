#include <prdist/optim/rule.hpp>

#include <gtest/gtest.h>

#include <prdist/optim/optimizer.hpp>

using namespace prdist;

static_assert(!row_wide<Sgd> && !row_wide<Adam> && row_wide<RowAdagrad> && row_wide<SharedAdam> && row_wide<Lamb>);
static_assert(row_sums_of<Sgd> == 0 && row_sums_of<RowAdagrad> == 1 && row_sums_of<Lamb> == 2);
static_assert(row_wide<Adjusted<Lamb, true>> && !row_wide<Adjusted<Sgd, true>>);

TEST(Rule, LanesAreAddedByHalves) {
  float lanes[]{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(sum_of_lanes(lanes), 36);
  // In another order the small ones would be lost or kept.
  float uneven[]{1e8F, 1, 0, 0, -1e8F, 1, 0, 0};
  EXPECT_EQ(sum_of_lanes(uneven), 2);
}
