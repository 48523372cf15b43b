// SPDX-License-Identifier: Apache-2.0
// What a sparse table counts as a whole, and how its shards take it along: every shard of a cut has a copy, so that
// whoever loads some of the shards goes on from there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <prdist/core/types.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/row_block.hpp>

namespace prdist {

struct ShardCounters {
  /// How often the table was pushed to; of gathered pushes a step is one, so that all servers of a Sync job count
  /// alike. With the key it makes the noise of roundings and the draws of admission.
  std::uint64_t pushes = 0;
  std::uint32_t day = 0;  ///< of the last shrink
  std::uint32_t reserved = 0;

  /// Shards of servers that counted differently come together: no number that one of them has used is used again.
  void take_later(ShardCounters const& other) noexcept {
    pushes = std::max(pushes, other.pushes);
    day = std::max(day, other.day);
  }

  friend bool operator==(ShardCounters const&, ShardCounters const&) = default;
};

static_assert(sizeof(ShardCounters) == 16);

[[nodiscard]] inline RowBlock block_of(ShardCounters const& counters, TableId table, std::uint32_t shard) {
  RowBlock block{.table = table,
                 .shard = shard,
                 .kind = BlockKind::counters,
                 .row_bytes = sizeof counters,
                 .keys = {0},
                 .rows = std::vector<std::byte>(sizeof counters)};
  std::memcpy(block.rows.data(), &counters, sizeof counters);
  return block;
}

/// @throws Error table.shape
[[nodiscard]] inline ShardCounters counters_in(RowBlock const& block, std::string_view table) {
  check_shape(table, block, sizeof(ShardCounters));
  ShardCounters counters;
  if (!block.keys.empty()) std::memcpy(&counters, block.rows.data(), sizeof counters);
  return counters;
}

}  // namespace prdist
