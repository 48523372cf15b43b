// SPDX-License-Identifier: Apache-2.0
// FTRL-Proximal: z += g - (sqrt(n + g * g) - sqrt(n)) / rate * w;  n += g * g;
// w = |z| > l1 ? (sign(z) * l1 - z) / ((beta + sqrt(n)) / rate + l2) : 0. Its l1 makes weights exactly zero.
//
// A schedule gives each step a rate r of its own, and McMahan's sigma is then the difference of (beta + sqrt(n)) / r
// between two steps: a weight with gradient 0 stays where it is. z is kept as the one that the weight follows from at
// `rate`, so a row need not remember the r of its last step.
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

  template <class Sqrt, bool scheduled>
  struct Row {
    float rate, beta, l1, l2;
    float now;  ///< the rate of this step
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      if constexpr (scheduled) {
        if (now == 0) return;
      }
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
      V z = z0 + g - (root - old_root) / rate * w;
      if constexpr (scheduled) {
        if (now != rate) z -= ((beta + root) / now - (beta + root) / rate) * w;
      }
      sign = z;
      replace_by_sign(sign);
      V const beyond = sign * z - l1;
      V const old = w;
      w = beyond > zero ? -sign * beyond / ((beta + root) / now + l2) : zero;
      if constexpr (scheduled) {
        if (now != rate) {
          // Back to the z of `rate`. Without a gradient both are what they were, and rounding must not add up.
          z = beyond > zero ? sign * l1 - w * ((beta + root) / rate + l2) : z;
          w = g == zero ? old : w;
          z = g == zero ? z0 : z;
        }
      }
      state[0] = n;
      state[1] = z;
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt, false> begin_row(float*) const {
    return {rate, beta, l1, l2, rate};
  }
  /// A factor of 0 is no step: nothing of the row changes. One below 1e-12 counts as 0, or its inverse would overflow.
  template <class Sqrt>
  constexpr Row<Sqrt, true> begin_scaled_row(float*, float factor) const {
    return {rate, beta, l1, l2, factor < 1e-12F ? 0.0F : rate * factor};
  }

  friend bool operator==(Ftrl const&, Ftrl const&) = default;
};

}  // namespace prdist
