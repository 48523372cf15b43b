#include <prdist/optim/momentum.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "trajectory.hpp"

using namespace prdist;

TEST(Momentum, FollowsTheTextbook) {
  Momentum const rule{.rate = 0.05F, .momentum = 0.8F};
  test::expect_textbook(rule, 0, 2e-5, [&](double& w, double* v, double g, int) {
    v[0] = double{rule.momentum} * v[0] + g;
    w -= double{rule.rate} * v[0];
  });
}

TEST(Momentum, LooksAheadWithNesterov) {
  Momentum const rule{.rate = 0.05F, .momentum = 0.8F, .nesterov = true};
  test::expect_textbook(rule, 0, 2e-5, [&](double& w, double* v, double g, int) {
    v[0] = double{rule.momentum} * v[0] + g;
    w -= double{rule.rate} * (g + double{rule.momentum} * v[0]);
  });
}

TEST(Momentum, VelocityStandsBehindTheWeights) {
  EXPECT_EQ(row_floats(Momentum{}, 7), 14U);
  EXPECT_EQ(test::one_step(Momentum{.rate = 0.5F}, {1, -2, 4}), (std::vector<float>{-0.5F, 1, -2, 1, -2, 4}));
}

// The two rules share one expression: what only Nesterov's needs must not overflow in the plain one.
TEST(Momentum, AVelocityNearTheLargestFloatStaysFinite) {
  auto const row = test::one_step(Momentum{.rate = 1e-3F, .momentum = 0.9F}, {3e38F});
  EXPECT_FLOAT_EQ(row[0], -3e35F);
}
