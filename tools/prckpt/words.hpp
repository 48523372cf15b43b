// SPDX-License-Identifier: Apache-2.0
// What words of the command line mean to the commands that bring checkpoints from and to Paddle.
#pragma once

#include <string>
#include <utility>

#include <prdist/checkpoint/paddle_import.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/spec.hpp>

#include "commands.hpp"

namespace prckpt {

/// What stands before the first `sign` and behind it; without one, nothing is behind it.
[[nodiscard]] std::pair<std::string, std::string> at_sign(std::string const& text, char sign);

/// NAME=PART:ROWSxCOLUMNS[:transposed|:classes]; PART - for none. @throws prdist::Error
[[nodiscard]] prdist::PaddleVariable variable_of(std::string const& text);

/// The optimizer that a text describes, as optimizer_from_text() reads it; `flag` gave it. @throws prdist::Error
[[nodiscard]] prdist::Optimizer optimizer_named(std::string const& flag, std::string const& name);

[[nodiscard]] prdist::Precision precision_of(std::string const& name);

/// What a job with geo declares: its tables add, and workers keep the state.
template <class Spec>
void make_geo(Settings const& settings, Spec& spec) {
  if (settings.strategy != "geo") return;
  spec.apply = prdist::ApplyRule::add;
  spec.learned_by = spec.optimizer;
  spec.optimizer = prdist::adding;
}

}  // namespace prckpt
