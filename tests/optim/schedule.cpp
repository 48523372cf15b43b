#include <prdist/optim/schedule.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>
#include <string_view>

#include "../support/thrown.hpp"

using namespace prdist;

namespace {

template <class Formula>
void expect_formula(Schedule const& schedule, Formula&& formula) {
  for (double const t : {0., 1., 2., 9., 10., 11., 25., 99., 100., 101., 1e4, 16777216.}) {
    EXPECT_NEAR(schedule.factor_at(t), formula(t), 1e-12) << name_of(schedule.kind) << " at " << t;
  }
}

}  // namespace

TEST(Schedule, FollowsItsFormula) {
  expect_formula(Schedule::constant(), [](double) { return 1; });
  expect_formula(Schedule::step(10, 0.5F), [](double t) { return std::pow(0.5, std::floor(t / 10)); });
  expect_formula(Schedule::exponential(10, 0.75F), [](double t) { return std::pow(0.75, t / 10); });
  expect_formula(Schedule::inverse_time(10, 0.5F), [](double t) { return 1 / (1 + 0.5 * t / 10); });
  expect_formula(Schedule::polynomial(100, 2, 0.125F),
                 [](double t) { return 0.125 + 0.875 * std::pow(1 - std::min(t, 100.) / 100, 2); });
  expect_formula(Schedule::polynomial(100), [](double t) { return 1 - std::min(t, 100.) / 100; });
  expect_formula(Schedule::cosine(100, 0.25F),
                 [](double t) { return 0.25 + 0.75 * (1 + std::cos(std::numbers::pi * std::min(t, 100.) / 100)) / 2; });
  expect_formula(Schedule::piecewise({{10, 0.5F}, {100, 0.125F}}), [](double t) {
    return t < 10 ? 1 : t < 100 ? 0.5 : 0.125;
  });
}

TEST(Schedule, AWarmUpStandsBeforeAnyOfThem) {
  auto const cosine = Schedule::cosine(100, 0.25F);
  auto const warmed = cosine.with_warmup(10, 0.5F);
  expect_formula(warmed, [&](double t) { return t < 10 ? 0.5 + 0.5 * t / 10 : cosine.factor_at(t - 10); });
  expect_formula(Schedule::constant().with_warmup(10), [&](double t) { return t < 10 ? t / 10 : 1; });
}

TEST(Schedule, IsConstantOnlyWhenNothingChanges) {
  EXPECT_TRUE(Schedule::constant().is_constant());
  EXPECT_FALSE(Schedule::constant().with_warmup(1).is_constant());
  EXPECT_FALSE(Schedule::step(1, 1).is_constant());
}

TEST(Schedule, PiecewiseTakesEightPiecesAndRefusesMore) {
  auto const eight = Schedule::piecewise({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 0.5F}});
  EXPECT_EQ(eight.factor_at(8), 0.5);
  auto const error = test::thrown([] {
    (void)Schedule::piecewise({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}});
  });
  EXPECT_STREQ(error.what(),
               "prdist[config.invalid] Schedule::piecewise: 9 pieces, at most 8 are possible: leave some out, or take "
               "exponential or polynomial");
}

TEST(Schedule, EveryKindHasAName) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(Schedule::Kind::piecewise); ++kind) {
    names.insert(name_of(static_cast<Schedule::Kind>(kind)));
  }
  EXPECT_EQ(names.size(), 7U);
}

static_assert(Schedule::step(10, 0.5F).factor_at(9) == 1, "a schedule can be worked out by the compiler");
