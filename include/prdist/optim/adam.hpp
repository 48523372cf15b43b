// SPDX-License-Identifier: Apache-2.0
// Adam with bias correction. The powers of the betas are kept per row, because a sparse row is updated only when
// its key comes: each row has its own age.
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct Adam {
  float rate = 1e-3F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;

  static constexpr std::string_view name = "adam";
  static constexpr std::size_t state_per_element = 2;
  static constexpr std::size_t state_per_row = 2;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
    visit("beta1", self.beta1, Limit::fraction);
    visit("beta2", self.beta2, Limit::fraction);
    visit("epsilon", self.epsilon, Limit::positive);
  }

  constexpr void first_state(float* state, std::size_t dim) const {
    for (std::size_t i = 0; i < 2 * dim; ++i) state[i] = 0;
    state[2 * dim] = 1;      // beta1 to the power of the steps taken
    state[2 * dim + 1] = 1;  // beta2 likewise
  }

  template <class Sqrt>
  struct Row {
    float rate, beta1, beta2, epsilon;
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      state[0] = beta1 * state[0] + (1 - beta1) * g;
      state[1] = beta2 * state[1] + (1 - beta2) * g * g;
      V root = state[1];
      Sqrt{}(root);
      w -= rate * state[0] / (root + epsilon);
    }
  };
  /// Ages the row by one step and folds both corrections into the rate and epsilon, so that the element needs
  /// one square root and one division.
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float* row_state) const {
    row_state[0] *= beta1;
    row_state[1] *= beta2;
    float second = 1 - row_state[1];
    Sqrt{}(second);
    return {rate * second / (1 - row_state[0]), beta1, beta2, epsilon * second};
  }

  friend bool operator==(Adam const&, Adam const&) = default;
};

}  // namespace prdist
