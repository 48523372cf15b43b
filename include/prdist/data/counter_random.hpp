// SPDX-License-Identifier: Apache-2.0
// Random numbers by position: draw i is a pure function of the stream and i. There is no state to carry or share,
// rows can be drawn in any order, and the numbers are the same with every compiler and library, which the
// distributions of <random> do not promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <prdist/core/hash.hpp>

namespace prdist {

class CounterRandom {
 public:
  constexpr explicit CounterRandom(std::uint64_t stream) noexcept : base_(mix(stream + golden)) {}

  /// An independent stream for every `index`.
  [[nodiscard]] constexpr CounterRandom fork(std::uint64_t index) const noexcept {
    // base_ is mixed once more: without, seed and index could change places.
    return CounterRandom(mix(base_) ^ mix(index + golden));
  }

  [[nodiscard]] constexpr std::uint64_t bits(std::uint64_t draw) const noexcept {
    return mix(base_ + golden * (draw + 1));
  }

  /// In [0, 1), all 53 bits of it.
  [[nodiscard]] constexpr double unit(std::uint64_t draw) const noexcept {
    return static_cast<double>(bits(draw) >> 11) * 0x1p-53;
  }

  /// In [0, bound), for bounds below 2^32; the bias is below bound / 2^32.
  [[nodiscard]] constexpr std::size_t below(std::uint64_t draw, std::uint64_t bound) const noexcept {
    return static_cast<std::size_t>(((bits(draw) >> 32) * bound) >> 32);
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;
  std::uint64_t base_;
};

/// The numbers 0 … count - 1 in a random order (Fisher and Yates).
[[nodiscard]] inline std::vector<std::uint32_t> random_order(std::size_t count, CounterRandom random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

}  // namespace prdist
