// SPDX-License-Identifier: Apache-2.0
// y = x w + b, with w of in x out. Like every layer here it owns nothing. Backward functions add to the gradients
// of parameters, so that a layer may be used twice in a network, and overwrite the gradients of activations.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>

#include <prdist/nn/matmul.hpp>
#include <prdist/nn/matrix.hpp>

namespace prdist::nn {

template <class Real>
void fully_connected(In<Real> x, In<Real> w, InSpan<Real> b, Matrix<Real> y) {
  assert(b.size() == y.columns());
  for (std::size_t i = 0; i < y.rows(); ++i) std::copy(b.begin(), b.end(), y.row(i).begin());
  matmul(x, Op::none, w, Op::none, y, 1);
}

/// Adds to dw and db what dy, the gradient of y, says of them.
template <class Real>
void fully_connected_backward_parameters(In<Real> x, In<Real> dy, Matrix<Real> dw,
                                         std::type_identity_t<std::span<Real>> db) {
  assert(db.size() == dy.columns());
  matmul(x, Op::transpose, dy, Op::none, dw, 1);
  for (std::size_t i = 0; i < dy.rows(); ++i) {
    auto const gradient = dy.row(i);
    for (std::size_t j = 0; j < db.size(); ++j) db[j] += gradient[j];
  }
}

/// Writes dx, the gradient of x.
template <class Real>
void fully_connected_backward_input(In<Real> w, In<Real> dy, Matrix<Real> dx) {
  matmul(dy, Op::none, w, Op::transpose, dx);
}

}  // namespace prdist::nn
