// SPDX-License-Identifier: Apache-2.0
// Every trainer trains a copy of its own with the optimizer's rule. Every `push_interval` steps it sends what the copy
// has moved since, divided by the number of trainers, and takes in what others have sent. (sync.hpp has the table of
// choices.)
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/concepts/strategy.hpp>

namespace prdist {

struct Geo {
  std::size_t push_interval = 10;  ///< steps of a trainer between two exchanges; k_steps in Paddle

  static constexpr std::string_view name = "geo";
  static constexpr ApplyRule apply = ApplyRule::add;

  void step(Step& it) const {
    it.pull();
    it.compute();
    it.learn();
    it.exchange(push_interval);
  }
};

}  // namespace prdist
