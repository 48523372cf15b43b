// SPDX-License-Identifier: Apache-2.0
// The hash tables of one sparse table's shards, those that a thread owns. Requests are worked off in blocks of keys
// and each block in three stages (find the bucket, find the row, use the row), each prefetching for the next: the cost
// of a random row is then its memory bandwidth and not its latency.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/marked_row.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_pool.hpp>
#include <prdist/table/sparse_table.hpp>

namespace prdist {

class ShardTables {
 public:
  static constexpr std::size_t block_keys = 16;

  /// Keys of owned shards, in the order of the request: where they stand in it, their hashes, their rows or null.
  struct Block {
    std::size_t count;
    std::array<std::size_t, block_keys> positions;
    std::array<std::uint64_t, block_keys> hashes;
    std::array<SparseTable::Bucket const*, block_keys> segments;
    std::array<MarkedRow, block_keys> rows;
  };

  /// Rows of `row_bytes` from `pool`, which must outlive this as `arena` must.
  ShardTables(Arena& arena, RowPool& pool, std::size_t row_bytes, std::bitset<shard_count> const& owned)
      : owned_(owned), all_owned_(owned.all()), row_lines_(std::min<std::size_t>((row_bytes + 63) / 64, 4)) {
    for (std::size_t shard = 0; shard < shard_count; ++shard) {
      index_[shard] = static_cast<std::uint16_t>(tables_.size());
      if (!owned[shard]) continue;
      tables_.emplace_back(arena, pool, shard_bits);
      shards_.push_back(static_cast<std::uint16_t>(shard));
    }
  }

  [[nodiscard]] bool owns(std::uint64_t hash) const noexcept { return all_owned_ || owned_[shard_of(hash)]; }
  [[nodiscard]] bool owns_shard(std::uint32_t shard) const noexcept { return shard < shard_count && owned_[shard]; }

  /// Which of the owned shards that of `hash` is.
  [[nodiscard]] std::size_t index_of(std::uint64_t hash) const noexcept { return index_[shard_of(hash)]; }
  [[nodiscard]] std::size_t index_of_shard(std::uint32_t shard) const noexcept { return index_[shard]; }
  [[nodiscard]] SparseTable const& of(std::uint64_t hash) const noexcept { return tables_[index_of(hash)]; }
  [[nodiscard]] SparseTable& of(std::uint64_t hash) noexcept { return tables_[index_of(hash)]; }

  [[nodiscard]] std::span<SparseTable> all() noexcept { return tables_; }
  [[nodiscard]] std::span<SparseTable const> all() const noexcept { return tables_; }
  /// The shard of each of them.
  [[nodiscard]] std::span<std::uint16_t const> shards() const noexcept { return shards_; }

  [[nodiscard]] std::size_t rows() const noexcept {
    std::size_t sum = 0;
    for (auto const& table : tables_) sum += table.size();
    return sum;
  }

  /// Calls `use(Block&)` for each block of the keys that are ours. Three blocks are on their way at a time, one in
  /// each stage, so that memory has the time of three stages to answer a prefetch.
  template <class Use>
  void in_blocks(std::span<Key const> keys, Use&& use) const {
    std::size_t next = 0;
    auto const find_buckets = [&](Block& block) {
      block.count = 0;
      for (; next < keys.size() && block.count < block_keys; ++next) {
        auto const hash = hash_key(keys[next]);
        if (!owns(hash)) continue;
        auto const* const segment = of(hash).segment_of(hash);
        __builtin_prefetch(segment + SparseTable::home(hash));
        block.segments[block.count] = segment;
        block.positions[block.count] = next;
        block.hashes[block.count++] = hash;
      }
    };
    auto const find_rows = [&](Block& block) {
      for (std::size_t i = 0; i < block.count; ++i) {
        block.rows[i] = SparseTable::find(block.segments[i], block.hashes[i], keys[block.positions[i]]);
        auto const* const row = block.rows[i].row();
        for (std::size_t line = 0; line < row_lines_; ++line) __builtin_prefetch(row + line * 16);
      }
    };
    std::array<Block, 3> blocks;
    blocks[0].count = blocks[1].count = 0;
    for (std::size_t turn = 2;; ++turn) {
      auto& newest = blocks[turn % 3];
      auto& middle = blocks[(turn + 2) % 3];
      auto& oldest = blocks[(turn + 1) % 3];
      find_buckets(newest);
      find_rows(middle);
      use(oldest);
      if (newest.count + middle.count == 0) break;
    }
  }

 private:
  std::bitset<shard_count> owned_;
  bool all_owned_;
  std::size_t row_lines_;
  std::array<std::uint16_t, shard_count> index_{};
  std::vector<SparseTable> tables_;
  std::vector<std::uint16_t> shards_;
};

}  // namespace prdist
