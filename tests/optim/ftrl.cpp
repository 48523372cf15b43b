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

/// McMahan's update with a rate for each step: sigma is the difference of the inverse rates, whatever changed them. A
/// step of rate 0 does not take place. `inverse` is of the last step that did.
struct ScheduledTextbook {
  double w, n = 0, z = 0, inverse = 0;

  void step(Ftrl const& rule, double factor, double g) {
    if (factor == 0) return;
    double const rate = double{rule.rate} * factor, beta = rule.beta, l1 = rule.l1, l2 = rule.l2;
    if (n == 0) {
      inverse = beta / rate;
      z = -w * (inverse + l2) - (w > 0 ? l1 : w < 0 ? -l1 : 0);
    }
    n += g * g;
    auto const next = (beta + std::sqrt(n)) / rate;
    z += g - (next - inverse) * w;
    inverse = next;
    w = std::abs(z) <= l1 ? 0 : -(z - (z > 0 ? l1 : -l1)) / (inverse + l2);
  }
};

std::vector<Schedule> schedules() {
  return {Schedule::step(9, 0.1F),        Schedule::constant().with_warmup(15),
          Schedule::cosine(40),           Schedule::polynomial(30, 2).with_warmup(5, 0.001F),
          Schedule::exponential(1, 0.5F), Schedule::piecewise({{5, 0}, {12, 3}, {20, 0.5F}, {30, 0}, {40, 1}})};
}

void update(Optimizer const& optimizer, std::vector<float>& row, std::vector<float> const& gradient) {
  auto* const start = row.data();
  auto const* const from = gradient.data();
  row_kernel(optimizer)(optimizer, &start, &from, 1, gradient.size());
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

TEST(Ftrl, UnderAScheduleFollowsTheTextbookOfRatesThatChange) {
  for (auto const& rule : {Ftrl{}, Ftrl{.rate = 0.05F, .beta = 0.5F, .l2 = 2}, Ftrl{.rate = 0.1F, .l1 = 1, .l2 = 1}}) {
    for (auto const& schedule : schedules()) {
      for (std::size_t const dim : {3U, 16U, 21U}) {
        for (auto const set : test::all_sets()) {
          test::Random random(1000 + dim);
          Optimizer const optimizer{rule, schedule};
          std::vector<ScheduledTextbook> expected;
          auto const start = test::first_row(optimizer, dim, random);
          for (std::size_t i = 0; i < dim; ++i) expected.push_back({.w = double{start[i]}});
          for (int t = 0; t < 60; ++t) {
            auto const gradient = random.numbers(dim);
            for (std::size_t i = 0; i < dim; ++i) {
              expected[i].step(rule, double{static_cast<float>(schedule.factor_at(t))}, double{gradient[i]});
            }
          }
          auto const row = test::train(optimizer, dim, 60, set);
          for (std::size_t i = 0; i < dim; ++i) {
            ASSERT_NEAR(row[i], expected[i].w, 2e-5)
                << name_of(schedule.kind) << ", l1 " << rule.l1 << ", element " << i;
          }
        }
      }
    }
  }
}

TEST(Ftrl, AFactorOfZeroIsNoStep) {
  for (auto const& schedule : {Schedule::constant().with_warmup(5), Schedule::piecewise({{0, 1e-30F}})}) {
    Optimizer const rule{Ftrl{.l1 = 0.5F}, schedule};
    std::vector<float> row{0.5F, 0, 0, 0, 0, 0, 0};
    update(rule, row, {0.1F, -3});
    EXPECT_EQ(row, (std::vector<float>{0.5F, 0, 0, 0, 0, 0, 1})) << "only its age";
  }
  // To the end of the rate and beyond: what was learned stays.
  Optimizer const ending{Ftrl{}, Schedule::polynomial(6)};
  std::vector<float> row{0.5F, 0, 0, 0};
  for (int t = 0; t < 6; ++t) update(ending, row, {0.1F});
  auto const learned = row;
  for (int t = 0; t < 3; ++t) update(ending, row, {0.1F});
  EXPECT_LT(learned[0], 0.5F);
  EXPECT_GT(learned[0], 0.3F);
  row[3] -= 3;
  EXPECT_EQ(row, learned);
}

// A schedule scales steps, and not the weights.
TEST(Ftrl, AGradientOfZeroLeavesAWeightWhateverTheRateBecomes) {
  for (auto const& plain : {Ftrl{}, Ftrl{.l1 = 0.5F, .l2 = 1}}) {
    for (auto const& schedule : schedules()) {
      Optimizer const rule{plain, schedule};
      std::vector<float> row(row_floats(rule, 9));
      for (std::size_t i = 0; i < 9; ++i) row[i] = 0.1F * static_cast<float>(i) - 0.35F;
      write_first_state(rule, row.data(), 9);
      for (int t = 0; t < 2; ++t) update(rule, row, std::vector<float>(9, 0.1F));
      auto const before = row;
      for (int t = 0; t < 5000; ++t) update(rule, row, std::vector<float>(9, 0.0F));
      for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_NEAR(row[i], before[i], 1e-6 * std::abs(before[i])) << name_of(schedule.kind) << ", element " << i;
      }
    }
  }
}
