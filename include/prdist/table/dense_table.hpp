// SPDX-License-Identifier: Apache-2.0
// The ranges of one dense table that lie on the shards of one thread. A range is a long row: it is updated by the
// same kernels as the rows of sparse tables.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/text.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/gathering.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// Writes elements [from, from + out.size()) of a dense table as they are before any gradient: each part is a
/// stream of its own, so a part's first values do not depend on what stands before it.
inline void fill_first_dense(DenseSpec const& spec, std::size_t from, std::span<float> out) {
  std::size_t start = 0;
  for (auto const& part : spec.parts) {
    auto const low = std::max(from, start);
    auto const high = std::min(from + out.size(), start + part.size);
    if (low < high) {
      auto const stream = stream_of(spec.seed, hash_name(concat(spec.name, '/', part.name)));
      fill_first(part.init, stream, 0, out.subspan(low - from, high - low), low - start);
    }
    start += part.size;
  }
}

class DenseTable {
 public:
  /// `ranges` are all of the server's, in order; only those on `owned` shards are held here.
  DenseTable(Arena& arena, DenseSpec spec, std::vector<std::uint32_t> const& ranges,
             std::bitset<shard_count> const& owned)
      : spec_(std::move(spec)), kernel_(row_kernel(spec_.optimizer)) {
    auto const name = hash_name(spec_.name);
    std::size_t offset = 0;
    for (auto const range : ranges) {
      Range it{nullptr, range_length(spec_.size(), range), offset, range, epoch_};
      offset += it.length;
      if (owned[shard_of_range(name, range)]) {
        it.row = static_cast<float*>(arena.allocate(row_floats(spec_.optimizer, it.length) * sizeof(float)));
        fill_first_dense(spec_, range * range_floats, {it.row, it.length});
        write_first_state(spec_.optimizer, it.row, it.length);
      }
      ranges_.push_back(it);
    }
  }

  [[nodiscard]] DenseSpec const& spec() const noexcept { return spec_; }

  void pull(std::size_t first, std::size_t count, std::span<float> weights) const {
    for_owned(first, count, [&](Range const& range, std::size_t at) {
      std::memcpy(weights.data() + at, range.row, range.length * sizeof(float));
    });
  }

  void push(std::size_t first, std::size_t count, std::span<float const> gradients) {
    for_owned(first, count, [&](Range& range, std::size_t at) { update(range, gradients.data() + at); });
  }

  void assign(std::size_t first, std::size_t count, std::span<float const> weights) {
    for_owned(first, count, [&](Range& range, std::size_t at) {
      before_change(range);
      std::memcpy(range.row, weights.data() + at, range.length * sizeof(float));
      write_first_state(spec_.optimizer, range.row, range.length);
    });
  }

  /// One update by the weighted sum of the parts, added in their order.
  void push_weighted(std::vector<std::vector<PushDense>> const& step) {
    auto const shares = shares_of(step);
    std::vector<float> sum;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      auto& range = ranges_[i];
      if (range.row == nullptr) continue;
      sum.assign(range.length, 0.0F);
      for (std::size_t p = 0; p < step.size(); ++p) {
        for (auto const& push : step[p]) {
          if (i < push.first || i >= push.first + push.count) continue;
          auto const* const gradient = push.gradients.data() + (range.offset - ranges_[push.first].offset);
          for (std::size_t k = 0; k < range.length; ++k) sum[k] += shares[p] * gradient[k];
        }
      }
      update(range, sum.data());
    }
  }

  // The cuts of this table, as ShardGroup describes them. A range is a row, and its number the key.
  void begin_cut(CutKind kind, GuardedSink& sink, TableId table) {
    cancel_cut();
    open_ = Open{kind == CutKind::changed ? kept_ : 0, &sink, table, 0};
    ++epoch_;
  }

  /// One range and more, until they are about `floats`; false when there are none left.
  bool advance_cut(std::size_t floats) {
    if (!open_) return false;
    for (std::size_t done = 0; open_->next < ranges_.size(); ++open_->next) {
      if (done >= floats) return true;
      auto const& range = ranges_[open_->next];
      if (range.row != nullptr && belongs(range)) hand_out(range);
      done += range.length;
    }
    return false;
  }

  void keep_cut() {
    if (open_ && open_->next == ranges_.size()) kept_ = epoch_ - 1;
    open_.reset();
  }

  void cancel_cut() { open_.reset(); }

  /// Overwrites the ranges of a block that are held here. @throws Error table.shape
  void load(RowBlock const& block) {
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      auto const same = [&](Range const& it) { return it.number == block.keys[i]; };
      auto const it = std::find_if(ranges_.begin(), ranges_.end(), same);
      if (block.kind != BlockKind::rows || it == ranges_.end() || it->row == nullptr) continue;
      auto const bytes = row_bytes(*it);
      check_shape(spec_.name, block, bytes);
      before_change(*it);
      std::memcpy(it->row, block.rows.data() + i * bytes, bytes);
    }
  }

 private:
  struct Range {
    float* row;  ///< null when another thread's
    std::size_t length;
    std::size_t offset;     ///< in the packed ranges of the server
    std::uint32_t number;   ///< in the table
    std::uint64_t changed;  ///< the epoch of its last change
  };

  struct Open {
    std::uint64_t above;  ///< ranges that changed later than this are part of it
    GuardedSink* sink;
    TableId table;
    std::size_t next;
  };

  template <class Visit>
  void for_owned(std::size_t first, std::size_t count, Visit&& visit) const {
    for (std::size_t i = first; i < first + count; ++i) {
      if (ranges_[i].row != nullptr) visit(ranges_[i], ranges_[i].offset - ranges_[first].offset);
    }
  }
  template <class Visit>
  void for_owned(std::size_t first, std::size_t count, Visit&& visit) {
    for (std::size_t i = first; i < first + count; ++i) {
      if (ranges_[i].row != nullptr) visit(ranges_[i], ranges_[i].offset - ranges_[first].offset);
    }
  }

  [[nodiscard]] std::size_t row_bytes(Range const& range) const {
    return row_floats(spec_.optimizer, range.length) * sizeof(float);
  }

  [[nodiscard]] bool belongs(Range const& range) const noexcept {
    return range.changed > open_->above && range.changed < epoch_;
  }

  void hand_out(Range const& range) {
    auto const* const bytes = reinterpret_cast<std::byte const*>(range.row);
    auto const shard = shard_of_range(hash_name(spec_.name), range.number);
    open_->sink->take(RowBlock{.table = open_->table,
                               .shard = static_cast<std::uint32_t>(shard),
                               .row_bytes = row_bytes(range),
                               .keys = {range.number},
                               .rows = {bytes, bytes + row_bytes(range)}});
  }

  /// Hands the range out first when it is still to go into the open cut.
  void before_change(Range& range) {
    auto const at = static_cast<std::size_t>(&range - ranges_.data());
    if (open_ && at >= open_->next && belongs(range)) hand_out(range);
    range.changed = epoch_;
  }

  void update(Range& range, float const* gradient) {
    before_change(range);
    kernel_(spec_.optimizer, &range.row, &gradient, 1, range.length);
  }

  DenseSpec spec_;
  RowKernel kernel_;
  std::vector<Range> ranges_;
  std::uint64_t epoch_ = 1;
  std::uint64_t kept_ = 0;
  std::optional<Open> open_;
};

}  // namespace prdist
