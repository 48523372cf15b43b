// SPDX-License-Identifier: Apache-2.0
// From a Matrix to xtensor, for layers and losses written as xtensor expressions. The way back needs no header:
// xtensor's containers and adaptors convert to Matrix by themselves.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include <prdist/nn/matrix.hpp>

namespace prdist::nn {

/// A two-dimensional view of the same memory: reading and assigning go through.
template <class Real>
[[nodiscard]] auto as_xtensor(Matrix<Real> matrix) {
  // A view of whole strides: an adaptor alone cannot have rows that lie apart.
  std::array<std::size_t, 2> const shape{matrix.rows(), matrix.stride()};
  return xt::view(xt::adapt(matrix.data(), matrix.rows() * matrix.stride(), xt::no_ownership(), shape), xt::all(),
                  xt::range(std::size_t{0}, matrix.columns()));
}

/// A one-dimensional adaptor over the same memory.
template <class Real>
[[nodiscard]] auto as_xtensor(std::span<Real> values) {
  return xt::adapt(values.data(), values.size(), xt::no_ownership(), std::array<std::size_t, 1>{values.size()});
}

}  // namespace prdist::nn
