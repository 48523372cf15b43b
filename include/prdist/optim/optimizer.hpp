// SPDX-License-Identifier: Apache-2.0
// The update rules by name, and the layout of a row: `dim` weights, then state_per_element arrays of `dim` floats,
// then state_per_row floats. A rule gives
//   fields(self, visit)               names its numbers, so that a declaration can carry them
//   first_state(state, dim)           writes the state of a row that no gradient has reached yet
//   begin_row<Sqrt>(row_state) → f    once per row and step
//   f(w, state, g)                    once per element; state[k] is its k-th state
// f takes floats or vectors of floats; Sqrt, passed in as a type, replaces its argument by its root. So one text of
// a rule runs vectorised on a CPU and as a functor on a GPU.
// Adding a rule: one header like adagrad.hpp, its name in the list below, one test.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <variant>

#include <prdist/optim/adagrad.hpp>
#include <prdist/optim/adam.hpp>
#include <prdist/optim/momentum.hpp>
#include <prdist/optim/sgd.hpp>

namespace prdist {

using Optimizer = std::variant<Sgd, Momentum, Adagrad, Adam>;

template <class Rule>
concept update_rule = requires(Rule const& rule, float* state, std::size_t dim) {
  { Rule::name } -> std::convertible_to<std::string_view>;
  { Rule::state_per_element } -> std::convertible_to<std::size_t>;
  { Rule::state_per_row } -> std::convertible_to<std::size_t>;
  rule.first_state(state, dim);
};

[[nodiscard]] inline std::string_view name_of(Optimizer const& optimizer) {
  return std::visit([](auto const& rule) { return std::string_view(rule.name); }, optimizer);
}

/// Floats of one row: weights and all of its state.
[[nodiscard]] inline std::size_t row_floats(Optimizer const& optimizer, std::size_t dim) {
  return std::visit([&](auto const& rule) { return dim * (1 + rule.state_per_element) + rule.state_per_row; },
                    optimizer);
}

}  // namespace prdist
