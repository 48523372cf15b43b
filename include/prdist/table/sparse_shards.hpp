// SPDX-License-Identifier: Apache-2.0
// One sparse table over all shards of a thread. Requests are worked off in three stages that run a fixed distance
// apart (find the slot, find the row, use the row), each prefetching for the next: the cost of a random row is then
// its memory bandwidth and not its latency.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/gathering.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/sparse_table.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

class SparseShards {
 public:
  SparseShards(Arena& arena, SparseSpec spec, std::bitset<shard_count> const& owned)
      : spec_(std::move(spec)),
        kernel_(row_kernel(spec_.optimizer)),
        stream_(stream_of(spec_.seed, hash_name(spec_.name))),
        owned_(owned),
        all_owned_(owned.all()) {
    for (std::size_t shard = 0; shard < shard_count; ++shard) {
      index_[shard] = static_cast<std::uint16_t>(tables_.size());
      if (owned[shard]) tables_.emplace_back(arena, row_floats(spec_.optimizer, spec_.dim), shard_bits);
    }
  }

  [[nodiscard]] SparseSpec const& spec() const noexcept { return spec_; }

  [[nodiscard]] std::size_t rows() const noexcept {
    std::size_t sum = 0;
    for (auto const& table : tables_) sum += table.size();
    return sum;
  }

  void pull(std::span<Key const> keys, std::span<float> rows) const {
    auto const bytes = spec_.dim * sizeof(float);
    staged(keys, [&](std::size_t i, std::uint64_t hash, float* candidate) {
      auto* const out = rows.data() + i * spec_.dim;
      if (auto const* const row = table_of(hash).find(hash, keys[i], candidate)) {
        copy(out, row, bytes);
      } else {
        fill_first(spec_.init, stream_, keys[i], {out, spec_.dim});
      }
    });
  }

  void push(std::span<Key const> keys, std::span<float const> gradients) {
    Batch batch;
    staged(keys, [&](std::size_t i, std::uint64_t hash, float* candidate) {
      auto* row = table_of(hash).find(hash, keys[i], candidate);
      // The candidate was taken some keys ago: the same key may have been inserted since.
      if (row == nullptr) row = table_of(hash).find(hash, keys[i]);
      if (row == nullptr) row = insert(hash, keys[i]);
      if (batch.add(row, gradients.data() + i * spec_.dim)) flush(batch);
    });
    flush(batch);
  }

  /// One update per key by the weighted sum of the parts, added in their order.
  void push_weighted(std::vector<std::vector<PushRows>> const& step) {
    auto const shares = shares_of(step);
    std::size_t most = 0;
    for (auto const& part : step) {
      for (auto const& push : part) most += push.keys.size();
    }
    merged_keys_.clear();
    merged_.clear();
    merged_.reserve(most * spec_.dim);
    std::size_t slots = 16;
    while (slots < 2 * most) slots *= 2;
    merge_index_.assign(slots, 0);
    for (std::size_t p = 0; p < step.size(); ++p) {
      for (auto const& push : step[p]) {
        for (std::size_t i = 0; i < push.keys.size(); ++i) {
          auto const hash = hash_key(push.keys[i]);
          if (!owns(hash)) continue;
          auto* const sum = merged_row(hash, push.keys[i]);
          auto const* const gradient = push.gradients.data() + i * spec_.dim;
          for (std::size_t k = 0; k < spec_.dim; ++k) sum[k] += shares[p] * gradient[k];
        }
      }
    }
    push(merged_keys_, merged_);
  }

  /// Calls `visit(Key, float const* row)` for every row.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto const& table : tables_) table.for_each(visit);
  }

 private:
  static constexpr std::size_t distance = 16;

  /// Rows waiting for one call of the kernel.
  struct Batch {
    std::array<float*, 32> rows;
    std::array<float const*, 32> gradients;
    std::size_t count = 0;

    bool add(float* row, float const* gradient) {
      rows[count] = row;
      gradients[count] = gradient;
      return ++count == rows.size();
    }
  };

  void flush(Batch& batch) {
    kernel_(spec_.optimizer, batch.rows.data(), batch.gradients.data(), batch.count, spec_.dim);
    batch.count = 0;
  }

  [[nodiscard]] bool owns(std::uint64_t hash) const noexcept { return all_owned_ || owned_[shard_of(hash)]; }
  [[nodiscard]] SparseTable const& table_of(std::uint64_t hash) const noexcept {
    return tables_[index_[shard_of(hash)]];
  }
  [[nodiscard]] SparseTable& table_of(std::uint64_t hash) noexcept { return tables_[index_[shard_of(hash)]]; }

  [[nodiscard]] float* insert(std::uint64_t hash, Key key) {
    auto* const row = table_of(hash).insert(hash, key);
    fill_first(spec_.init, stream_, key, {row, spec_.dim});
    write_first_state(spec_.optimizer, row, spec_.dim);
    return row;
  }

  /// Calls `use(position, hash, candidate row)` for each key of an owned shard, in order.
  template <class Use>
  void staged(std::span<Key const> keys, Use&& use) const {
    struct Stage {
      std::size_t position;
      std::uint64_t hash;
      float* candidate;
    };
    std::array<Stage, 4 * distance> ring;
    std::size_t taken = 0, probed = 0, used = 0;
    auto const probe_one = [&] {
      auto& stage = ring[probed++ % ring.size()];
      auto const& table = table_of(stage.hash);
      stage.candidate = table.probe(stage.hash);
      if (stage.candidate != nullptr) table.prefetch_row(stage.candidate);
    };
    auto const use_one = [&] {
      auto const& stage = ring[used++ % ring.size()];
      use(stage.position, stage.hash, stage.candidate);
    };
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const hash = hash_key(keys[i]);
      if (!owns(hash)) continue;
      table_of(hash).prefetch(hash);
      ring[taken++ % ring.size()] = {i, hash, nullptr};
      if (taken - probed > distance) probe_one();
      if (probed - used > distance) use_one();
    }
    while (probed < taken) {
      probe_one();
      if (probed - used > distance) use_one();
    }
    while (used < probed) use_one();
  }

  static void copy(float* out, float const* row, std::size_t bytes) noexcept {
    switch (bytes) {  // constants become a few moves; the library call costs as much as the row
      case 32: std::memcpy(out, row, 32); break;
      case 36: std::memcpy(out, row, 36); break;
      case 64: std::memcpy(out, row, 64); break;
      case 128: std::memcpy(out, row, 128); break;
      default: std::memcpy(out, row, bytes);
    }
  }

  /// The sum of `key` in this step, zero at first.
  [[nodiscard]] float* merged_row(std::uint64_t hash, Key key) {
    auto const mask = merge_index_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      auto& entry = merge_index_[i];
      if (entry == 0) {
        merged_keys_.push_back(key);
        merged_.resize(merged_.size() + spec_.dim, 0.0F);
        entry = static_cast<std::uint32_t>(merged_keys_.size());
      }
      if (merged_keys_[entry - 1] == key) return merged_.data() + (entry - 1) * spec_.dim;
    }
  }

  SparseSpec spec_;
  RowKernel kernel_;
  std::uint64_t stream_;
  std::bitset<shard_count> owned_;
  bool all_owned_;
  std::array<std::uint16_t, shard_count> index_{};
  std::vector<SparseTable> tables_;
  // Work space of push_weighted(), kept for its memory.
  std::vector<Key> merged_keys_;
  std::vector<float> merged_;
  std::vector<std::uint32_t> merge_index_;
};

}  // namespace prdist
