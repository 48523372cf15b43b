// SPDX-License-Identifier: Apache-2.0
// Every trainer's gradients of a step are applied together, once: N trainers with batch B train as one process does
// with batch N * B.
//
// | choice    | use when                                               | not when                                   |
// | Sync      | the result must not depend on who was faster           | trainers differ much in speed              |
// | HalfAsync | one trainer has many threads, and few pushes are wanted | its threads differ much in speed           |
// | Async     | throughput counts and a little staleness does not      | the learning rate is near its limit        |
// | Ssp       | async, and a slow trainer must not be left far behind  | one trainer is always the slow one         |
// | Geo       | the network is slow: a push every K steps is enough    | rows of a trainer do not fit its memory    |
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
    it.push(1);
    it.settle(0);  // acknowledged means: applied, with everybody else's
  }
};

}  // namespace prdist
