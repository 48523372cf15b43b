#include <prdist/optim/row_adagrad.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

TEST(RowAdagrad, FollowsPaddle) {
  for (auto const initial : {3.0F, 0.25F}) {
    RowAdagrad const rule{.rate = 0.05F, .initial = initial};
    test::expect_textbook_rows(rule, {0}, 2e-5, [&](auto& w, auto& state, auto const& g, int) {
      auto const scale = std::sqrt(double{rule.initial} / (double{rule.initial} + state[0]));
      double squares = 0;
      for (std::size_t i = 0; i < w.size(); ++i) {
        w[i] -= double{rule.rate} * g[i] * scale;
        squares += g[i] * g[i];
      }
      state[0] += squares / static_cast<double>(w.size());
    });
  }
}

TEST(RowAdagrad, OneSumStandsBehindTheWeights) {
  EXPECT_EQ(row_floats(RowAdagrad{}, 7), 8U);
  Optimizer const rule = RowAdagrad{.rate = 0.5F, .initial = 1};
  auto row = test::one_step(rule, {1, -3, 1, 1});
  EXPECT_EQ(row, (std::vector<float>{-0.5F, 1.5F, -0.5F, -0.5F, 3}));
  auto* const start = row.data();
  std::vector<float> const gradient{1, 0, 0, 0};
  auto const* const from = gradient.data();
  row_kernel(rule)(rule, &start, &from, 1, 4);
  EXPECT_EQ(row, (std::vector<float>{-0.75F, 1.5F, -0.5F, -0.5F, 3.25F})) << "by the sum before this step";
}
