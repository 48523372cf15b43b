// SPDX-License-Identifier: Apache-2.0
// Trains rows by the library's kernels and, beside them, by the rule as the textbook has it, in double precision.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include <prdist/optim/kernel.hpp>

#include "../support/random.hpp"
#include "every_optimizer.hpp"

namespace prdist::test {

/// Every dimension in which the vector part and the rest of a row can meet, and one large one.
inline std::vector<std::size_t> all_dims() {
  std::vector<std::size_t> dims;
  for (std::size_t dim = 1; dim <= 40; ++dim) dims.push_back(dim);
  dims.push_back(100);
  return dims;
}

inline std::vector<InstructionSet> all_sets() {
  if (instruction_set() == InstructionSet::baseline) return {InstructionSet::baseline};
  return {InstructionSet::baseline, InstructionSet::avx2};
}

/// A row of `dim` random weights in its first state.
inline std::vector<float> first_row(Optimizer const& optimizer, std::size_t dim, Random& random) {
  std::vector<float> row(row_floats(optimizer, dim));
  for (std::size_t i = 0; i < dim; ++i) row[i] = random.number();
  write_first_state(optimizer, row.data(), dim);
  return row;
}

/// The row after `steps` random gradients. Memory is neither aligned nor followed by more of the row: a kernel that
/// asks for alignment, or reads or writes too far, is found out.
inline std::vector<float> train(Optimizer const& optimizer, std::size_t dim, int steps, InstructionSet set) {
  Random random(1000 + dim);
  auto row = first_row(optimizer, dim, random);
  constexpr float canary = 12345.0F;
  row.insert(row.begin(), canary);
  row.push_back(canary);
  auto* const start = row.data() + 1;
  auto const kernel = row_kernel(optimizer, set);
  for (int step = 0; step < steps; ++step) {
    auto const gradient = random.numbers(dim);
    auto const* const from = gradient.data();
    kernel(optimizer, &start, &from, 1, dim);
  }
  EXPECT_EQ(row.front(), canary) << "dim " << dim;
  EXPECT_EQ(row.back(), canary) << "dim " << dim;
  return {row.begin() + 1, row.end() - 1};
}

/// `step(w, state, g, t)` is one textbook update of one element in doubles, t counting from 1; `first` the first value
/// of its state. Weights must agree to `tolerance` after 60 steps, on every dimension and instruction set.
template <class Step>
void expect_textbook(Optimizer const& optimizer, double first, double tolerance, Step&& step) {
  constexpr int steps = 60;
  for (auto const dim : all_dims()) {
    Random random(1000 + dim);
    auto const start = first_row(optimizer, dim, random);
    std::vector<double> weights(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(dim));
    std::vector<std::array<double, 2>> states(dim, {first, first});
    for (int t = 1; t <= steps; ++t) {
      auto const gradient = random.numbers(dim);
      for (std::size_t i = 0; i < dim; ++i) step(weights[i], states[i].data(), double{gradient[i]}, t);
    }
    for (auto const set : all_sets()) {
      auto const row = train(optimizer, dim, steps, set);
      for (std::size_t i = 0; i < dim; ++i) {
        ASSERT_NEAR(row[i], weights[i], tolerance) << name_of(optimizer) << ", dim " << dim << ", element " << i;
      }
    }
  }
}

/// The same for a rule that looks at the whole row: `step(w, state, g, t)` updates all weights of a row, whose state
/// begins as `first`.
template <class Step>
void expect_textbook_rows(Optimizer const& optimizer, std::vector<double> const& first, double tolerance, Step&& step) {
  constexpr int steps = 60;
  for (auto const dim : all_dims()) {
    Random random(1000 + dim);
    auto const start = first_row(optimizer, dim, random);
    std::vector<double> weights(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(dim));
    auto state = first;
    for (int t = 1; t <= steps; ++t) {
      auto const gradient = random.numbers(dim);
      step(weights, state, std::vector<double>(gradient.begin(), gradient.end()), t);
    }
    for (auto const set : all_sets()) {
      auto const row = train(optimizer, dim, steps, set);
      for (std::size_t i = 0; i < dim; ++i) {
        ASSERT_NEAR(row[i], weights[i], tolerance) << name_of(optimizer) << ", dim " << dim << ", element " << i;
      }
    }
  }
}

/// One update of a fresh row of zeros. Not inlined, or g++ warns of the rules that the optimizer does not hold.
[[gnu::noinline]] inline std::vector<float> one_step(Optimizer const& optimizer, std::vector<float> const& gradient) {
  std::vector<float> row(row_floats(optimizer, gradient.size()));
  write_first_state(optimizer, row.data(), gradient.size());
  auto* const start = row.data();
  auto const* const from = gradient.data();
  row_kernel(optimizer)(optimizer, &start, &from, 1, gradient.size());
  return row;
}

inline bool same_bytes(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace prdist::test
