// SPDX-License-Identifier: Apache-2.0
// Reads a part file: the index first, then only the blocks that are asked for, one at a time and each verified.
// Whatever is wrong with the file is an error that names it, the byte and the way out; no byte of it is trusted before
// its checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/checkpoint/files.hpp>
#include <prdist/checkpoint/part_format.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/wire/checksum.hpp>

namespace prdist {

class PartReader {
 public:
  /// Names of tables by their number, for messages.
  using Names = std::map<TableId, std::string>;

  /// Reads head, tail and index. @throws Error checkpoint.file, checkpoint.damaged, checkpoint.version
  explicit PartReader(std::string path, Names names = {}) : file_(std::move(path)), names_(std::move(names)) {
    PartHead head;
    if (file_.size() < sizeof head) damaged(0, concat("has ", file_.size(), " bytes, fewer than any part file"));
    read(0, std::as_writable_bytes(std::span(&head, 1)));
    if (head.magic != PartHead::expected) damaged(0, "does not begin as a part file of prdist does");
    // The version is looked at before the checksum, which a later format may place elsewhere.
    if (head.version > part_format) {
      throw Error(Errc::checkpoint_version, file_.path(), ", was written in format ", head.version,
                  ", this release reads up to ", part_format, ": use the release that wrote it, or a later one");
    }
    if (head.checksum != detail::checksum_of_record(head) || head.version == 0) damaged(0, "its head is damaged");
    server_ = head.server;
    if (file_.size() < sizeof head + sizeof tail_) damaged(file_.size(), "ends here, before its closing record");
    auto const tail_at = file_.size() - sizeof tail_;
    read(tail_at, std::as_writable_bytes(std::span(&tail_, 1)));
    if (tail_.magic != PartTail::expected || tail_.checksum != detail::checksum_of_record(tail_)) {
      damaged(tail_at, "has no closing record, so it was cut off or never finished");
    }
    // Divided, not multiplied: a number of blocks out of a bad file cannot overflow.
    if (tail_.index_offset < sizeof head || tail_.index_offset > tail_at ||
        (tail_at - tail_.index_offset) % sizeof(PartBlock) != 0 ||
        (tail_at - tail_.index_offset) / sizeof(PartBlock) != tail_.blocks) {
      damaged(tail_at, "its closing record does not fit its size, so bytes were lost or added");
    }
    index_.resize(static_cast<std::size_t>(tail_.blocks));
    read(tail_.index_offset, std::as_writable_bytes(std::span(index_)));
    if (checksum(std::as_bytes(std::span(index_))) != tail_.index) damaged(tail_.index_offset, "its index is damaged");
    check_index(head.version == 1 ? BlockKind::removed : BlockKind::admission);
  }

  /// All blocks, in the order of the file.
  [[nodiscard]] std::span<PartBlock const> blocks() const& noexcept { return index_; }
  std::span<PartBlock const> blocks() const&& = delete;  // they are the reader's
  [[nodiscard]] std::uint32_t server() const noexcept { return server_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return tail_.rows; }
  /// Stands for the whole content; the manifest has it too.
  [[nodiscard]] std::uint64_t checksum_of_all() const noexcept { return tail_.checksum; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return file_.size(); }
  [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }

  /// Reads one of blocks() into `block`, whose memory is used again.
  /// @throws Error checkpoint.file, checkpoint.damaged
  void read(PartBlock const& wanted, RowBlock& block) const {
    PartBlock record;
    read(wanted.offset, std::as_writable_bytes(std::span(&record, 1)));
    if (record != wanted)
      damaged(wanted.offset, concat("the record of ", named(wanted), " is not the one of the index"));
    block.table = wanted.table;
    block.shard = wanted.shard;
    block.kind = wanted.kind;
    block.row_bytes = static_cast<std::size_t>(wanted.row_bytes);
    block.keys.resize(static_cast<std::size_t>(wanted.count));
    block.rows.resize(static_cast<std::size_t>(wanted.count * wanted.row_bytes));
    auto const body = wanted.offset + sizeof record;
    auto const keys = std::as_writable_bytes(std::span(block.keys));
    read(body, keys);
    read(body + keys.size(), block.rows);
    if (auto const sum = detail::checksum_of_body(keys, block.rows); sum != wanted.body) {
      damaged(body, concat(named(wanted), " has checksum ", hex(sum), " instead of ", hex(wanted.body)));
    }
  }

  /// Calls take(RowBlock&) for every block for which wanted(table, shard) holds, in the order of the file; take may
  /// move its vectors out. Memory: one block and the index.
  /// @throws Error checkpoint.file, checkpoint.damaged
  template <class Wanted, class Take>
  void for_each(Wanted&& wanted, Take&& take) const {
    RowBlock block;
    for (auto const& entry : index_) {
      if (!wanted(entry.table, entry.shard)) continue;
      read(entry, block);
      take(block);
    }
  }

 private:
  [[nodiscard]] std::string named(PartBlock const& block) const {
    auto const name = names_.find(block.table);
    return concat("the block of table ", name == names_.end() ? concat(block.table) : concat("'", name->second, "'"),
                  ", shard ", block.shard);
  }

  [[noreturn]] void damaged(std::uint64_t offset, std::string_view what) const {
    throw Error(Errc::checkpoint_damaged, file_.path(), ", at byte ", offset, ", ", what,
                ": restore the file from a copy, or load an older checkpoint");
  }

  void read(std::uint64_t offset, Bytes out) const {
    if (auto const got = file_.read_at(offset, out); got < out.size()) {
      damaged(offset + got, "ended while it was read, so another program shortened it");
    }
  }

  /// Blocks follow each other without gap or overlap: reading one never leaves it, and its size is the file's.
  void check_index(BlockKind last_kind) const {
    std::uint64_t at = sizeof(PartHead), rows = 0, removed = 0;
    for (auto const& entry : index_) {
      auto const fits = entry.offset == at && entry.magic == PartBlock::expected &&
                        entry.checksum == detail::checksum_of_record(entry) && entry.kind <= last_kind &&
                        entry.shard < shard_count && (entry.kind != BlockKind::removed || entry.row_bytes == 0) &&
                        entry.count <= most_block_bytes / sizeof(Key) && entry.row_bytes <= most_block_bytes &&
                        entry.body_bytes() <= most_block_bytes;
      if (!fits) damaged(entry.offset, concat("the index does not fit at ", named(entry)));
      if (entry.kind == BlockKind::rows) rows += entry.count;
      if (entry.kind == BlockKind::removed) removed += entry.count;
      at += sizeof(PartBlock) + entry.body_bytes();
      if (at > tail_.index_offset) damaged(entry.offset, concat(named(entry), " reaches into the index"));
    }
    if (at != tail_.index_offset || rows != tail_.rows || removed != tail_.removed) {
      damaged(tail_.index_offset, "the index does not cover the file");
    }
  }

  InputFile file_;
  Names names_;
  PartTail tail_;
  std::vector<PartBlock> index_;
  std::uint32_t server_ = 0;
};

}  // namespace prdist
