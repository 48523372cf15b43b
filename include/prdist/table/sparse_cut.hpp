// SPDX-License-Identifier: Apache-2.0
// The cuts of one sparse table over the shards of a thread: what is handed out, what has changed since the last one
// that was kept. cut.hpp says how it works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/marked_row.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/removed_keys.hpp>
#include <prdist/table/sparse_table.hpp>

namespace prdist {

class SparseCut {
 public:
  /// Under a memory ceiling of so many bytes; see RemovedKeys.
  explicit SparseCut(std::size_t ceiling = RemovedKeys::no_ceiling) : removed_(ceiling) {}

  /// The epoch that a row gets when it changes.
  [[nodiscard]] CutEpoch epoch() const noexcept { return epoch_; }

  /// Sets the marker. A cut that is still open is abandoned. Takes no time, but for a pass over the slots once in
  /// 65,000 cuts, when the epochs are used up.
  void begin(CutKind kind, GuardedSink& sink, TableId table, std::size_t row_bytes, std::span<SparseTable> tables) {
    cancel();
    if (epoch_ == std::numeric_limits<CutEpoch>::max()) renumber(tables);
    ++epoch_;
    auto const above = kind == CutKind::changed ? kept_ : CutEpoch{0};
    removed_.begin_cut(kind != CutKind::copy);
    auto const gone = above == 0 ? removed_.before().end() : removed_.before().begin();
    open_.emplace(Open{above, BlockBuilder(sink, table, row_bytes), gone, 0, 0, false});
  }

  /// Hands out about `rows` more; false when there are none left.
  bool advance(std::size_t rows, std::span<SparseTable> tables, std::span<std::uint16_t const> shards) {
    if (!open_ || open_->handed_out) return false;
    auto& cut = *open_;
    std::size_t done = 0;
    for (; cut.gone != removed_.before().end(); ++cut.gone, ++done) {
      if (done >= rows) return true;
      cut.blocks.add_removed(shard_of(hash_key(*cut.gone)), *cut.gone);
    }
    for (; cut.table < tables.size(); ++cut.table, cut.segment = 0) {
      auto& table = tables[cut.table];
      for (; cut.segment < table.segments(); ++cut.segment) {
        if (done >= rows) return true;
        if (table.round_of(cut.segment) == epoch_) continue;
        // Of most rows the mark is enough: a push has handed them out, or they have not changed.
        table.read_each_in(
            cut.segment, cut.blocks.row_bytes(), [&](MarkedRow const& row) { return belongs(row); },
            [&](Key key, MarkedRow const& row) { cut.blocks.add(shards[cut.table], key, row.row()); });
        table.round_of(cut.segment) = epoch_;
        done += table.rows_in(cut.segment) + 1;  // an empty one takes its time, too
      }
    }
    cut.blocks.flush();
    cut.handed_out = true;
    return false;
  }

  /// The next cut of changed rows starts from the one that was handed out. One that was not is cancelled.
  void keep() {
    if (!open_ || !open_->handed_out) return cancel();
    kept_ = static_cast<CutEpoch>(epoch_ - 1);
    removed_.keep_cut(open_->above == 0);
    open_.reset();
  }

  /// As if the open cut had not begun: rows keep the number of their last change whether handed out or not.
  void cancel() {
    if (!open_) return;
    open_.reset();
    removed_.cancel_cut(kept_ != 0);
  }

  /// To be called before a row changes or goes.
  void before_change(SparseTable& table, std::uint64_t hash, Key key, MarkedRow const& row) {
    if (!open_ || open_->handed_out || !belongs(row) || table.round_of(table.segment_index(hash)) == epoch_) return;
    open_->blocks.add(shard_of(hash), key, row.row());
  }

  /// Too many keys went since the last kept cut: there can be none of what has changed since.
  [[nodiscard]] bool forgot() const noexcept { return kept_ != 0 && removed_.forgot(); }

  [[nodiscard]] RemovedKeys& removed() noexcept { return removed_; }
  [[nodiscard]] RemovedKeys const& removed() const noexcept { return removed_; }

 private:
  struct Open {
    CutEpoch above;  ///< rows that changed later than this are part of it
    BlockBuilder blocks;
    std::unordered_set<Key>::const_iterator gone;
    std::size_t table;
    std::size_t segment;
    bool handed_out;
  };

  [[nodiscard]] bool belongs(MarkedRow const& row) const noexcept {
    return row.changed() > open_->above && row.changed() < epoch_;
  }

  void renumber(std::span<SparseTable> tables) {
    constexpr CutEpoch old = 1, recent = 2;
    for (auto& table : tables) {
      for (std::size_t segment = 0; segment < table.segments(); ++segment) {
        table.round_of(segment) = 0;
        table.for_each_in(segment, [&](Key, MarkedRow& row) {
          row.mark(marks_of(row.changed() > kept_ ? recent : old, row.used()));
        });
      }
    }
    kept_ = kept_ == 0 ? CutEpoch{0} : old;
    epoch_ = recent;
  }

  CutEpoch epoch_ = 1;
  CutEpoch kept_ = 0;  ///< the last epoch whose changes are all in a kept cut; 0 when there is none
  RemovedKeys removed_;
  std::optional<Open> open_;
};

}  // namespace prdist
