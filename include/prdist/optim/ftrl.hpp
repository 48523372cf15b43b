// SPDX-License-Identifier: Apache-2.0
// FTRL-Proximal: z += g - (sqrt(n + g * g) - sqrt(n)) / rate * w;  n += g * g;
// w = |z| > l1 ? (sign(z) * l1 - z) / ((beta + sqrt(n)) / rate + l2) : 0. Its l1 makes weights exactly zero.
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>
#include <prdist/optim/sign.hpp>

namespace prdist {

struct Ftrl {
  float rate = 0.1F;
  float beta = 1;
  float l1 = 0;
  float l2 = 0;

  static constexpr std::string_view name = "ftrl";
  static constexpr std::size_t state_per_element = 2;
  static constexpr std::size_t state_per_row = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::positive);
    visit("beta", self.beta, Limit::positive);
    visit("l1", self.l1, Limit::not_negative);
    visit("l2", self.l2, Limit::not_negative);
  }

  constexpr void first_state(float* state, std::size_t dim) const {
    for (std::size_t i = 0; i < 2 * dim; ++i) state[i] = 0;
  }

  template <class Sqrt>
  struct Row {
    float rate, beta, l1, l2;
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      V const zero{};
      V sign = w;
      replace_by_sign(sign);
      // Weights follow from z and n, so a first row would be forgotten in the first step. Before it, z is what the
      // weight at hand would follow from.
      V const z0 = state[0] == zero ? -(w * (beta / rate + l2) + sign * l1) : state[1];
      V const n = state[0] + g * g;
      V old_root = state[0], root = n;
      Sqrt{}(old_root);
      Sqrt{}(root);
      V const z = z0 + g - (root - old_root) / rate * w;
      sign = z;
      replace_by_sign(sign);
      V const beyond = sign * z - l1;
      w = beyond > zero ? -sign * beyond / ((beta + root) / rate + l2) : zero;
      state[0] = n;
      state[1] = z;
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float*) const {
    return {rate, beta, l1, l2};
  }

  friend bool operator==(Ftrl const&, Ftrl const&) = default;
};

}  // namespace prdist
