#include <prdist/optim/adagrad.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

TEST(Adagrad, FollowsTheTextbook) {
  for (auto const initial : {0.0F, 0.1F}) {
    Adagrad const rule{.rate = 0.05F, .initial = initial};
    test::expect_textbook(rule, double{initial}, 1e-5, [&](double& w, double* s, double g, int) {
      s[0] += g * g;
      w -= double{rule.rate} * g / (std::sqrt(s[0]) + double{rule.epsilon});
    });
  }
}

TEST(Adagrad, SumStandsBehindTheWeightsAndBeginsAtInitial) {
  EXPECT_EQ(row_floats(Adagrad{}, 7), 14U);
  auto const row = test::one_step(Adagrad{.rate = 0.5F, .initial = 12, .epsilon = 0}, {2, -2});
  EXPECT_EQ(row, (std::vector<float>{-0.25F, 0.25F, 16, 16}));
}

TEST(Adagrad, AZeroGradientMovesNothing) {
  auto const row = test::one_step(Adagrad{}, {0, 0});
  EXPECT_EQ(row, (std::vector<float>{0, 0, 0, 0}));
}
