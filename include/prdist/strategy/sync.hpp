// SPDX-License-Identifier: Apache-2.0
// Every trainer's gradients of a step are applied together, once: N trainers with batch B train as one process does
// with batch N * B.
//
// | choice | use when                                            | not when                              |
// | Sync   | the result must not depend on who was faster        | trainers differ much in speed         |
// | Async  | throughput counts and a little staleness does not   | the learning rate is near its limit   |
#pragma once

#include <string_view>

#include <prdist/concepts/strategy.hpp>

namespace prdist {

struct Sync {
  static constexpr std::string_view name = "sync";
  static constexpr ApplyRule apply = ApplyRule::gather;

  void step(Step& it) const {
    it.pull();
    it.compute();
    it.push();
    it.settle(0);  // acknowledged means: applied, with everybody else's
  }
};

}  // namespace prdist
