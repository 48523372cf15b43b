// SPDX-License-Identifier: Apache-2.0
// What leaves a table or comes into one, in blocks: what a cut hands to a checkpoint, and what a load brings back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/command.hpp>

namespace prdist {

/// What the keys of a block are, and what stands with each. The numbers are those of part files.
enum class BlockKind : std::uint32_t {
  rows = 0,
  removed = 1,    ///< keys that have no row any more; nothing stands with them
  counters = 2,   ///< one ShardCounters: what the table has counted, as the shard takes it along
  admission = 3,  ///< of the shard's AdmissionFilter: keys on probation and their counts, or pieces of a Bloom filter
};

/// Rows of one table and one shard, as they lie in memory: weights and all their state, one behind the other. A dense
/// range is one row, and its number the key.
struct RowBlock {
  TableId table = 0;
  std::uint32_t shard = 0;
  BlockKind kind = BlockKind::rows;
  std::size_t row_bytes = 0;  ///< of each row
  std::vector<Key> keys{};
  std::vector<std::byte> rows{};  ///< keys.size() * row_bytes

  friend bool operator==(RowBlock const&, RowBlock const&) = default;
};

/// Whether a block can go into a table whose rows have `row_bytes`. @throws Error table.shape
inline void check_shape(std::string_view table, RowBlock const& block, std::size_t row_bytes) {
  if (block.kind == BlockKind::removed) return;
  if (block.row_bytes != row_bytes) {
    throw Error(Errc::table_shape, "table '", table, "' has rows of ", row_bytes, " bytes, those to be loaded have ",
                block.row_bytes, ": load them with the dim, optimizer and precision they were saved with");
  }
  if (block.rows.size() / row_bytes != block.keys.size() || block.rows.size() % row_bytes != 0) {
    throw Error(Errc::table_shape, "table '", table, "': a block of ", block.keys.size(), " keys has ",
                block.rows.size(), " bytes of rows instead of ", row_bytes, " each: it is damaged");
  }
}

}  // namespace prdist
