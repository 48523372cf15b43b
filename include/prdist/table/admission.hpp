// SPDX-License-Identifier: Apache-2.0
// Keys that knock: which push of a key makes its row. A filter for each shard, so that who comes in does not depend on
// how shards are shared among threads or servers. What a filter knows leaves and comes back in pieces, each small
// enough to be copied before a push changes it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>
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
    auto& bucket = bucket_[index_of(hash)];
    auto& [keys, counts] = bucket;
    auto at = bucket.find(key);
    if (at == ways) {
      at = bucket.least();
      keys[at] = key;
      counts[at] = 0;
    }
    auto const seen = ++counts[at];
    if (seen >= enough) counts[at] = 0;
    return seen;
  }

  /// What is saved of a key. Where it stands in its bucket decides who of those seen least is forgotten first.
  struct Saved {
    std::uint32_t count;
    std::uint32_t way;
  };

  [[nodiscard]] std::size_t pieces() const noexcept { return (buckets_ + piece_buckets - 1) / piece_buckets; }
  [[nodiscard]] std::size_t piece_of(std::uint64_t hash) const noexcept { return index_of(hash) / piece_buckets; }

  /// Calls `visit(Key, Saved)` for the keys of a piece.
  template <class Visit>
  void for_each_in(std::size_t piece, Visit&& visit) const {
    auto const end = std::min(buckets_, (piece + 1) * piece_buckets);
    for (auto b = piece * piece_buckets; b < end; ++b) {
      auto const& [keys, counts] = bucket_[b];
      for (std::uint32_t way = 0; way < ways; ++way) {
        if (counts[way] != 0) visit(keys[way], Saved{counts[way], way});
      }
    }
  }

  /// In a filter of another capacity a key may find its bucket full: then those seen least are forgotten, as ever.
  void load(std::uint64_t hash, Key key, Saved const& saved) noexcept {
    auto& bucket = bucket_[index_of(hash)];
    auto& [keys, counts] = bucket;
    auto at = bucket.find(key);
    if (at == ways) at = saved.way < ways && counts[saved.way] == 0 ? saved.way : bucket.least();
    if (keys[at] != key && counts[at] > saved.count) return;
    keys[at] = key;
    counts[at] = saved.count;
  }

  void clear() noexcept { std::fill_n(bucket_, buckets_, Bucket{}); }

 private:
  static constexpr std::size_t ways = 8;
  static constexpr std::size_t piece_buckets = 64;
  struct Bucket {
    std::array<Key, ways> keys;
    std::array<std::uint32_t, ways> counts;

    [[nodiscard]] std::size_t find(Key key) const noexcept {
      std::size_t at = 0;
      while (at < ways && (keys[at] != key || counts[at] == 0)) ++at;
      return at;
    }
    [[nodiscard]] std::size_t least() const noexcept {
      return static_cast<std::size_t>(std::min_element(counts.begin(), counts.end()) - counts.begin());
    }
  };

  [[nodiscard]] std::size_t index_of(std::uint64_t hash) const noexcept {
    return (hash & 0xffffffffU) * buckets_ >> 32;
  }

  std::size_t buckets_;
  Bucket* bucket_;
};

