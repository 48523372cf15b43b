// SPDX-License-Identifier: Apache-2.0
// How the weights of a table follow their gradients: one of the update rules, and what any of them can be given
// besides.
//
//   Optimizer plain = Adam{.rate = 1e-3F};
//   Optimizer more{RowAdagrad{}, Penalty{.l2 = 1e-5F}, Bounds{-10, 10}, Schedule::cosine(100000).with_warmup(1000)};
//
// Adding a rule: one header like rmsprop.hpp, its name in the list below, one test (docs/extending.md).
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

#include <prdist/optim/adadelta.hpp>
#include <prdist/optim/adagrad.hpp>
#include <prdist/optim/adam.hpp>
#include <prdist/optim/adjusted.hpp>
#include <prdist/optim/ftrl.hpp>
#include <prdist/optim/lamb.hpp>
#include <prdist/optim/momentum.hpp>
#include <prdist/optim/rmsprop.hpp>
#include <prdist/optim/row_adagrad.hpp>
#include <prdist/optim/rule.hpp>
#include <prdist/optim/schedule.hpp>
#include <prdist/optim/sgd.hpp>
#include <prdist/optim/shared_adam.hpp>

namespace prdist {

using UpdateRule = std::variant<Sgd, Momentum, Adagrad, RowAdagrad, Adam, SharedAdam, Ftrl, RmsProp, AdaDelta, Lamb>;

struct Optimizer {
  UpdateRule rule{};
  Penalty penalty{};
  Bounds bounds{};
  Schedule schedule{};

  Optimizer() = default;
  /// A rule alone is an optimizer; a penalty, bounds and a schedule may follow in any order.
  template <update_rule Rule, class... More>
  requires(((std::same_as<More, Penalty> || std::same_as<More, Bounds> || std::same_as<More, Schedule>)&&...))
      Optimizer(Rule const& of_rule, More const&... more)
      : rule(of_rule) {
    (set(more), ...);
  }

  /// Whether it is the rule and nothing else.
  [[nodiscard]] bool is_plain() const noexcept {
    return penalty.is_none() && bounds.is_none() && schedule.is_constant();
  }

  friend bool operator==(Optimizer const&, Optimizer const&) = default;

 private:
  void set(Penalty const& it) { penalty = it; }
  void set(Bounds const& it) { bounds = it; }
  void set(Schedule const& it) { schedule = it; }
};

[[nodiscard]] inline std::string_view name_of(Optimizer const& optimizer) {
  return std::visit([](auto const& rule) { return std::string_view(rule.name); }, optimizer.rule);
}

/// The rule of this name, as it is without numbers; nothing when there is none.
template <std::size_t index = 0>
[[nodiscard]] std::optional<UpdateRule> rule_named(std::string_view name) {
  if constexpr (index == std::variant_size_v<UpdateRule>) {
    return std::nullopt;
  } else {
    using Rule = std::variant_alternative_t<index, UpdateRule>;
    return name == Rule::name ? UpdateRule(Rule{}) : rule_named<index + 1>(name);
  }
}

/// Floats of one row: weights and all of its state.
[[nodiscard]] inline std::size_t row_floats(Optimizer const& optimizer, std::size_t dim) {
  auto const age = optimizer.schedule.is_constant() ? std::size_t{0} : 1;
  return std::visit([&](auto const& rule) { return dim * (1 + rule.state_per_element) + rule.state_per_row + age; },
                    optimizer.rule);
}

/// Writes the state of a row that no gradient has reached yet behind its `dim` weights.
inline void write_first_state(Optimizer const& optimizer, float* row, std::size_t dim) {
  std::visit([&](auto const& rule) { rule.first_state(row + dim, dim); }, optimizer.rule);
  if (!optimizer.schedule.is_constant()) row[row_floats(optimizer, dim) - 1] = 0;
}

/// The rule of type `Rule` in `optimizer`, as it is or adjusted; it must be the one that visit_rule() gives.
template <class Rule>
[[nodiscard]] Rule rule_in(Optimizer const& optimizer) {
  if constexpr (update_rule<Rule>) {
    return *std::get_if<Rule>(&optimizer.rule);
  } else {
    auto const& rule = *std::get_if<decltype(Rule::rule)>(&optimizer.rule);
    return {rule, optimizer.penalty, optimizer.bounds, optimizer.schedule};
  }
}

/// Calls `use` with what kernels have to run: the rule itself when there is nothing else, so that it costs nothing
/// that others have a schedule or bounds.
template <class Use>
decltype(auto) visit_rule(Optimizer const& optimizer, Use&& use) {
  return std::visit(
      [&]<class Rule>(Rule const& rule) {
        if (optimizer.is_plain()) return use(rule);
        if (optimizer.schedule.is_constant()) return use(rule_in<Adjusted<Rule, false>>(optimizer));
        return use(rule_in<Adjusted<Rule, true>>(optimizer));
      },
      optimizer.rule);
}

}  // namespace prdist
