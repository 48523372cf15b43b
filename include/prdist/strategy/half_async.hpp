// SPDX-License-Identifier: Apache-2.0
// The threads of one trainer take a step together: the mean of their gradients is one push. Trainers do not wait for
// each other. (sync.hpp has the table of choices.)
#pragma once

#include <string_view>

#include <prdist/concepts/strategy.hpp>

namespace prdist {

struct HalfAsync {
  static constexpr std::string_view name = "half_async";
  static constexpr ApplyRule apply = ApplyRule::immediate;
  static constexpr bool elastic = true;  ///< no step depends on which other trainers there are

  void step(Step& it) const {
    it.pull();
    it.compute();
    it.meet();
  }
};

}  // namespace prdist
