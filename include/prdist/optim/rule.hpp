// SPDX-License-Identifier: Apache-2.0
// What an update rule is. A row lies in memory as `dim` weights, then state_per_element arrays of `dim` floats, then
// state_per_row floats; a rule gives
//   rate                              the number that schedules scale
//   fields(self, visit)               names its numbers and their limits, so that a declaration can carry them
//   first_state(state, dim)           writes the state of a row that no gradient has reached yet
//   begin_row<Sqrt>(row_state) → f    once per row and step
//   f(w, state, g)                    once per element; state[k] is its k-th state
// and one that looks at the whole row before it moves an element
//   row_sums                          how many sums over the row it needs
//   row_terms<Sqrt>(row_state) → t    t(w, state, g, terms) writes what an element adds to each of them
//   begin_row<Sqrt>(row_state, sums, dim) → f    in place of the one above
// and one whose steps are not in proportion to its rate
//   begin_scaled_row<Sqrt>(row_state, factor) → f    besides: a step whose rate a schedule has multiplied by `factor`
// f and t take floats or vectors of floats; Sqrt, passed in as a type, replaces its argument by its root. So one text
// of a rule runs vectorised on a CPU and as a functor on a GPU.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

namespace prdist {

template <class Rule>
concept update_rule = requires(Rule& rule, Rule const& fixed, float* state, std::size_t dim) {
  { Rule::name } -> std::convertible_to<std::string_view>;
  { Rule::state_per_element } -> std::convertible_to<std::size_t>;
  { Rule::state_per_row } -> std::convertible_to<std::size_t>;
  { rule.rate } -> std::convertible_to<float>;
  fixed.first_state(state, dim);
};

/// How many sums over the row a rule needs.
template <class Rule>
inline constexpr std::size_t row_sums_of = 0;
template <class Rule>
requires requires {
  Rule::row_sums;
}
inline constexpr std::size_t row_sums_of<Rule> = Rule::row_sums;

template <class Rule>
concept row_wide = row_sums_of<Rule> >
0;

/// The sums of a row-wide rule are taken in this many lanes, element i in lane i % sum_lanes, and the lanes then added
/// by halves: one order, which vectors and single floats can keep.
inline constexpr std::size_t sum_lanes = 8;

[[nodiscard]] constexpr float sum_of_lanes(float* lanes) {
  for (auto half = sum_lanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

}  // namespace prdist
