// SPDX-License-Identifier: Apache-2.0
// The rows of a checkpoint and of all it builds on, each key once and as it was last: what a server loads, for the
// shards it owns, however many servers have written them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/table/row_block.hpp>

namespace prdist {

class ChainReader {
 public:
  /// `chain` as chain_of() gives it. Opens every part, of which it keeps the index.
  /// @throws Error as PartReader
  explicit ChainReader(std::span<Checkpoint const> chain) : levels_(chain.size()) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      // The newest first: what it says of a key holds.
      auto& level = levels_[chain.size() - 1 - i];
      for (auto const& part : chain[i].manifest.parts) level.push_back(chain[i].read(part));
    }
  }

  /// Calls take(RowBlock&) with the rows of every table and shard for which wanted(table, shard) holds, in the order of
  /// their numbers; take may move the vectors out. A key is given once, those that were removed not at all. Memory: one
  /// block, and for an incremental checkpoint the keys of one shard of a table.
  /// @throws Error checkpoint.file, checkpoint.damaged
  template <class Wanted, class Take>
  void for_each(Wanted&& wanted, Take&& take) const {
    std::set<std::pair<TableId, std::uint32_t>> places;
    for (auto const& level : levels_) {
      for (auto const& part : level) {
        for (auto const& block : part.blocks()) {
          if (is_of_keys(block) && wanted(block.table, block.shard)) places.emplace(block.table, block.shard);
        }
      }
    }
    RowBlock block;
    for (auto const& [table, shard] : places) {
      Keys seen;
      for (auto const& level : levels_) {
        for (auto const& part : level) {
          for (auto const& entry : part.blocks()) {
            if (!is_of_keys(entry) || entry.table != table || entry.shard != shard) continue;
            part.read(entry, block);
            if (levels_.size() > 1) drop_seen(block, seen);
            if (block.kind == BlockKind::rows && !block.keys.empty()) take(block);
          }
        }
      }
    }
  }

 private:
  struct Hash {
    std::size_t operator()(Key key) const noexcept { return hash_key(key); }
  };
  using Keys = std::unordered_set<Key, Hash>;

  /// Not of what only a server that goes on has a use for.
  [[nodiscard]] static bool is_of_keys(PartBlock const& block) noexcept {
    return block.kind == BlockKind::rows || block.kind == BlockKind::removed;
  }

  /// Keeps the keys that no newer checkpoint has named, and enters them.
  static void drop_seen(RowBlock& block, Keys& seen) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      if (!seen.insert(block.keys[i]).second) continue;
      if (kept != i && block.kind == BlockKind::rows) {
        block.keys[kept] = block.keys[i];
        std::memcpy(&block.rows[kept * block.row_bytes], &block.rows[i * block.row_bytes], block.row_bytes);
      }
      ++kept;
    }
    block.keys.resize(kept);
    block.rows.resize(kept * block.row_bytes);
  }

  std::vector<std::vector<PartReader>> levels_;
};

}  // namespace prdist
