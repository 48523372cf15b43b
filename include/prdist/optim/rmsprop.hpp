// SPDX-License-Identifier: Apache-2.0
// s = rho * s + (1 - rho) * g * g;  w -= rate * g / sqrt(s + epsilon)
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct RmsProp {
  float rate = 0.01F;
  float rho = 0.95F;
  float epsilon = 1e-6F;

  static constexpr std::string_view name = "rmsprop";
  static constexpr std::size_t state_per_element = 1;
  static constexpr std::size_t state_per_row = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
    visit("rho", self.rho, Limit::fraction);
    visit("epsilon", self.epsilon, Limit::positive);
  }

  constexpr void first_state(float* state, std::size_t dim) const {
    for (std::size_t i = 0; i < dim; ++i) state[i] = 0;
  }

  template <class Sqrt>
  struct Row {
    float rate, rho, epsilon;
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      state[0] = rho * state[0] + (1 - rho) * g * g;
      V root = state[0] + epsilon;
      Sqrt{}(root);
      w -= rate * g / root;
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float*) const {
    return {rate, rho, epsilon};
  }

  friend bool operator==(RmsProp const&, RmsProp const&) = default;
};

}  // namespace prdist