/// A counting Bloom filter of bytes: the count of a key is the least of its counters, never too small while no more
/// than `capacity` keys are in it. It forgets all when more come.
class BloomFilter {
 public:
  BloomFilter(Arena& arena, std::size_t capacity, double false_positives)
      : capacity_(capacity),
        hashes_(std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(-std::log2(false_positives))), 1,
                                        most_hashes)),
        size_(static_cast<std::size_t>(
                  std::ceil(static_cast<double>(capacity) * -std::log(false_positives) / (0.6931472 * 0.6931472))) +
              1),
        counters_(static_cast<std::uint8_t*>(arena.allocate(size_))) {}

  /// One push more of a key; about how many there were, this one included, at most 255.
  std::uint32_t count(std::uint64_t hash) noexcept {
    std::array<std::uint8_t*, most_hashes> of_key;
    auto const least = find(hash, of_key);
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

  static constexpr std::size_t piece_bytes = 4096;
  [[nodiscard]] std::size_t pieces() const noexcept { return (size_ + piece_bytes - 1) / piece_bytes; }
  [[nodiscard]] std::size_t keys() const noexcept { return keys_; }

  /// Calls `visit(piece)` for those that a push of the key would change, some more than once.
  template <class Visit>
  void changing(std::uint64_t hash, Visit&& visit) const {
    std::array<std::uint8_t*, most_hashes> of_key;
    if (find(hash, of_key) == 0 && keys_ + 1 > capacity_) {
      for (std::size_t piece = 0; piece < pieces(); ++piece) visit(piece);
    } else {
      for (std::size_t i = 0; i < hashes_; ++i) visit(static_cast<std::size_t>(of_key[i] - counters_) / piece_bytes);
    }
  }

  /// The counters of a piece.
  [[nodiscard]] std::span<std::uint8_t> piece(std::size_t number) const noexcept {
    return {counters_ + number * piece_bytes, std::min(piece_bytes, size_ - number * piece_bytes)};
  }
  void set_keys(std::size_t keys) noexcept { keys_ = keys; }

  void clear() noexcept {
    std::memset(counters_, 0, size_);
    keys_ = 0;
  }

 private:
  static constexpr std::uint8_t most = 255;
  static constexpr std::size_t most_hashes = 24;

  /// The counters of a key, and the least of them.
  std::uint8_t find(std::uint64_t hash, std::array<std::uint8_t*, most_hashes>& of_key) const noexcept {
    // Two hashes make all the others.
    auto const first = mix(hash ^ 0x5bf0'3635'dcb2'a5a1ULL), second = mix(first) | 1;
    std::uint8_t least = most;
    for (std::size_t i = 0; i < hashes_; ++i) {
      of_key[i] = counters_ + static_cast<std::size_t>((first + i * second) % size_);
      least = std::min(least, *of_key[i]);
    }
    return least;
  }

  std::size_t capacity_;
  std::size_t hashes_;
  std::size_t size_;
  std::uint8_t* counters_;
  std::size_t keys_ = 0;
};

/// Whether a filter of the one policy can go on with what one of the other knew. Numbers of pushes and keys may differ
/// where keys are counted; those of a Bloom filter decide which counters are whose.
[[nodiscard]] inline bool continues(Admission const& here, Admission const& saved) noexcept {
  auto const knows = [](Admission const& policy) {
    return policy.kind == Admission::Kind::count || policy.kind == Admission::Kind::bloom;
  };
  if (!knows(here) || !knows(saved)) return true;  // there is nothing to go on with
  if (here.kind != saved.kind || here.kind == Admission::Kind::count) return here.kind == saved.kind;
  return here.capacity == saved.capacity && here.false_positives == saved.false_positives;
}

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

  // A push of a key without a row changes some pieces; a cut saves each before its first change. Chance has none.
  [[nodiscard]] std::size_t pieces() const noexcept {
    if (policy_.kind == Admission::Kind::count) return counts_.pieces();
    return policy_.kind == Admission::Kind::bloom ? bloom_.pieces() : 0;
  }
  template <class Visit>
  void changing(std::uint64_t hash, Visit&& visit) const {
    if (policy_.kind == Admission::Kind::count) visit(counts_.piece_of(hash));
    if (policy_.kind == Admission::Kind::bloom) bloom_.changing(hash, visit);
  }

  /// How many keys are in it: it has to be saved with every piece, as it was when the cut began.
  [[nodiscard]] std::uint64_t keys() const noexcept { return bloom_.keys(); }

  /// Of what stands with each key of a saved piece.
  [[nodiscard]] std::size_t row_bytes() const noexcept {
    return policy_.kind == Admission::Kind::bloom ? sizeof(std::uint64_t) + BloomFilter::piece_bytes
                                                  : sizeof(CountFilter::Saved);
  }

  /// Appends a piece to `block`, when there is something in it.
  void save(std::size_t piece, std::uint64_t keys, RowBlock& block) const {
    auto const append = [&](Key key, void const* data, std::size_t bytes) {
      block.keys.push_back(key);
      block.rows.resize(block.keys.size() * row_bytes());
      std::memcpy(block.rows.data() + block.rows.size() - row_bytes(), data, bytes);
    };
    if (policy_.kind == Admission::Kind::count) {
      counts_.for_each_in(piece, [&](Key key, CountFilter::Saved const& saved) { append(key, &saved, sizeof saved); });
    } else if (auto const counters = bloom_.piece(piece); std::ranges::any_of(counters, std::identity{})) {
      append(piece, &keys, sizeof keys);
      std::memcpy(block.rows.data() + block.rows.size() - BloomFilter::piece_bytes, counters.data(), counters.size());
    }
  }

  /// Takes in what save() gave, perhaps of a filter that counts with another capacity. @throws Error table.shape
  void load(std::string_view table, RowBlock const& block) {
    check_shape(table, block, row_bytes());
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      auto const* const row = block.rows.data() + i * row_bytes();
      if (policy_.kind == Admission::Kind::count) {
        CountFilter::Saved saved;
        std::memcpy(&saved, row, sizeof saved);
        counts_.load(hash_key(block.keys[i]), block.keys[i], saved);
      } else {
        if (block.keys[i] >= bloom_.pieces()) {
          throw Error(Errc::table_shape, "table '", table, "': piece ", block.keys[i], " of a Bloom filter that has ",
                      bloom_.pieces(), ": load it with the capacity and false_positives it was saved with");
        }
        std::uint64_t keys = 0;
        std::memcpy(&keys, row, sizeof keys);
        auto const counters = bloom_.piece(block.keys[i]);
        std::memcpy(counters.data(), row + sizeof keys, counters.size());
        bloom_.set_keys(keys);
      }
    }
  }

  void clear() noexcept {
    counts_.clear();
    bloom_.clear();
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
