#include <prdist/optim/shared_adam.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

TEST(SharedAdam, FollowsPaddle) {
  SharedAdam const rule{.rate = 0.01F, .epsilon = 1e-4F};
  double const beta1 = rule.beta1, beta2 = rule.beta2;
  test::expect_textbook_rows(rule, {0, 0, beta1, beta2}, 5e-5, [&](auto& w, auto& state, auto const& g, int) {
    auto const rate = double{rule.rate} * std::sqrt(1 - state[3]) / (1 - state[2]);
    double sum1 = 0, sum2 = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      auto const m = beta1 * state[0] + (1 - beta1) * g[i];
      auto const v = beta2 * state[1] + (1 - beta2) * g[i] * g[i];
      w[i] -= rate * m / (std::sqrt(v) + double{rule.epsilon});
      sum1 += m;
      sum2 += v;
    }
    state[0] = sum1 / static_cast<double>(w.size());
    state[1] = sum2 / static_cast<double>(w.size());
    state[2] *= beta1;
    state[3] *= beta2;
  });
}

TEST(SharedAdam, TwoMomentsAndTheNextPowersStandBehindTheWeights) {
  EXPECT_EQ(row_floats(SharedAdam{}, 7), 11U);
  SharedAdam const rule{.rate = 0.5F, .beta1 = 0.5F, .beta2 = 0.75F, .epsilon = 0};
  EXPECT_EQ(test::one_step(rule, {4, -2}), (std::vector<float>{-0.5F, 0.5F, 0.5F, 2.5F, 0.25F, 0.5625F}));
}

TEST(SharedAdam, AZeroGradientMovesNothing) {
  auto const row = test::one_step(SharedAdam{}, {0, 0});
  EXPECT_EQ(row[0], 0);
  EXPECT_EQ(row[1], 0);
}
