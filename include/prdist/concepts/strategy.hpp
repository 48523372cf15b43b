// SPDX-License-Identifier: Apache-2.0
// When a gradient is applied. A strategy has two halves: the apply rule its tables are declared with, which the
// servers follow, and the order of things in a trainer's step.
#pragma once

#include <concepts>
#include <cstddef>

#include <prdist/concepts/policy.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// What a step consists of. The optimizer supplies it; a strategy calls it and sees neither sockets nor clocks.
class Step {
 public:
  virtual ~Step() = default;
  /// Fetches the rows and dense weights of the batch, and waits for them.
  virtual void pull() = 0;
  /// Lets the model compute its gradients from what was pulled.
  virtual void compute() = 0;
  /// Sends the gradients, and does not wait.
  virtual void push() = 0;
  /// Waits until at most `most` pushes are not yet acknowledged.
  virtual void settle(std::size_t most) = 0;
};

template <class Choice>
concept has_apply_rule = requires {
  { Choice::apply } -> std::convertible_to<ApplyRule>;
};

template <class Choice>
concept can_step = requires(Choice& choice, Step& step) {
  choice.step(step);
};

template <class Choice>
concept strategy_policy = named<Choice> && has_apply_rule<Choice> && can_step<Choice>;

template <strategy_policy Choice>
struct Strategy {
  using axis = prdist::axis::strategy;
  using choice = Choice;
};

}  // namespace prdist
