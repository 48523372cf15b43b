#include <prdist/optim/sgd.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "trajectory.hpp"

using namespace prdist;

// Sixty sums of numbers below 1, each rounded once or twice to 2^-24.
TEST(Sgd, FollowsTheTextbook) {
  Sgd const rule{.rate = 0.05F};
  test::expect_textbook(rule, 0, 1e-5, [&](double& w, double*, double g, int) { w -= double{rule.rate} * g; });
}

TEST(Sgd, RowHoldsWeightsAndNothingElse) {
  EXPECT_EQ(row_floats(Sgd{}, 7), 7U);
  EXPECT_EQ(test::one_step(Sgd{.rate = 0.5F}, {1, -2, 4}), (std::vector<float>{-0.5F, 1, -2}));
}
