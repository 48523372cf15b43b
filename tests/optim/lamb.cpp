#include <prdist/optim/lamb.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

namespace {

auto textbook(Lamb const& rule) {
  return [rule](auto& w, auto& state, auto const& g, int t) {
    double const beta1 = rule.beta1, beta2 = rule.beta2;
    auto const dim = w.size();
    state.resize(2 * dim, 0.0);
    std::vector<double> r(dim);
    double weights = 0, steps = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      auto& m = state[i];
      auto& v = state[dim + i];
      m = beta1 * m + (1 - beta1) * g[i];
      v = beta2 * v + (1 - beta2) * g[i] * g[i];
      auto const second = v / (1 - std::pow(beta2, t));
      r[i] = m / (1 - std::pow(beta1, t)) / (std::sqrt(second) + double{rule.epsilon}) + double{rule.decay} * w[i];
      weights += w[i] * w[i];
      steps += r[i] * r[i];
    }
    auto const ratio = weights > 0 && steps > 0 ? std::sqrt(weights / steps) : 1;
    for (std::size_t i = 0; i < dim; ++i) w[i] -= double{rule.rate} * ratio * r[i];
  };
}

}  // namespace

TEST(Lamb, FollowsTheTextbook) {
  for (auto const& rule : {Lamb{.rate = 0.01F}, Lamb{.rate = 0.02F, .epsilon = 0.1F, .decay = 0.5F}}) {
    test::expect_textbook_rows(rule, {}, 1e-4, textbook(rule));
  }
}

TEST(Lamb, MomentsThenPowersStandBehindTheWeights) {
  EXPECT_EQ(row_floats(Lamb{}, 7), 23U);
  // From zero weights the step is Adam's, a whole rate.
  Lamb const rule{.rate = 0.5F, .beta1 = 0.5F, .beta2 = 0.75F, .epsilon = 0};
  EXPECT_EQ(test::one_step(rule, {4, -2}), (std::vector<float>{-0.5F, 0.5F, 2, -1, 4, 1, 0.5F, 0.75F}));
}

// What the scaling is for: the step is a share of the weights, however large the gradient.
TEST(Lamb, AStepIsAShareOfTheWeights) {
  Optimizer const rule = Lamb{.rate = 0.125F, .decay = 0};
  for (auto const size : {1e-3F, 1.0F, 1e3F}) {
    std::vector<float> row(row_floats(rule, 16));
    for (std::size_t i = 0; i < 16; ++i) row[i] = size;
    write_first_state(rule, row.data(), 16);
    std::vector<float> const gradient(16, 5.0F);
    auto* const start = row.data();
    auto const* const from = gradient.data();
    row_kernel(rule)(rule, &start, &from, 1, 16);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(row[i], size * 0.875F, size * 1e-5F);
  }
}

TEST(Lamb, NoGradientAndNoWeightsMoveNothing) {
  auto const row = test::one_step(Lamb{}, {0, 0});
  EXPECT_EQ(row[0], 0);
  EXPECT_EQ(row[1], 0);
}
