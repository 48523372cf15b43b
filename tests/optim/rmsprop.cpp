#include <prdist/optim/rmsprop.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

TEST(RmsProp, FollowsTheTextbook) {
  RmsProp const rule{.rate = 0.01F, .rho = 0.9F};
  test::expect_textbook(rule, 0, 1e-5, [&](double& w, double* s, double g, int) {
    s[0] = double{rule.rho} * s[0] + (1 - double{rule.rho}) * g * g;
    w -= double{rule.rate} * g / std::sqrt(s[0] + double{rule.epsilon});
  });
}

TEST(RmsProp, TheMeanSquareStandsBehindTheWeights) {
  EXPECT_EQ(row_floats(RmsProp{}, 7), 14U);
  auto const row = test::one_step(RmsProp{.rate = 0.5F, .rho = 0.75F, .epsilon = 0}, {2, -4});
  EXPECT_EQ(row, (std::vector<float>{-1, 1, 1, 4}));
}
