// SPDX-License-Identifier: Apache-2.0
// When a gradient is applied. A strategy has two halves: the apply rule its tables are declared with, which the
// servers follow, and the order of things in a trainer's step.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <prdist/concepts/policy.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// What a step consists of. The optimizer supplies it; a strategy calls it and sees neither sockets nor clocks. A
/// trainer with several threads has one of these for each; what is said of "this thread" is of the one that calls.
class Step {
 public:
  virtual ~Step() = default;
  /// Fetches the rows and dense weights of the batch, and waits for them: from the servers, or from the trainer's own
  /// copy when the tables add.
  virtual void pull() = 0;
  /// Asks for what the next step's batch needs, when that is known, so that it arrives while this one computes. It will
  /// not have this thread's pushes from here on.
  virtual void ask_ahead() = 0;
  /// Lets the model compute its gradients from what was pulled.
  virtual void compute() = 0;
  /// Sends the gradients, and does not wait. With `merge` above 1, this thread's gradients wait until there are that
  /// many, or until settle() wants them, and leave as one.
  virtual void push(std::size_t merge) = 0;
  /// Waits until at most `most` pushes of this thread are not yet acknowledged.
  virtual void settle(std::size_t most) = 0;
  /// Waits for the other threads of this trainer; the mean of all their gradients is then pushed once and applied.
  virtual void meet() = 0;
  /// Says that this thread has finished one more step, and waits until nobody in the job is more than `ahead` steps
  /// behind it. A strategy that calls it has a `static constexpr bool ticks = true`.
  virtual void tick(std::uint64_t ahead) = 0;
  /// Applies the gradients to the trainer's own copy.
  virtual void learn() = 0;
  /// At every `interval`-th call in this trainer: sends what its copy has learned, and takes in what others did.
  virtual void exchange(std::size_t interval) = 0;
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
