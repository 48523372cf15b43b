// SPDX-License-Identifier: Apache-2.0
// The wide part of a click model: one weight per id and per dense feature, summed. Alone it is a logistic
// regression; beside a network it is what makes wide & deep and DeepFM.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <prdist/nn/matrix.hpp>

namespace prdist::nn {

/// y[i] = sum of the weights of example i's ids + x[i] · w + bias. `rows` has one column and a row per key;
/// `offsets` are those of Batch.
template <class Real>
void linear(In<Real> rows, std::span<std::uint32_t const> offsets, In<Real> x, InSpan<Real> w,
            std::type_identity_t<Real> bias, std::span<Real> y) {
  assert(rows.columns() == 1 && x.rows() == y.size() && x.columns() == w.size());
  if (y.empty()) return;
  auto const slots = (offsets.size() - 1) / y.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    auto sum = bias;
    for (std::size_t key = offsets[i * slots]; key < offsets[(i + 1) * slots]; ++key) sum += rows(key, 0);
    auto const features = x.row(i);
    for (std::size_t j = 0; j < w.size(); ++j) sum += features[j] * w[j];
    y[i] = sum;
  }
}

/// Adds to the gradients of ids, weights and bias what dy says of them.
template <class Real>
void linear_backward(std::span<std::uint32_t const> offsets, In<Real> x, InSpan<Real> dy, Matrix<Real> row_gradients,
                     std::type_identity_t<std::span<Real>> dw, std::type_identity_t<Real>& dbias) {
  assert(row_gradients.columns() == 1 && x.rows() == dy.size() && x.columns() == dw.size());
  if (dy.empty()) return;
  auto const slots = (offsets.size() - 1) / dy.size();
  for (std::size_t i = 0; i < dy.size(); ++i) {
    for (std::size_t key = offsets[i * slots]; key < offsets[(i + 1) * slots]; ++key) row_gradients(key, 0) += dy[i];
    auto const features = x.row(i);
    for (std::size_t j = 0; j < dw.size(); ++j) dw[j] += dy[i] * features[j];
    dbias += dy[i];
  }
}

}  // namespace prdist::nn
