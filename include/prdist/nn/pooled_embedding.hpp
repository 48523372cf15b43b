// SPDX-License-Identifier: Apache-2.0
// The rows of a slot's ids made into one vector, and the vectors of all slots set side by side: what turns a sparse
// example into the input of a network. An empty slot gives zeros.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include <prdist/nn/matrix.hpp>

namespace prdist::nn {

enum class Pooling : std::uint8_t { sum, mean };

/// `rows` has one row per key; bag b = example * slots + slot is rows [offsets[b], offsets[b + 1]), as Batch keeps
/// them. `out` has one row per example and slots * dim columns.
template <class Real>
void pooled_embedding(In<Real> rows, std::span<std::uint32_t const> offsets, std::size_t slots, Pooling pooling,
                      Matrix<Real> out) {
  auto const dim = rows.columns();
  assert(out.columns() == slots * dim && offsets.size() == out.rows() * slots + 1);
  for (std::size_t bag = 0; bag + 1 < offsets.size(); ++bag) {
    std::size_t const first = offsets[bag], end = offsets[bag + 1];
    Real* const pooled = out.row(bag / slots).data() + bag % slots * dim;
    if (first == end) {
      std::fill_n(pooled, dim, Real{0});
      continue;
    }
    std::copy_n(rows.row(first).data(), dim, pooled);
    for (auto key = first + 1; key < end; ++key) {
      auto const row = rows.row(key);
      for (std::size_t i = 0; i < dim; ++i) pooled[i] += row[i];
    }
    if (pooling == Pooling::mean && end - first > 1) {
      for (std::size_t i = 0; i < dim; ++i) pooled[i] /= static_cast<Real>(end - first);
    }
  }
}

/// Adds to the gradient of every row its part of `gradient`, that of `out`.
template <class Real>
void pooled_embedding_backward(In<Real> gradient, std::span<std::uint32_t const> offsets, std::size_t slots,
                               Pooling pooling, Matrix<Real> row_gradients) {
  auto const dim = row_gradients.columns();
  assert(gradient.columns() == slots * dim && offsets.size() == gradient.rows() * slots + 1);
  for (std::size_t bag = 0; bag + 1 < offsets.size(); ++bag) {
    std::size_t const first = offsets[bag], end = offsets[bag + 1];
    Real const* const pooled = gradient.row(bag / slots).data() + bag % slots * dim;
    auto const share = pooling == Pooling::mean && end > first ? 1 / static_cast<Real>(end - first) : Real{1};
    for (auto key = first; key < end; ++key) {
      auto const row = row_gradients.row(key);
      for (std::size_t i = 0; i < dim; ++i) row[i] += share * pooled[i];
    }
  }
}

}  // namespace prdist::nn
