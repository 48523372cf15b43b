// SPDX-License-Identifier: Apache-2.0
// Counts of whole numbers in buckets that double: 0, 1, 2, 3-4, 5-8, ... Any thread may add while others read.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <prdist/core/text.hpp>

namespace prdist {

class Histogram {
 public:
  static constexpr std::size_t buckets = 34;  ///< the last begins beyond 2^31

  void add(std::uint64_t value) noexcept {
    counts_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
    auto most = most_.load(std::memory_order_relaxed);
    while (value > most && !most_.compare_exchange_weak(most, value, std::memory_order_relaxed)) {
    }
  }

  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t all = 0;
    for (auto const& each : counts_) all += each.load(std::memory_order_relaxed);
    return all;
  }
  [[nodiscard]] std::uint64_t most() const noexcept { return most_.load(std::memory_order_relaxed); }
  [[nodiscard]] double mean() const noexcept {
    auto const all = count();
    return all == 0 ? 0 : static_cast<double>(sum_.load(std::memory_order_relaxed)) / static_cast<double>(all);
  }
  [[nodiscard]] std::uint64_t in_bucket(std::size_t bucket) const noexcept {
    return counts_[bucket].load(std::memory_order_relaxed);
  }

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) noexcept {
    auto const bucket = value == 0 ? std::size_t{0} : static_cast<std::size_t>(std::bit_width(value - 1)) + 1;
    return bucket < buckets ? bucket : buckets - 1;
  }

  /// `0`, `2`, `5-8`: the values of a bucket, as a label.
  [[nodiscard]] static std::string label_of(std::size_t bucket) {
    if (bucket <= 2) return concat(bucket);
    auto const low = (std::uint64_t{1} << (bucket - 2)) + 1;
    return bucket == buckets - 1 ? concat(low, '+') : concat(low, '-', std::uint64_t{1} << (bucket - 1));
  }

 private:
  std::array<std::atomic<std::uint64_t>, buckets> counts_{};
  std::atomic<std::uint64_t> sum_ = 0;
  std::atomic<std::uint64_t> most_ = 0;
};

}  // namespace prdist
