// SPDX-License-Identifier: Apache-2.0
// What any rule can be given besides: a penalty on large weights, bounds, and a schedule of its rate. Adjusted<Rule>
// is a rule itself, and runs wherever rules do.
#pragma once

#include <cstddef>
#include <limits>

#include <prdist/optim/field.hpp>
#include <prdist/optim/rule.hpp>
#include <prdist/optim/schedule.hpp>
#include <prdist/optim/sign.hpp>

namespace prdist {

/// The gradient of l1 * |w| + l2 / 2 * w * w is added to the gradient that arrives. A sparse row pays when its key
/// comes, and not in the steps between.
struct Penalty {
  float l1 = 0;
  float l2 = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("l1", self.l1, Limit::not_negative);
    visit("l2", self.l2, Limit::not_negative);
  }

  [[nodiscard]] constexpr bool is_none() const noexcept { return l1 == 0 && l2 == 0; }

  friend bool operator==(Penalty const&, Penalty const&) = default;
};

/// Weights are cut to [low, high] after each update. A first row is not: choose its initializer within.
struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  [[nodiscard]] constexpr bool is_none() const noexcept { return *this == Bounds{}; }

  friend bool operator==(Bounds const&, Bounds const&) = default;
};

/// A row of a scheduled rule has one float more, behind the rule's own: how many updates it has had. It counts to
/// 2^24 and then stands.
template <class Rule, bool scheduled>
struct Adjusted {
  Rule rule;
  Penalty penalty;
  Bounds bounds;
  Schedule schedule;

  static constexpr std::size_t state_per_element = Rule::state_per_element;
  static constexpr std::size_t state_per_row = Rule::state_per_row + (scheduled ? 1 : 0);
  static constexpr std::size_t row_sums = row_sums_of<Rule>;

  template <class V>
  static constexpr void add_penalty(Penalty const& penalty, V const& w, V& g) {
    V sign = w;
    replace_by_sign(sign);
    g += penalty.l1 * sign + penalty.l2 * w;
  }

  template <class Inner>
  struct Terms {
    Inner inner;
    Penalty penalty;
    template <class V>
    constexpr void operator()(V const& w, V const* state, V const& g, V* terms) const {
      V whole = g;
      add_penalty(penalty, w, whole);
      inner(w, state, whole, terms);
    }
  };
  template <class Sqrt>
  constexpr auto row_terms(float const* row_state) const {
    auto const inner = rule.template row_terms<Sqrt>(row_state);
    return Terms<decltype(inner)>{inner, penalty};
  }

  template <class Inner>
  struct Row {
    Inner inner;
    Penalty penalty;
    Bounds bounds;
    template <class V>
    constexpr void operator()(V& w, V* state, V const& g) const {
      V whole = g;
      add_penalty(penalty, w, whole);
      inner(w, state, whole);
      V const low = V{} + bounds.low, high = V{} + bounds.high;
      w = w < low ? low : w;
      w = w > high ? high : w;
    }
  };
  template <class Sqrt, class... Sums>
  constexpr auto begin_row(float* row_state, Sums... sums) const {
    auto const inner = begin_inner<Sqrt>(row_state, sums...);
    return Row<decltype(inner)>{inner, penalty, bounds};
  }

 private:
  template <class Sqrt, class... Sums>
  constexpr auto begin_inner(float* row_state, Sums... sums) const {
    if constexpr (scheduled) {
      float& age = row_state[Rule::state_per_row];
      auto const factor = static_cast<float>(schedule.factor_at(age));
      age += 1;
      if constexpr (requires { rule.template begin_scaled_row<Sqrt>(row_state, factor); }) {
        return rule.template begin_scaled_row<Sqrt>(row_state, factor);
      } else {
        auto scaled = rule;
        scaled.rate *= factor;
        return scaled.template begin_row<Sqrt>(row_state, sums...);
      }
    } else {
      return rule.template begin_row<Sqrt>(row_state, sums...);
    }
  }
};

}  // namespace prdist
