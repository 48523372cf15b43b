// SPDX-License-Identifier: Apache-2.0
// Gradients are applied when they arrive, and the next step does not wait for the last one's: they are sent, and the
// next step's rows received, while the model computes. How far a thread may run ahead of its own acknowledgements is
// bounded. (sync.hpp has the table of choices.)
#pragma once

#include <cstddef>
#include <string_view>

#include <prdist/concepts/strategy.hpp>

namespace prdist {

struct Async {
  /// Pushes that may be unacknowledged while the next step computes. With 0 a step sees all before it.
  std::size_t send_queue_size = 2;
  /// So many leave as one push: their sum for Sgd, else their mean. They wait in the queue, so at most
  /// send_queue_size + 1 do.
  std::size_t max_merge_var_num = 1;

  static constexpr std::string_view name = "async";
  static constexpr ApplyRule apply = ApplyRule::immediate;
  static constexpr bool asks_ahead = true;
  static constexpr bool elastic = true;  ///< no step depends on which other trainers there are

  void step(Step& it) const {
    it.pull();
    if (send_queue_size > 0) it.ask_ahead();
    it.compute();
    it.push(max_merge_var_num);
    it.settle(send_queue_size);
  }
};

}  // namespace prdist
