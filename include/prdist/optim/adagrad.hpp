// SPDX-License-Identifier: Apache-2.0
// s += g * g;  w -= rate * g / (sqrt(s) + epsilon), a sum per element
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct Adagrad {
  float rate = 0.05F;
  float initial = 0;  ///< the first value of the sum: larger values calm the first steps
  float epsilon = 1e-6F;

  static constexpr std::string_view name = "adagrad";
  static constexpr std::size_t state_per_element = 1;
  static constexpr std::size_t state_per_row = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
    visit("initial", self.initial, Limit::not_negative);
    visit("epsilon", self.epsilon, Limit::positive);
  }

  constexpr void first_state(float* state, std::size_t dim) const {
    for (std::size_t i = 0; i < dim; ++i) state[i] = initial;
  }

  template <class Sqrt>
  struct Row {
    float rate, epsilon;
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      state[0] += g * g;
      V root = state[0];
      Sqrt{}(root);
      w -= rate * g / (root + epsilon);
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float*) const {
    return {rate, epsilon};
  }

  friend bool operator==(Adagrad const&, Adagrad const&) = default;
};

}  // namespace prdist
