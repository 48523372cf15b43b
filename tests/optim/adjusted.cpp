#include <prdist/optim/adjusted.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "trajectory.hpp"

using namespace prdist;

namespace {

double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/// One update of a row.
void update(Optimizer const& optimizer, std::vector<float>& row, std::vector<float> const& gradient) {
  auto* const start = row.data();
  auto const* const from = gradient.data();
  row_kernel(optimizer)(optimizer, &start, &from, 1, gradient.size());
}

}  // namespace

TEST(Adjusted, SgdWithAllOfItFollowsTheTextbook) {
  Penalty const penalty{.l1 = 0.01F, .l2 = 0.1F};
  Bounds const bounds{-0.5F, 0.25F};
  auto const schedule = Schedule::exponential(20, 0.5F).with_warmup(5, 0.1F);
  test::expect_textbook({Sgd{.rate = 0.05F}, penalty, bounds, schedule}, 0, 1e-5,
                        [&](double& w, double*, double g, int t) {
                          g += double{penalty.l1} * sign(w) + double{penalty.l2} * w;
                          w -= double{0.05F} * schedule.factor_at(t - 1) * g;
                          w = std::clamp(w, double{bounds.low}, double{bounds.high});
                        });
}

TEST(Adjusted, AdamUnderAScheduleFollowsTheTextbook) {
  auto const schedule = Schedule::cosine(50, 0.1F);
  Adam const rule{.rate = 0.01F, .epsilon = 1e-3F};
  test::expect_textbook({rule, schedule}, 0, 5e-5, [&](double& w, double* m, double g, int t) {
    double const beta1 = rule.beta1, beta2 = rule.beta2;
    m[0] = beta1 * m[0] + (1 - beta1) * g;
    m[1] = beta2 * m[1] + (1 - beta2) * g * g;
    auto const first = m[0] / (1 - std::pow(beta1, t));
    auto const second = m[1] / (1 - std::pow(beta2, t));
    w -= double{rule.rate} * schedule.factor_at(t - 1) * first / (std::sqrt(second) + double{rule.epsilon});
  });
}

// The sums of a row-wide rule are of the gradient that it sees, penalty included.
TEST(Adjusted, ARowWideRuleFollowsTheTextbook) {
  Penalty const penalty{.l1 = 0.01F, .l2 = 0.1F};
  RowAdagrad const rule{.rate = 0.05F, .initial = 1};
  test::expect_textbook_rows({rule, penalty}, {0}, 2e-5, [&](auto& w, auto& state, auto const& g, int) {
    auto const scale = double{rule.rate} * std::sqrt(1 / (1 + state[0]));
    double squares = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      auto const whole = g[i] + double{penalty.l1} * sign(w[i]) + double{penalty.l2} * w[i];
      w[i] -= scale * whole;
      squares += whole * whole;
    }
    state[0] += squares / static_cast<double>(w.size());
  });
}

TEST(Adjusted, EveryRuleStaysWithinItsBounds) {
  for (auto plain : test::every_optimizer()) {
    plain.bounds = {-0.25F, 0.5F};
    for (std::size_t const dim : {3U, 16U, 21U}) {
      for (auto const set : test::all_sets()) {
        auto const row = test::train(plain, dim, 30, set);
        for (std::size_t i = 0; i < dim; ++i) {
          EXPECT_GE(row[i], -0.25F) << name_of(plain);
          EXPECT_LE(row[i], 0.5F) << name_of(plain);
        }
      }
    }
  }
  std::vector<float> row{1, -1};
  update({Sgd{.rate = 1}, Bounds{.high = 0.5F}}, row, {0, 7});
  EXPECT_EQ(row, (std::vector<float>{0.5F, -8})) << "one side alone";
}

TEST(Adjusted, BoundsDoNotHideANaN) {
  std::vector<float> row{0};
  update({Sgd{}, Bounds{-1, 1}}, row, {std::numeric_limits<float>::quiet_NaN()});
  EXPECT_TRUE(std::isnan(row[0]));
}

// A schedule that changes nothing, and bounds that nothing meets: the plain rule, to the last bit.
TEST(Adjusted, WithNothingToDoIsThePlainRule) {
  for (auto const& plain : test::every_optimizer()) {
    auto adjusted = plain;
    adjusted.bounds = {-1e30F, 1e30F};
    adjusted.schedule = Schedule::step(7, 1);
    for (std::size_t const dim : {1U, 8U, 19U}) {
      auto const expected = test::train(plain, dim, 20, instruction_set());
      auto row = test::train(adjusted, dim, 20, instruction_set());
      EXPECT_EQ(row.back(), 20) << "the age stands last";
      row.pop_back();
      EXPECT_TRUE(test::same_bytes(row, expected)) << name_of(plain) << ", dim " << dim;
    }
  }
}

TEST(Adjusted, EveryRowHasItsOwnAge) {
  Optimizer const rule{Sgd{.rate = 1}, Schedule::piecewise({{1, 0.5F}, {2, 0.25F}})};
  std::vector<float> old{0, 0}, young{0, 0};
  for (int i = 0; i < 2; ++i) update(rule, old, {1});
  EXPECT_EQ(old, (std::vector<float>{-1.5F, 2}));
  update(rule, old, {1});
  update(rule, young, {1});
  EXPECT_EQ(old, (std::vector<float>{-1.75F, 3}));
  EXPECT_EQ(young, (std::vector<float>{-1, 1}));
}

TEST(Adjusted, AnAgeStandsWhereFloatsEndToCount) {
  Optimizer const rule{Sgd{.rate = 1}, Schedule::step(1000, 0.5F)};
  std::vector<float> row{0, 16777215};
  for (int i = 0; i < 3; ++i) update(rule, row, {1});
  EXPECT_EQ(row, (std::vector<float>{0, 16777216}));
}
