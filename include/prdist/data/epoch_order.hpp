// SPDX-License-Identifier: Apache-2.0
// The order of files in an epoch and of rows in a file: a function of the seed, the epoch and the file's number in it,
// so that anybody can tell what a reader that is gone had still to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <prdist/data/counter_random.hpp>

namespace prdist {

/// Which of `files` files comes first, second … in this epoch. Without a seed they come as they are.
[[nodiscard]] inline std::vector<std::uint32_t> file_order(std::size_t files, std::optional<std::uint64_t> shuffle,
                                                           std::uint64_t epoch) {
  if (shuffle) return random_order(files, CounterRandom(*shuffle).fork(epoch));
  std::vector<std::uint32_t> order(files);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

/// The order of the rows of the file that comes as number `number`, from 1.
[[nodiscard]] inline std::vector<std::uint32_t> row_order(std::size_t rows, std::uint64_t shuffle, std::uint64_t epoch,
                                                          std::uint64_t number) {
  return random_order(rows, CounterRandom(shuffle).fork(epoch).fork(number));
}

}  // namespace prdist
