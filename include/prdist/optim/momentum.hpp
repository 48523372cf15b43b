// SPDX-License-Identifier: Apache-2.0
// v = momentum * v + g;  w -= rate * v, or with Nesterov's look-ahead  w -= rate * (g + momentum * v)
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct Momentum {
  float rate = 0.01F;
  float momentum = 0.9F;
  bool nesterov = false;

  static constexpr std::string_view name = "momentum";
  static constexpr std::size_t state_per_element = 1;
  static constexpr std::size_t state_per_row = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
    visit("momentum", self.momentum, Limit::finite);
    visit("nesterov", self.nesterov, Limit::finite);
  }

  constexpr void first_state(float* state, std::size_t dim) const {
    for (std::size_t i = 0; i < dim; ++i) state[i] = 0;
  }

  template <class Sqrt>
  struct Row {
    float rate, momentum, of_velocity, of_gradient;
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      V const v = momentum * state[0] + g;
      state[0] = v;
      // 1 and 0, or momentum and 1: the plain rule and Nesterov's in one expression, without a branch per element.
      w -= rate * (of_velocity * v + of_gradient * g);
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float*) const {
    return {rate, momentum, nesterov ? momentum : 1.0F, nesterov ? 1.0F : 0.0F};
  }

  friend bool operator==(Momentum const&, Momentum const&) = default;
};

}  // namespace prdist
