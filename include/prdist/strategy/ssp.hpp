// SPDX-License-Identifier: Apache-2.0
// Stale synchronous parallel: as Async, but nobody begins a step while somebody is more than `staleness` steps behind.
// With 0 all take each step together, yet push one by one. (sync.hpp has the table of choices.)
#pragma once

#include <cstdint>
#include <string_view>

#include <prdist/concepts/strategy.hpp>

namespace prdist {

struct Ssp {
  std::uint64_t staleness = 3;  ///< steps that the fastest thread of the job may be ahead of the slowest

  static constexpr std::string_view name = "ssp";
  static constexpr ApplyRule apply = ApplyRule::immediate;
  static constexpr bool ticks = true;  ///< who has no more batches must tell the clock

  void step(Step& it) const {
    it.pull();
    it.compute();
    it.push(1);
    it.settle(0);  // who hears of this step's clock may count on its gradients
    it.tick(staleness);
  }
};

}  // namespace prdist
