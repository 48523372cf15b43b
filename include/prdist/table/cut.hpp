// SPDX-License-Identifier: Apache-2.0
// A cut is the state of some shards at one moment, handed out while pushes go on. Nothing is copied at the marker:
// the rows leave a slice at a time, and one that is about to change leaves first.
//
// Every marker has a number, the epoch, and every row that of its last change (marked_row.hpp). A row is handed out
// already when its segment has been passed or when it changed in the epoch of the cut; it has changed since the last
// cut that was kept when its number is larger than that one's. So a marker, keeping a cut and abandoning one touch no
// row at all.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include <prdist/core/types.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>

namespace prdist {

enum class CutKind : std::uint8_t {
  copy,  ///< all rows, for a checkpoint that no other builds on: it cannot be kept, and nothing is noted for it
  full,
  changed,  ///< rows changed since the last cut that was kept, and the keys removed since; all rows when there is none
};

/// Where the blocks of a cut go, in no particular order. Used by the thread that owns the shards.
class CutSink {
 public:
  virtual ~CutSink() = default;

  /// What it throws ends the cut, and advance_cut() throws it on; the push that happened to hand the rows out is
  /// none the worse.
  virtual void take(RowBlock&& block) = 0;

  /// An empty block to fill, with the memory of one that is through if there is such: fresh pages cost more than the
  /// rows that are copied there.
  [[nodiscard]] virtual RowBlock spare() { return {}; }

  /// False puts off the slices until the sink has caught up. Rows that are about to change come all the same.
  [[nodiscard]] virtual bool ready() { return true; }
};

/// Keeps the first thing that goes wrong in a sink; what comes later is dropped.
class GuardedSink {
 public:
  explicit GuardedSink(CutSink& sink) : sink_(&sink) {}

  void take(RowBlock&& block) noexcept {
    if (failed_) return;
    try {
      sink_->take(std::move(block));
    } catch (...) {
      failed_ = std::current_exception();
    }
  }

  [[nodiscard]] RowBlock spare() { return failed_ ? RowBlock{} : sink_->spare(); }
  [[nodiscard]] bool ready() { return sink_->ready(); }
  [[nodiscard]] std::exception_ptr const& failed() const noexcept { return failed_; }

 private:
  CutSink* sink_;
  std::exception_ptr failed_;
};

/// Collects rows of one table to blocks, one for each shard.
class BlockBuilder {
 public:
  BlockBuilder(GuardedSink& sink, TableId table, std::size_t row_bytes)
      : sink_(&sink), table_(table), row_bytes_(row_bytes) {}

  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }

  void add(std::size_t shard, Key key, void const* row) {
    auto& block = blocks_[shard];
    auto const* const bytes = static_cast<std::byte const*>(row);
    if (block.keys.empty()) {  // growing would copy every row once more
      block = sink_->spare();
      auto const most = std::min(block_bytes / std::max<std::size_t>(1, row_bytes_) + 1, block_keys);
      block.keys.reserve(most);
      block.rows.reserve(most * row_bytes_);
    }
    block.keys.push_back(key);
    block.rows.insert(block.rows.end(), bytes, bytes + row_bytes_);
    if (block.rows.size() >= block_bytes || block.keys.size() >= block_keys) send(shard, BlockKind::rows);
  }

  /// A key that has no row any more.
  void add_removed(std::size_t shard, Key key) {
    removed_[shard].keys.push_back(key);
    if (removed_[shard].keys.size() >= block_keys) send(shard, BlockKind::removed);
  }

  void flush() {
    for (std::size_t shard = 0; shard < shard_count; ++shard) {
      send(shard, BlockKind::removed);
      send(shard, BlockKind::rows);
    }
  }

 private:
  // Small, since pushes may begin a block of every shard.
  static constexpr std::size_t block_bytes = 128 * 1024;
  static constexpr std::size_t block_keys = 4096;

  void send(std::size_t shard, BlockKind kind) {
    auto& block = (kind == BlockKind::removed ? removed_ : blocks_)[shard];
    if (block.keys.empty()) return;
    block.table = table_;
    block.shard = static_cast<std::uint32_t>(shard);
    block.kind = kind;
    block.row_bytes = row_bytes_;
    sink_->take(std::exchange(block, RowBlock{}));
  }

  GuardedSink* sink_;
  TableId table_;
  std::size_t row_bytes_;
  std::array<RowBlock, shard_count> blocks_{};
  std::array<RowBlock, shard_count> removed_{};
};

}  // namespace prdist
