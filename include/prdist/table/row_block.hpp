// SPDX-License-Identifier: Apache-2.0
// Rows on their way out of a table or into one: what a cut hands to a checkpoint, and what a load brings back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <prdist/core/types.hpp>
#include <prdist/table/command.hpp>

namespace prdist {

/// Rows of one table and one shard, as they lie in memory: weights and all their state, one behind the other. A dense
/// range is one row, and its number the key.
struct RowBlock {
  TableId table = 0;
  std::uint32_t shard = 0;
  bool removed = false;       ///< the keys have no row any more; `rows` is empty
  std::size_t row_bytes = 0;  ///< of each row
  std::vector<Key> keys{};
  std::vector<std::byte> rows{};  ///< keys.size() * row_bytes

  friend bool operator==(RowBlock const&, RowBlock const&) = default;
};

}  // namespace prdist
