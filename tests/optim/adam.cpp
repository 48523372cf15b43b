#include <prdist/optim/adam.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

// The correction 1 - beta2^t loses digits in floats: a few parts in 1e5 of each step, which is at most a rate long.
TEST(Adam, FollowsTheTextbook) {
  for (auto const epsilon : {1e-8F, 0.1F}) {
    Adam const rule{.rate = 0.01F, .epsilon = epsilon};
    test::expect_textbook(rule, 0, 5e-5, [&](double& w, double* m, double g, int t) {
      double const beta1 = rule.beta1, beta2 = rule.beta2;
      m[0] = beta1 * m[0] + (1 - beta1) * g;
      m[1] = beta2 * m[1] + (1 - beta2) * g * g;
      auto const first = m[0] / (1 - std::pow(beta1, t));
      auto const second = m[1] / (1 - std::pow(beta2, t));
      w -= double{rule.rate} * first / (std::sqrt(second) + double{rule.epsilon});
    });
  }
}

TEST(Adam, MomentsThenTheRowsOwnPowersStandBehindTheWeights) {
  EXPECT_EQ(row_floats(Adam{}, 7), 23U);
  Adam const rule{.rate = 0.5F, .beta1 = 0.5F, .beta2 = 0.75F, .epsilon = 0};
  // The first step of Adam is a whole rate against the gradient's sign, whatever its size.
  EXPECT_EQ(test::one_step(rule, {4, -2}), (std::vector<float>{-0.5F, 0.5F, 2, -1, 4, 1, 0.5F, 0.75F}));
}

// A key that comes late must not be corrected as if it had been there from the start.
TEST(Adam, EveryRowHasItsOwnAge) {
  Optimizer const rule = Adam{.rate = 0.01F};
  std::size_t const dim = 3;
  std::vector<std::vector<float>> rows(2, std::vector<float>(row_floats(rule, dim)));
  for (auto& row : rows) write_first_state(rule, row.data(), dim);
  std::vector<float> const gradient{0.5F, -3, 1e-3F};
  auto const* const from = gradient.data();
  auto const kernel = row_kernel(rule);
  auto* old = rows[0].data();
  for (int step = 0; step < 20; ++step) kernel(rule, &old, &from, 1, dim);
  auto* young = rows[1].data();
  kernel(rule, &young, &from, 1, dim);
  EXPECT_TRUE(test::same_bytes(rows[1], test::one_step(rule, gradient)));
  EXPECT_NEAR(rows[1][0], -0.01, 1e-6);
  EXPECT_NEAR(rows[0][3 * dim], std::pow(0.9, 20), 1e-6);
  EXPECT_NEAR(rows[0][3 * dim + 1], std::pow(0.999, 20), 1e-6);
}

TEST(Adam, AZeroGradientMovesNothingAndAnOldRowStaysFinite) {
  Optimizer const rule = Adam{};
  auto row = test::one_step(rule, {0});
  EXPECT_EQ(row[0], 0);
  auto* const start = row.data();
  float const gradient = 1;
  float const* const from = &gradient;
  // Long enough for beta1's power to become a denormal, then zero.
  for (int step = 0; step < 2000; ++step) row_kernel(rule)(rule, &start, &from, 1, 1);
  EXPECT_TRUE(std::isfinite(row[0]));
  EXPECT_LT(row[0], -1.0F);
}
