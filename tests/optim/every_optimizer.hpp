// SPDX-License-Identifier: Apache-2.0
// The optimizers that every kernel, device and table has to run. A new rule gets its line here.
#pragma once

#include <vector>

#include <prdist/optim/optimizer.hpp>

namespace prdist::test {

/// Every rule, with the numbers that bring out what it has; the one that has two forms in both.
inline std::vector<Optimizer> every_optimizer() {
  return {Sgd{.rate = 0.03F},
          Momentum{.rate = 0.03F},
          Momentum{.rate = 0.03F, .nesterov = true},
          Adagrad{.rate = 0.03F, .initial = 0.1F},
          RowAdagrad{.rate = 0.03F, .initial = 0.5F},
          Adam{.rate = 0.003F},
          SharedAdam{.rate = 0.003F},
          Ftrl{.rate = 0.1F, .l1 = 0.05F, .l2 = 0.1F},
          RmsProp{.rate = 0.003F},
          AdaDelta{},
          Lamb{.rate = 0.003F}};
}

/// And each of them with all that it can be given.
inline std::vector<Optimizer> every_optimizer_and_adjusted() {
  auto all = every_optimizer();
  for (auto const& plain : every_optimizer()) {
    auto bounded = plain;
    bounded.penalty = {.l1 = 0.01F, .l2 = 0.02F};
    bounded.bounds = {-0.8F, 0.7F};
    all.push_back(bounded);
    bounded.schedule = Schedule::cosine(80, 0.1F).with_warmup(10, 0.2F);
    all.push_back(bounded);
  }
  return all;
}

}  // namespace prdist::test
