// Finite differences, in double, against what a backward pass says.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <prdist/data/counter_random.hpp>

/// Numbers in [-1, 1), the same for the same seed.
inline std::vector<double> random_values(std::size_t count, std::uint64_t seed) {
  prdist::CounterRandom const random(seed);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 2 * random.unit(i) - 1;
  return values;
}

inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed, double scale = 1) {
  std::vector<float> values;
  for (auto const value : random_values(count, seed)) values.push_back(static_cast<float>(scale * value));
  return values;
}

/// `loss` as a function of `values`, which it sees changed one at a time.
template <class Gradient>
void expect_gradient(std::string_view what, std::vector<double>& values, Gradient const& gradient,
                     std::function<double()> const& loss, double tolerance = 1e-7) {
  ASSERT_EQ(values.size(), std::size(gradient));
  constexpr double step = 1e-5;
  bool any = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto const before = values[i];
    values[i] = before + step;
    auto const above = loss();
    values[i] = before - step;
    auto const below = loss();
    values[i] = before;
    auto const wanted = (above - below) / (2 * step);
    EXPECT_NEAR(static_cast<double>(gradient[i]), wanted, tolerance * (1 + std::abs(wanted))) << what << " " << i;
    any = any || std::abs(wanted) > 10 * tolerance;
  }
  EXPECT_TRUE(any) << what << ": nothing depends on it, so nothing was checked";
}

/// A number that depends on all of `y`, and on each differently; its gradient with respect to y is `slopes`.
inline double weighted_sum(std::span<double const> y, std::span<double const> slopes) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * slopes[i];
  return sum;
}
