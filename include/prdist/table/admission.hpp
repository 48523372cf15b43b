// SPDX-License-Identifier: Apache-2.0
// Keys that knock: which push of a key makes its row. A filter for each shard, so that who comes in does not depend on
// how shards are shared among threads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_policy.hpp>

namespace prdist {

/// Exact counts of a bounded number of keys, eight to a bucket; when one is full, the key seen least is forgotten.
class CountFilter {
 public:
  CountFilter(Arena& arena, std::size_t capacity)
      : buckets_((capacity + ways - 1) / ways),
        bucket_(static_cast<Bucket*>(arena.allocate(buckets_ * sizeof(Bucket)))) {}

  /// One push more of `key`; how many there were, this one included. A key that gets `enough` is done with.
  std::uint32_t count(std::uint64_t hash, Key key, std::uint32_t enough) noexcept {
    auto& [keys, counts] = bucket_[(hash & 0xffffffffU) * buckets_ >> 32];
    std::size_t at = 0;
    while (at < ways && (keys[at] != key || counts[at] == 0)) ++at;
    if (at == ways) {
      at = static_cast<std::size_t>(std::min_element(counts.begin(), counts.end()) - counts.begin());
      keys[at] = key;
      counts[at] = 0;
    }
    auto const seen = ++counts[at];
    if (seen >= enough) counts[at] = 0;
    return seen;
  }

 private:
  static constexpr std::size_t ways = 8;
  struct Bucket {
    std::array<Key, ways> keys;
    std::array<std::uint32_t, ways> counts;
  };

  std::size_t buckets_;
  Bucket* bucket_;
};

/// A counting Bloom filter of bytes: the count of a key is the least of its counters, never too small while no more
/// than `capacity` keys are in it. It forgets all when more come.
class BloomFilter {
 public:
  BloomFilter(Arena& arena, std::size_t capacity, double false_positives)
      : capacity_(capacity),
        hashes_(std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(-std::log2(false_positives))), 1, 24)),
        size_(static_cast<std::size_t>(
                  std::ceil(static_cast<double>(capacity) * -std::log(false_positives) / (0.6931472 * 0.6931472))) +
              1),
        counters_(static_cast<std::uint8_t*>(arena.allocate(size_))) {}

  /// One push more of a key; about how many there were, this one included, at most 255.
  std::uint32_t count(std::uint64_t hash) noexcept {
    std::array<std::uint8_t*, 24> of_key;
    // Two hashes make all the others.
    auto const first = mix(hash ^ 0x5bf0'3635'dcb2'a5a1ULL), second = mix(first) | 1;
    std::uint8_t least = most;
    for (std::size_t i = 0; i < hashes_; ++i) {
      of_key[i] = counters_ + static_cast<std::size_t>((first + i * second) % size_);
      least = std::min(least, *of_key[i]);
    }
    if (least == 0 && ++keys_ > capacity_) {
      std::memset(counters_, 0, size_);
      keys_ = 1;
    }
    if (least == most) return most;
    // Only the least are raised: the others count keys besides this one.
    for (std::size_t i = 0; i < hashes_; ++i) {
      if (*of_key[i] <= least) *of_key[i] = static_cast<std::uint8_t>(least + 1);
    }
    return least + 1U;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return size_; }

 private:
  static constexpr std::uint8_t most = 255;

  std::size_t capacity_;
  std::size_t hashes_;
  std::size_t size_;
  std::uint8_t* counters_;
  std::size_t keys_ = 0;
};

/// The filter of one shard.
class AdmissionFilter {
 public:
  AdmissionFilter(Arena& arena, Admission const& policy, std::uint64_t stream)
      : policy_(policy),
        stream_(stream),
        below_(policy.probability >= 1 ? std::numeric_limits<std::uint64_t>::max()
                                       : static_cast<std::uint64_t>(policy.probability * 0x1p64)),
        counts_(arena, policy.kind == Admission::Kind::count ? share(policy) : 0),
        bloom_(arena, policy.kind == Admission::Kind::bloom ? share(policy) : 0, policy.false_positives) {}

  /// Whether this push of a key without a row gives it one. `sighting` is different for every push of a key.
  [[nodiscard]] bool admits(std::uint64_t hash, Key key, std::uint64_t sighting) noexcept {
    switch (policy_.kind) {
      case Admission::Kind::all: return true;
      case Admission::Kind::count: return counts_.count(hash, key, policy_.pushes) >= policy_.pushes;
      case Admission::Kind::probability: return mix(stream_ ^ hash ^ mix(sighting)) < below_;
      case Admission::Kind::bloom: return bloom_.count(hash) >= policy_.pushes;
    }
    return true;
  }

 private:
  /// A shard's part of the keys. Some get more than others: an eighth more than the mean, and a few.
  static std::size_t share(Admission const& policy) {
    auto const mean = static_cast<std::size_t>(policy.capacity) / shard_count;
    return mean + mean / 8 + 16;
  }

  Admission policy_;
  std::uint64_t stream_;
  std::uint64_t below_;
  CountFilter counts_;
  BloomFilter bloom_;
};

}  // namespace prdist
