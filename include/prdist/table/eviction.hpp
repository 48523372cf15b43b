// SPDX-License-Identifier: Apache-2.0
// Who goes first when there is no room. Victims are chosen within one segment of a table at a time: a few hundred rows
// are a fair sample of all, and the search costs the same however large the table is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/marked_row.hpp>
#include <prdist/table/row_layout.hpp>
#include <prdist/table/row_policy.hpp>
#include <prdist/table/sparse_table.hpp>

namespace prdist {

/// About a sixteenth of the keys in a segment, at least one if it has any: those that go first by the policy. With lru
/// this is a turn of the clock's hand from bucket `first` on: who was pushed since the last one gets away with losing
/// the mark.
[[nodiscard]] inline std::vector<Key> choose_victims(SparseTable const& table, std::size_t segment, std::size_t first,
                                                     SparseSpec const& spec, RowLayout const& layout) {
  auto const most = std::min(table.rows_in(segment), table.rows_in(segment) / 16 + 1);
  std::vector<Key> victims;
  if (spec.eviction == Eviction::none) return victims;
  if (spec.eviction == Eviction::lru) {
    auto const turn = [&](Key key, MarkedRow& row) {
      if (victims.size() >= most) return;
      if (row.used()) {
        row.word &= ~MarkedRow::used_bit;
      } else {
        victims.push_back(key);
      }
    };
    table.for_each_in(segment, turn, first);
    if (victims.empty()) table.for_each_in(segment, turn, first);
    return victims;
  }
  // Among equals by the hash: keys that begin small, as those of a first slot may, are no worse than others.
  std::vector<std::tuple<float, std::uint64_t, Key>> rows;
  rows.reserve(table.rows_in(segment));
  table.for_each_in(segment, [&](Key key, MarkedRow const& row) {
    auto const known = layout.statistics(row.row());
    rows.emplace_back(spec.eviction == Eviction::unseen ? static_cast<float>(known.day)
                                                        : score_of(spec.statistics, known.show, known.click),
                      hash_key(key), key);
  });
  std::sort(rows.begin(), rows.end());
  for (std::size_t i = 0; i < most; ++i) victims.push_back(std::get<2>(rows[i]));
  return victims;
}

/// Goes round over the segments of all tables: rows go from one after the other.
class EvictionHand {
 public:
  /// To the next segment.
  std::pair<SparseTable*, std::size_t> move(std::span<SparseTable> tables) noexcept {
    if (++segment_ >= tables[table_].segments()) {
      segment_ = 0;
      table_ = (table_ + 1) % tables.size();
    }
    return {&tables[table_], segment_};
  }

 private:
  std::size_t table_ = 0;
  std::size_t segment_ = 0;
};

}  // namespace prdist
