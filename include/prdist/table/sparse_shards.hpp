// SPDX-License-Identifier: Apache-2.0
// One sparse table over all shards of a thread. Requests are worked off in blocks of keys and each block in three
// stages (find the bucket, find the row, use the row), each prefetching for the next: the cost of a random row is then
// its memory bandwidth and not its latency.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/gathering.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/marked_row.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/table/row_pool.hpp>
#include <prdist/table/sparse_cut.hpp>
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
        all_owned_(owned.all()),
        row_bytes_(row_floats(spec_.optimizer, spec_.dim) * sizeof(float)),
        pool_(std::make_unique<RowPool>(arena, row_bytes_)) {
    for (std::size_t shard = 0; shard < shard_count; ++shard) {
      index_[shard] = static_cast<std::uint16_t>(tables_.size());
      if (!owned[shard]) continue;
      tables_.emplace_back(arena, *pool_, shard_bits);
      shards_.push_back(static_cast<std::uint16_t>(shard));
    }
    renew_marks();
  }

  [[nodiscard]] SparseSpec const& spec() const noexcept { return spec_; }

  [[nodiscard]] std::size_t rows() const noexcept {
    std::size_t sum = 0;
    for (auto const& table : tables_) sum += table.size();
    return sum;
  }

  void pull(std::span<Key const> keys, std::span<float> rows) const {
    auto const bytes = spec_.dim * sizeof(float);
    in_blocks(keys, [&](Block const& block) {
      for (std::size_t i = 0; i < block.count; ++i) {
        auto const position = block.positions[i];
        auto* const out = rows.data() + position * spec_.dim;
        if (auto const row = block.rows[i]) {
          copy(out, row.row(), bytes);
        } else {
          fill_first(spec_.init, stream_, keys[position], {out, spec_.dim});
        }
      }
    });
  }

  void push(std::span<Key const> keys, std::span<float const> gradients) {
    std::array<float*, block_keys> rows;
    std::array<float const*, block_keys> of_block;
    in_blocks(keys, [&](Block const& block) {
      for (std::size_t i = 0; i < block.count; ++i) {
        auto const position = block.positions[i];
        rows[i] = to_change(block.rows[i], block.hashes[i], keys[position]);
        of_block[i] = gradients.data() + position * spec_.dim;
      }
      kernel_(spec_.optimizer, rows.data(), of_block.data(), block.count, spec_.dim);
    });
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

  // The cuts of this table, as ShardGroup describes them.
  void begin_cut(CutKind kind, GuardedSink& sink, TableId table) {
    cut_.begin(kind, sink, table, row_bytes_, tables_);
    renew_marks();
  }
  bool advance_cut(std::size_t rows) { return cut_.advance(rows, tables_, shards_); }
  void keep_cut() { cut_.keep(); }
  void cancel_cut() { cut_.cancel(); }

  /// Inserts or overwrites the rows of a block, or takes them away when it says so; keys of other shards are passed
  /// over. @throws Error table.shape, table.memory
  void load(RowBlock const& block) {
    check_shape(spec_.name, block, row_bytes_);
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      auto const key = block.keys[i];
      auto const hash = hash_key(key);
      if (!owns(hash)) continue;
      auto const row = table_of(hash).find(hash, key);
      if (!block.removed) {
        std::memcpy(to_change(row, hash, key), block.rows.data() + i * row_bytes_, row_bytes_);
      } else if (row) {
        erase(hash, key);
      }
    }
  }

  /// Calls `visit(Key, float const* row)` for every row.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto const& table : tables_) table.for_each(visit);
  }

 private:
  static constexpr std::size_t block_keys = 16;

  /// Keys of owned shards, in the order of the request: where they stand in it, their hashes, their rows or null.
  struct Block {
    std::size_t count;
    std::array<std::size_t, block_keys> positions;
    std::array<std::uint64_t, block_keys> hashes;
    std::array<SparseTable::Bucket const*, block_keys> segments;
    std::array<MarkedRow, block_keys> rows;
  };

  [[nodiscard]] bool owns(std::uint64_t hash) const noexcept { return all_owned_ || owned_[shard_of(hash)]; }
  [[nodiscard]] SparseTable const& table_of(std::uint64_t hash) const noexcept {
    return tables_[index_[shard_of(hash)]];
  }
  [[nodiscard]] SparseTable& table_of(std::uint64_t hash) noexcept { return tables_[index_[shard_of(hash)]]; }

  /// What a row looks like that needs nothing noted before it changes.
  void renew_marks() { marks_ = marks_of(cut_.epoch()); }

  /// The row of `key`, free to be changed: `found` is what a search gave a while ago.
  [[nodiscard]] float* to_change(MarkedRow found, std::uint64_t hash, Key key) {
    if (!found) return find_or_insert(hash, key);
    if (((found.word ^ marks_) & MarkedRow::epoch_bits) != 0) note_change(hash, key);
    return found.row();
  }

  void note_change(std::uint64_t hash, Key key) {
    auto& table = table_of(hash);
    auto& row = table.marks(hash, key);
    cut_.before_change(table, hash, key, row);
    row.mark(marks_);
  }

  void erase(std::uint64_t hash, Key key) {
    auto& table = table_of(hash);
    cut_.before_change(table, hash, key, table.marks(hash, key));
    cut_.removed().erased(key);
    table.erase(hash, key);
  }

  /// For a key that had no row when its block was looked up; it may stand twice in there.
  [[nodiscard]] float* find_or_insert(std::uint64_t hash, Key key) {
    auto& table = table_of(hash);
    if (auto const row = table.find(hash, key)) return row.row();
    auto* const row = table.insert(hash, key, marks_);
    cut_.removed().inserted(key);
    fill_first(spec_.init, stream_, key, {row, spec_.dim});
    write_first_state(spec_.optimizer, row, spec_.dim);
    return row;
  }

  /// Calls `use(Block&)` for each block of the keys that are ours. Three blocks are on their way at a time, one in
  /// each stage, so that memory has the time of three stages to answer a prefetch.
  template <class Use>
  void in_blocks(std::span<Key const> keys, Use&& use) const {
    auto const row_lines = std::min<std::size_t>((row_bytes_ + 63) / 64, 4);
    std::size_t next = 0;
    auto const find_buckets = [&](Block& block) {
      block.count = 0;
      for (; next < keys.size() && block.count < block_keys; ++next) {
        auto const hash = hash_key(keys[next]);
        if (!owns(hash)) continue;
        auto const* const segment = table_of(hash).segment_of(hash);
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
        for (std::size_t line = 0; line < row_lines; ++line) __builtin_prefetch(row + line * 16);
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
  std::size_t row_bytes_;
  std::array<std::uint16_t, shard_count> index_{};
  std::unique_ptr<RowPool> pool_;
  std::vector<SparseTable> tables_;
  std::vector<std::uint16_t> shards_;  ///< of each of them
  SparseCut cut_;
  std::uint64_t marks_ = 0;
  // Work space of push_weighted(), kept for its memory.
  std::vector<Key> merged_keys_;
  std::vector<float> merged_;
  std::vector<std::uint32_t> merge_index_;
};

}  // namespace prdist
