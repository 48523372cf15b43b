#include <prdist/optim/ftrl.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

namespace {

/// McMahan's update, after the point that the first weight would follow from.
auto textbook(Ftrl const& rule) {
  return [rule](double& w, double* state, double g, int) {
    double const rate = rule.rate, beta = rule.beta, l1 = rule.l1, l2 = rule.l2;
    auto& n = state[0];
    auto& z = state[1];
    if (n == 0) z = -w * (beta / rate + l2) - (w > 0 ? l1 : w < 0 ? -l1 : 0);
    auto const sigma = (std::sqrt(n + g * g) - std::sqrt(n)) / rate;
    z += g - sigma * w;
    n += g * g;
    w = std::abs(z) <= l1 ? 0 : -(z - (z > 0 ? l1 : -l1)) / ((beta + std::sqrt(n)) / rate + l2);
  };
}

}  // namespace

TEST(Ftrl, FollowsTheTextbook) {
  for (auto const& rule : {Ftrl{}, Ftrl{.rate = 0.05F, .beta = 0.5F, .l2 = 2}, Ftrl{.rate = 0.1F, .l1 = 1, .l2 = 1}}) {
    test::expect_textbook(rule, 0, 2e-5, textbook(rule));
  }
}

TEST(Ftrl, SquaresThenZStandBehindTheWeights) {
  EXPECT_EQ(row_floats(Ftrl{}, 7), 21U);
  auto const row = test::one_step(Ftrl{.rate = 0.5F, .beta = 1, .l1 = 1, .l2 = 2}, {3, -0.5F});
  EXPECT_EQ(row, (std::vector<float>{-0.2F, 0, 9, 0.25F, 3, -0.5F}));
}

TEST(Ftrl, L1MakesWeightsExactlyZeroAndKeepsThoseThatMatter) {
  Optimizer const rule = Ftrl{.rate = 0.1F, .l1 = 2};
  std::vector<float> row(row_floats(rule, 2), 0.0F);
  auto* const start = row.data();
  for (int step = 0; step < 200; ++step) {
    float const gradients[]{step % 2 == 0 ? 0.1F : -0.1F, 1};
    float const* const from = gradients;
    row_kernel(rule)(rule, &start, &from, 1, 2);
  }
  EXPECT_EQ(row[0], 0);
  EXPECT_LT(row[1], -0.5F);
}

// The usual FTRL begins at zero; an embedding that did would never leave it.
TEST(Ftrl, AFirstRowIsNotForgotten) {
  Optimizer const rule = Ftrl{.rate = 0.1F, .l1 = 0.5F, .l2 = 1};
  std::vector<float> row{0.25F, -0.5F, 0, 0, 0, 0};
  auto* const start = row.data();
  std::vector<float> const none{0, 0}, small{1e-3F, 1e-3F};
  auto const* from = none.data();
  row_kernel(rule)(rule, &start, &from, 1, 2);
  EXPECT_FLOAT_EQ(row[0], 0.25F);
  EXPECT_FLOAT_EQ(row[1], -0.5F);
  from = small.data();
  row_kernel(rule)(rule, &start, &from, 1, 2);
  EXPECT_NEAR(row[0], 0.25F, 1e-3);
  EXPECT_NEAR(row[1], -0.5F, 1e-3);
  EXPECT_LT(row[0], 0.25F);
}
