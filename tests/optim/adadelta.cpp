#include <prdist/optim/adadelta.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

TEST(AdaDelta, FollowsTheTextbook) {
  AdaDelta const rule{.rate = 0.5F, .rho = 0.9F, .epsilon = 1e-4F};
  test::expect_textbook(rule, 0, 2e-5, [&](double& w, double* s, double g, int) {
    double const rho = rule.rho, epsilon = rule.epsilon;
    s[0] = rho * s[0] + (1 - rho) * g * g;
    auto const d = std::sqrt(s[1] + epsilon) / std::sqrt(s[0] + epsilon) * g;
    s[1] = rho * s[1] + (1 - rho) * d * d;
    w -= double{rule.rate} * d;
  });
}

TEST(AdaDelta, MeanSquaresOfGradientsThenOfStepsStandBehindTheWeights) {
  EXPECT_EQ(row_floats(AdaDelta{}, 7), 21U);
  auto const row = test::one_step(AdaDelta{.rate = 2, .rho = 0.5F, .epsilon = 1}, {1, 0});
  auto const step = std::sqrt(1.0F / 1.5F);
  EXPECT_EQ(row, (std::vector<float>{-2 * step, 0, 0.5F, 0, 0.5F * step * step, 0}));
}
