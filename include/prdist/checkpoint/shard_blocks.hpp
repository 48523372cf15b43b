// SPDX-License-Identifier: Apache-2.0
// Rows of a sparse table in any order, into a part file whose blocks are of one shard each. Memory stays bounded: a
// shard's rows leave when there is a block of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <prdist/checkpoint/part_writer.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>

namespace prdist {

class ShardBlocks {
 public:
  static constexpr std::size_t block_bytes = 256 * 1024;  ///< so 64 MiB for all shards, or a row each

  /// `writer` must outlive it.
  ShardBlocks(PartWriter& writer, std::string_view table, std::size_t row_bytes)
      : writer_(writer), blocks_(shard_count) {
    for (std::size_t shard = 0; shard < shard_count; ++shard) {
      blocks_[shard].table = table_id(table);
      blocks_[shard].shard = static_cast<std::uint32_t>(shard);
      blocks_[shard].row_bytes = row_bytes;
    }
  }

  /// Room for the row of `key`, to be written before the next call. @throws Error checkpoint.file
  [[nodiscard]] std::byte* add(Key key) {
    auto& block = blocks_[shard_of(hash_key(key))];
    if (block.rows.size() + block.row_bytes > std::max(block_bytes, block.row_bytes)) flush(block);
    block.keys.push_back(key);
    block.rows.resize(block.rows.size() + block.row_bytes);
    return block.rows.data() + block.rows.size() - block.row_bytes;
  }

  /// Writes what is left; to be called at the end. @throws Error checkpoint.file
  void finish() {
    for (auto& block : blocks_) flush(block);
  }

 private:
  void flush(RowBlock& block) {
    writer_.write(block);
    block.keys.clear();
    block.rows.clear();
  }

  PartWriter& writer_;
  std::vector<RowBlock> blocks_;
};

}  // namespace prdist
