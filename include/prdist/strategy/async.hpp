// SPDX-License-Identifier: Apache-2.0
// Gradients are applied when they arrive, and the next step does not wait for the last one's. How far a trainer may
// run ahead of its own acknowledgements is bounded, so weights are never staler than that. (sync.hpp has the table
// of choices.)
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/concepts/strategy.hpp>

namespace prdist {

struct Async {
  std::size_t in_flight = 2;  ///< steps whose pushes may be under way while the next one computes

  static constexpr std::string_view name = "async";
  static constexpr ApplyRule apply = ApplyRule::immediate;

  void step(Step& it) const {
    it.pull();
    it.compute();
    it.push();
    it.settle(in_flight);
  }
};

}  // namespace prdist
