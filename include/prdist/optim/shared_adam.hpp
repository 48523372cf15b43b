// SPDX-License-Identifier: Apache-2.0
// Adam whose two moments are shared by the row: an element mixes its gradient into the row's m and v, and moves by
// rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m' / (sqrt(v') + epsilon); the row keeps the means of all m' and v'.
// The rule and the state of Paddle's SparseSharedAdamSGDRule, powers of the betas included: they are those of the
// next step.
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct SharedAdam {
  float rate = 1e-3F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;

  static constexpr std::string_view name = "shared_adam";
  static constexpr std::size_t state_per_element = 0;
  static constexpr std::size_t state_per_row = 4;  // m, v, beta1^t, beta2^t
  static constexpr std::size_t row_sums = 2;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
    visit("beta1", self.beta1, Limit::fraction);
    visit("beta2", self.beta2, Limit::fraction);
    visit("epsilon", self.epsilon, Limit::positive);
  }

  constexpr void first_state(float* state, std::size_t) const {
    state[0] = state[1] = 0;
    state[2] = beta1;
    state[3] = beta2;
  }

  struct Terms {
    template <class V>
    constexpr void operator()(V const&, V const*, V const& g, V* terms) const {
      terms[0] = g;
      terms[1] = g * g;
    }
  };
  template <class Sqrt>
  constexpr Terms row_terms(float const*) const {
    return {};
  }

  template <class Sqrt>
  struct Row {
    float rate, m, v, of_gradient, of_square, epsilon;
    template <class V>
    constexpr void operator()(V& w, V*, V const& g) const {
      V root = v + of_square * g * g;
      Sqrt{}(root);
      w -= rate * (m + of_gradient * g) / (root + epsilon);
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float* row_state, float const* sums, std::size_t dim) const {
    float correction = 1 - row_state[3];
    Sqrt{}(correction);
    float const m = beta1 * row_state[0], v = beta2 * row_state[1];
    Row<Sqrt> const row{rate * correction / (1 - row_state[2]), m, v, 1 - beta1, 1 - beta2, epsilon};
    auto const count = static_cast<float>(dim);
    row_state[0] = m + row.of_gradient * (sums[0] / count);
    row_state[1] = v + row.of_square * (sums[1] / count);
    row_state[2] *= beta1;
    row_state[3] *= beta2;
    return row;
  }

  friend bool operator==(SharedAdam const&, SharedAdam const&) = default;
};

}  // namespace prdist
