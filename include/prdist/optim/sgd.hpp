// SPDX-License-Identifier: Apache-2.0
// w -= rate * g
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/optim/field.hpp>

namespace prdist {

struct Sgd {
  float rate = 0.01F;

  static constexpr std::string_view name = "sgd";
  static constexpr std::size_t state_per_element = 0;
  static constexpr std::size_t state_per_row = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate, Limit::finite);
  }

  constexpr void first_state(float*, std::size_t) const {}

  template <class Sqrt>
  struct Row {
    float rate;
    template <class V>
    constexpr void operator()(V& w, V*, V const& g) const {
      w -= rate * g;
    }
  };
  template <class Sqrt>
  constexpr Row<Sqrt> begin_row(float*) const {
    return {rate};
  }

  friend bool operator==(Sgd const&, Sgd const&) = default;
};

}  // namespace prdist
