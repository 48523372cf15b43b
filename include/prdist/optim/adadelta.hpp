// SPDX-License-Identifier: Apache-2.0
// s = rho * s + (1 - rho) * g * g;  d = g * sqrt(u + epsilon) / sqrt(s + epsilon);
// u = rho * u + (1 - rho) * d * d;  w -= rate * d
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct AdaDelta {
  float rate = 1;
  float rho = 0.95F;
  float epsilon = 1e-6F;

  static constexpr std::string_view name = "adadelta";
  static constexpr std::size_t state_per_element = 2;
  static constexpr std::size_t state_per_row = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
    visit("rho", self.rho, Limit::fraction);
    visit("epsilon", self.epsilon, Limit::positive);
  }

  constexpr void first_state(float* state, std::size_t dim) const {
    for (std::size_t i = 0; i < 2 * dim; ++i) state[i] = 0;
  }

  template <class Sqrt>
  struct Row {
    float rate, rho, epsilon;
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      state[0] = rho * state[0] + (1 - rho) * g * g;
      // One root of the quotient instead of a quotient of two.
      V root = (state[1] + epsilon) / (state[0] + epsilon);
      Sqrt{}(root);
      V const d = root * g;
      state[1] = rho * state[1] + (1 - rho) * d * d;
      w -= rate * d;
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float*) const {
    return {rate, rho, epsilon};
  }

  friend bool operator==(AdaDelta const&, AdaDelta const&) = default;
};

}  // namespace prdist
