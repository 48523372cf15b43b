// SPDX-License-Identifier: Apache-2.0
// Adam's step and a share of the weights, r = m' / (sqrt(v') + epsilon) + decay * w, scaled to the length of the
// weights: w -= rate * |w| / |r| * r, or rate * r where one of the two is 0. Lengths are those of a row: of a sparse
// table's, or of a dense table's range of 16 Ki floats, which is the same wherever it lies and however many servers
// there are; a layer of the network is not (it has parts on many).
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct Lamb {
  float rate = 1e-3F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-6F;
  float decay = 0.01F;

  static constexpr std::string_view name = "lamb";
  static constexpr std::size_t state_per_element = 2;
  static constexpr std::size_t state_per_row = 2;  // powers of the betas, as Adam's
  static constexpr std::size_t row_sums = 2;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
    visit("beta1", self.beta1, Limit::fraction);
    visit("beta2", self.beta2, Limit::fraction);
    visit("epsilon", self.epsilon, Limit::positive);
    visit("decay", self.decay, Limit::not_negative);
  }

  constexpr void first_state(float* state, std::size_t dim) const {
    for (std::size_t i = 0; i < 2 * dim; ++i) state[i] = 0;
    state[2 * dim] = state[2 * dim + 1] = 1;
  }

  /// The direction r, with the corrections of the moments folded into two numbers.
  template <class Sqrt>
  struct Direction {
    float beta1, beta2, of_m, epsilon, decay;
    template <class V>
    constexpr void operator()(V const& w, V* state, V const& g, V& r) const {
      state[0] = beta1 * state[0] + (1 - beta1) * g;
      state[1] = beta2 * state[1] + (1 - beta2) * g * g;
      V root = state[1];
      Sqrt{}(root);
      r = of_m * state[0] / (root + epsilon) + decay * w;
    }
  };
  template <class Sqrt>
  constexpr Direction<Sqrt> direction(float power1, float power2) const {
    float second = 1 - power2;
    Sqrt{}(second);
    return {beta1, beta2, second / (1 - power1), epsilon * second, decay};
  }

  template <class Sqrt>
  struct Terms {
    Direction<Sqrt> direction;
    template <class V>
    constexpr void operator()(V const& w, V const* state, V const& g, V* terms) const {
      V moments[2] = {state[0], state[1]};
      V r;
      direction(w, moments, g, r);
      terms[0] = w * w;
      terms[1] = r * r;
    }
  };
  template <class Sqrt>
  constexpr Terms<Sqrt> row_terms(float const* row_state) const {
    return {direction<Sqrt>(row_state[0] * beta1, row_state[1] * beta2)};
  }

  template <class Sqrt>
  struct Row {
    Direction<Sqrt> direction;
    float rate;
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      V r;
      direction(w, state, g, r);
      w -= rate * r;
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float* row_state, float const* sums, std::size_t) const {
    row_state[0] *= beta1;
    row_state[1] *= beta2;
    float ratio = sums[0] > 0 && sums[1] > 0 ? sums[0] / sums[1] : 1.0F;
    Sqrt{}(ratio);
    return {direction<Sqrt>(row_state[0], row_state[1]), rate * ratio};
  }

  friend bool operator==(Lamb const&, Lamb const&) = default;
};

}  // namespace prdist
