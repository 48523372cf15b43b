// SPDX-License-Identifier: Apache-2.0
// The admission filters of one sparse table, one for each shard of a thread, and their part in its cuts. As with rows
// nothing is copied at the marker: pieces leave a slice at a time, and one that is about to change leaves first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/types.hpp>
#include <prdist/table/admission.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/table/row_policy.hpp>

namespace prdist {

class AdmissionFilters {
 public:
  /// None at all when the policy admits every key.
  AdmissionFilters(Arena& arena, Admission const& policy, std::uint64_t stream, std::size_t shards) {
    if (policy.kind == Admission::Kind::all) return;
    for (std::size_t i = 0; i < shards; ++i) filters_.emplace_back(arena, policy, stream);
  }

  [[nodiscard]] bool empty() const noexcept { return filters_.empty(); }

  /// As AdmissionFilter::admits(), by the filter of the shard at `index`.
  [[nodiscard, gnu::always_inline]] bool admits(std::size_t index, std::uint64_t hash, Key key,
                                                std::uint64_t sighting) {
    if (open_) before_change(index, hash);
    return filters_[index].admits(hash, key, sighting);
  }

  /// Sets the marker. `shards` has the number of each filter's shard, and must outlive the cut as `sink` must.
  void begin_cut(GuardedSink& sink, TableId table, std::span<std::uint16_t const> shards) {
    open_.reset();
    if (filters_.empty() || filters_.front().pieces() == 0) return;
    open_.emplace(Open{&sink, table, shards, {}, std::vector<bool>(filters_.size() * filters_.front().pieces()), 0});
    for (auto const& filter : filters_) open_->keys.push_back(filter.keys());
  }

  /// Hands out some more, as much work as about `rows` rows; false when all has left.
  bool advance_cut(std::size_t rows) {
    constexpr std::size_t rows_per_piece = 64;
    if (!open_) return false;
    auto const pieces = filters_.front().pieces();
    for (std::size_t done = 0; open_->next < open_->left.size();) {
      if (done >= rows) return true;
      auto const index = open_->next / pieces;
      auto block = block_of(index);
      for (; done < rows && open_->next < (index + 1) * pieces; ++open_->next, done += rows_per_piece) {
        save(index, open_->next % pieces, block);
      }
      send(block);
    }
    open_.reset();
    return false;
  }

  void cancel_cut() noexcept { open_.reset(); }

  /// Brings back what the filter of the shard at `index` had; of another kind of filter it is nothing.
  /// @throws Error table.shape
  void load(std::string_view table, std::size_t index, RowBlock const& block) {
    finish_cut();
    if (!filters_.empty() && filters_.front().pieces() != 0) filters_[index].load(table, block);
  }

  /// As if no key had been seen.
  void clear() {
    finish_cut();
    for (auto& filter : filters_) filter.clear();
  }

 private:
  struct Open {
    GuardedSink* sink;
    TableId table;
    std::span<std::uint16_t const> shards;
    std::vector<std::uint64_t> keys;  ///< of each filter, at the marker
    std::vector<bool> left;           ///< of each piece of each filter: whether it was handed out
    std::size_t next;                 ///< piece of all to look at in the next slice
  };

  /// Apart: a push pays for a look whether a cut is open, and no more.
  [[gnu::noinline]] void before_change(std::size_t index, std::uint64_t hash) {
    auto block = block_of(index);
    filters_[index].changing(hash, [&](std::size_t piece) { save(index, piece, block); });
    send(block);
  }

  /// Before all may change at once.
  void finish_cut() {
    while (advance_cut(std::numeric_limits<std::size_t>::max())) {
    }
  }

  [[nodiscard]] RowBlock block_of(std::size_t index) const {
    return {.table = open_->table,
            .shard = open_->shards[index],
            .kind = BlockKind::admission,
            .row_bytes = filters_[index].row_bytes()};
  }

  /// Appends a piece to `block` unless it has left.
  void save(std::size_t index, std::size_t piece, RowBlock& block) {
    auto const& filter = filters_[index];
    auto left = open_->left[index * filter.pieces() + piece];
    if (left) return;
    left = true;
    filter.save(piece, open_->keys[index], block);
  }

  void send(RowBlock& block) {
    if (!block.keys.empty()) open_->sink->take(std::move(block));
  }

  std::vector<AdmissionFilter> filters_;
  std::optional<Open> open_;  ///< while some pieces have not left
};

}  // namespace prdist
