// SPDX-License-Identifier: Apache-2.0
// A shrink: the pass over all rows of a table that begins a new day, and what it does to the statistics of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <prdist/table/row_layout.hpp>
#include <prdist/table/row_policy.hpp>
#include <prdist/table/sparse_table.hpp>

namespace prdist {

/// Decays shows and clicks; false when the row goes: its score is too small by now, or its last push too long ago.
[[nodiscard]] inline bool outlives(Statistics const& policy, std::uint32_t today, RowStatistics& known) noexcept {
  auto const unseen = today > known.day ? today - known.day : 0;
  known.show *= policy.decay;
  known.click *= policy.decay;
  return !(score_of(policy, known.show, known.click) < policy.delete_below || unseen > policy.unseen_days);
}

/// Every segment once, a slice at a time. One that splits behind the pass has been through with both its halves.
class ShrinkPass {
 public:
  /// The one before must be over.
  void begin() noexcept {
    ++number_;
    table_ = segment_ = 0;
  }

  /// Calls `visit(SparseTable&, segment)` for segments of about `rows` rows more; false when all are through.
  template <class Visit>
  bool advance(std::size_t rows, std::span<SparseTable> tables, Visit&& visit) {
    std::size_t done = 0;
    for (; table_ < tables.size(); ++table_, segment_ = 0) {
      auto& table = tables[table_];
      for (; segment_ < table.segments(); ++segment_) {
        if (done >= rows) return true;
        if (std::exchange(table.sweep_of(segment_), number_) == number_) continue;
        done += table.rows_in(segment_) + 1;
        visit(table, segment_);
      }
    }
    return false;
  }

 private:
  std::uint16_t number_ = 0;
  std::size_t table_ = std::numeric_limits<std::size_t>::max();
  std::size_t segment_ = 0;
};

}  // namespace prdist
