// SPDX-License-Identifier: Apache-2.0
// The second-order part of a factorization machine: the sum over all pairs of slots of the product of their
// vectors. Computed as half of (square of the sum less sum of the squares), linear in the number of slots.
#pragma once

#include <cassert>
#include <cstddef>
#include <span>

#include <prdist/nn/matrix.hpp>

namespace prdist::nn {

/// `x` holds `slots` vectors side by side in every row. `sums` gets the sum of each row's vectors, which the
/// backward pass needs; `y` gets one number per row.
template <class Real>
void factorization(In<Real> x, std::size_t slots, Matrix<Real> sums, std::type_identity_t<std::span<Real>> y) {
  auto const dim = sums.columns();
  assert(x.columns() == slots * dim && y.size() == x.rows() && sums.rows() == x.rows());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    auto const vectors = x.row(i);
    auto const sum = sums.row(i);
    for (std::size_t f = 0; f < dim; ++f) sum[f] = 0;
    Real squares = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      auto const vector = vectors.subspan(slot * dim, dim);
      for (std::size_t f = 0; f < dim; ++f) {
        sum[f] += vector[f];
        squares += vector[f] * vector[f];
      }
    }
    Real square = 0;
    for (std::size_t f = 0; f < dim; ++f) square += sum[f] * sum[f];
    y[i] = (square - squares) / 2;
  }
}

/// Adds to dx, which other paths of the network may have begun, what dy says of it.
template <class Real>
void factorization_backward(In<Real> x, std::size_t slots, In<Real> sums, InSpan<Real> dy, Matrix<Real> dx) {
  auto const dim = sums.columns();
  assert(dx.columns() == slots * dim && dy.size() == x.rows() && dx.rows() == x.rows());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    auto const vectors = x.row(i);
    auto const gradients = dx.row(i);
    auto const sum = sums.row(i);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      for (std::size_t f = 0; f < dim; ++f) gradients[slot * dim + f] += dy[i] * (sum[f] - vectors[slot * dim + f]);
    }
  }
}

}  // namespace prdist::nn
