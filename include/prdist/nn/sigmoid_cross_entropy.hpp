// SPDX-License-Identifier: Apache-2.0
// The loss of a click model, taken from the logit: log(1 + exp(x)) - label * x. From the probability it would lose
// all digits where the model is sure and wrong, which is where the gradient matters.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>

#include <prdist/nn/matrix.hpp>

namespace prdist::nn {

/// No exponent is ever positive, so nothing overflows.
template <class Real>
[[nodiscard]] Real sigmoid(Real x) {
  auto const tail = std::exp(x < 0 ? x : -x);
  return (x < 0 ? tail : Real{1}) / (1 + tail);
}

/// The mean loss over the batch; `gradient` gets that of the mean with respect to each logit. Zero for no examples.
template <class Real>
double sigmoid_cross_entropy(InSpan<Real> logits, std::span<float const> labels, std::span<Real> gradient) {
  assert(logits.size() == labels.size() && logits.size() == gradient.size());
  if (logits.empty()) return 0;
  auto const share = 1 / static_cast<Real>(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    auto const x = logits[i];
    auto const label = static_cast<Real>(labels[i]);
    gradient[i] = (sigmoid(x) - label) * share;
    auto const wide = static_cast<double>(x);
    sum += std::max(wide, 0.0) - wide * static_cast<double>(label) + std::log1p(std::exp(-std::abs(wide)));
  }
  return sum / static_cast<double>(logits.size());
}

}  // namespace prdist::nn
