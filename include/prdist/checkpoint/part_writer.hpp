// SPDX-License-Identifier: Apache-2.0
// Writes the rows of one server into a part file, block by block as a cut hands them out; or what a worker knows of its
// own copy, into a file of the same form. The writer keeps 64 bytes per block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/checkpoint/bulk_file.hpp>
#include <prdist/checkpoint/manifest.hpp>
#include <prdist/checkpoint/part_format.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/wire/checksum.hpp>

namespace prdist {

class PartWriter {
 public:
  /// Makes `folder`/part-NNN. @throws Error checkpoint.file
  PartWriter(std::string const& folder, std::uint32_t server) : PartWriter(folder, server, part_name(server)) {}

  /// The same under another name. @throws Error checkpoint.file
  PartWriter(std::string const& folder, std::uint32_t number, std::string name)
      : summary_{.name = std::move(name), .server = number}, file_(concat(folder, '/', summary_.name)) {
    file_.write(detail::bytes_of_record(detail::sealed(PartHead{.server = number})));
  }

  /// Appends a block; its memory may be reused at once. A block without keys is left out. After an error the file is
  /// worth nothing. @throws Error checkpoint.file; internal.error for a block that is not one, or is too large
  void write(RowBlock const& block) {
    if (block.keys.empty()) return;
    auto const row_bytes = block.kind == BlockKind::removed ? 0 : block.row_bytes;
    if (block.rows.size() != block.keys.size() * row_bytes || block.keys.size() > most_block_bytes / sizeof(Key) ||
        block.rows.size() > most_block_bytes - block.keys.size() * sizeof(Key)) {
      throw Error(Errc::internal, file_.path(), ", a block of table ", block.table, " has ", block.keys.size(),
                  " keys and ", block.rows.size(), " bytes of rows of ", row_bytes, ": give whole rows, at most ",
                  most_block_bytes, " bytes");
    }
    auto const keys = std::as_bytes(std::span(block.keys));
    PartBlock record{.table = block.table,
                     .shard = block.shard,
                     .kind = block.kind,
                     .count = block.keys.size(),
                     .row_bytes = row_bytes,
                     .offset = file_.size()};
    record.body = detail::checksum_of_body(keys, block.rows);
    record = detail::sealed(record);
    file_.write({detail::bytes_of_record(record), keys, block.rows});
    index_.push_back(record);
    auto& table = tables_[block.table];
    if (block.kind == BlockKind::rows) table.rows += block.keys.size();
    if (block.kind == BlockKind::removed) table.removed += block.keys.size();
    table.bytes += record.body_bytes();
  }

  /// Writes the index and waits until all of it is on the disk. What it returns goes into the manifest.
  /// @throws Error checkpoint.file
  [[nodiscard]] PartSummary close() {
    PartTail tail{.index_offset = file_.size(), .blocks = index_.size()};
    for (auto& [id, table] : tables_) {
      table.table = id;
      tail.rows += table.rows;
      tail.removed += table.removed;
      summary_.tables.push_back(table);
    }
    auto const index = std::as_bytes(std::span(index_));
    tail.index = checksum(index);
    tail = detail::sealed(tail);
    file_.write({index, detail::bytes_of_record(tail)});
    summary_.bytes = file_.size();
    summary_.checksum = tail.checksum;
    file_.close();
    return summary_;
  }

 private:
  PartSummary summary_;
  BulkFile file_;
  std::vector<PartBlock> index_;
  std::map<TableId, PartSummary::Table> tables_;
};

}  // namespace prdist
