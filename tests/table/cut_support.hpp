// SPDX-License-Identifier: Apache-2.0
// A sink that keeps the blocks of a cut, and tables as plain maps to compare them with.
#pragma once

#include <prdist/table/cut.hpp>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace prdist::test {

struct Collector final : CutSink {
  std::vector<RowBlock> blocks{};
  std::size_t fails_after = ~std::size_t{0};
  bool is_ready = true;

  void take(RowBlock&& block) override {
    if (blocks.size() >= fails_after) throw Error(Errc::data_file, "the disk is full");
    blocks.push_back(std::move(block));
  }
  bool ready() override { return is_ready; }
};

using RowMap = std::map<Key, std::vector<std::byte>>;

/// The rows of one table in the blocks; a key that is there twice is a fault.
inline RowMap rows_in(std::vector<RowBlock> const& blocks, TableId table) {
  RowMap rows;
  for (auto const& block : blocks) {
    if (block.table != table || block.kind != BlockKind::rows) continue;
    for (std::size_t i = 0; i < block.keys.size(); ++i) {
      auto const* const row = block.rows.data() + i * block.row_bytes;
      bool const fresh = rows.emplace(block.keys[i], std::vector(row, row + block.row_bytes)).second;
      if (!fresh) throw std::logic_error("a key was handed out twice");
    }
  }
  return rows;
}

inline std::vector<Key> removed_in(std::vector<RowBlock> const& blocks, TableId table) {
  std::vector<Key> keys;
  for (auto const& block : blocks) {
    if (block.table == table && block.kind == BlockKind::removed)
      keys.insert(keys.end(), block.keys.begin(), block.keys.end());
  }
  return keys;
}

}  // namespace prdist::test
