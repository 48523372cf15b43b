// SPDX-License-Identifier: Apache-2.0
// max(x, 0), in place both ways. At 0 the gradient is 0.
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <type_traits>

#include <prdist/nn/matrix.hpp>

namespace prdist::nn {

template <class Real>
void relu(std::span<Real> x) {
  for (auto& value : x) value = value > 0 ? value : Real{0};
}

/// `y` is what relu() gave; `gradient` comes in as that of y and goes out as that of x.
template <class Real>
void relu_backward(InSpan<Real> y, std::span<Real> gradient) {
  assert(y.size() == gradient.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = y[i] > 0 ? gradient[i] : Real{0};
}

}  // namespace prdist::nn
