// SPDX-License-Identifier: Apache-2.0
// w -= rate * g * sqrt(initial / (initial + s));  s += mean of g * g: one sum for the whole row, and in each step
// that of the steps before. The rule and the state of Paddle's SparseAdaGradSGDRule, whose initial_g2sum is
// `initial` and whose g2sum is s.
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct RowAdagrad {
  float rate = 0.05F;
  float initial = 3;

  static constexpr std::string_view name = "row_adagrad";
  static constexpr std::size_t state_per_element = 0;
  static constexpr std::size_t state_per_row = 1;
  static constexpr std::size_t row_sums = 1;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
    visit("initial", self.initial, Limit::positive);
  }

  constexpr void first_state(float* state, std::size_t) const { state[0] = 0; }

  struct Terms {
    template <class V>
    constexpr void operator()(V const&, V const*, V const& g, V* terms) const {
      terms[0] = g * g;
    }
  };
  template <class Sqrt>
  constexpr Terms row_terms(float const*) const {
    return {};
  }

  template <class Sqrt>
  struct Row {
    float rate;
    template <class V>
    constexpr void operator()(V& w, V*, V const& g) const {
      w -= rate * g;
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float* row_state, float const* sums, std::size_t dim) const {
    float share = initial / (initial + row_state[0]);
    Sqrt{}(share);
    row_state[0] += sums[0] / static_cast<float>(dim);
    return {rate * share};
  }

  friend bool operator==(RowAdagrad const&, RowAdagrad const&) = default;
};

}  // namespace prdist
