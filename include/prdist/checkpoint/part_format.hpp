// SPDX-License-Identifier: Apache-2.0
// The bytes of a part file, all little-endian: a head, blocks of rows, an index of the blocks, a tail of fixed size
// that says where the index is. Every byte but those of rows and keys is covered by a checksum of its own record, and
// those by one in their block's record and in the index; so the tail's checksum stands for the whole file.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <prdist/core/text.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/wire/checksum.hpp>

namespace prdist {

static_assert(std::endian::native == std::endian::little, "part files hold rows as they lie in memory");

/// What a reader of this release understands. In format 1 there are rows and removed keys only.
inline constexpr std::uint32_t part_format = 2;

/// Keys and rows of one block. It is what a loader holds in memory at a time, so it has a limit.
inline constexpr std::uint64_t most_block_bytes = std::uint64_t{256} << 20;

struct PartHead {
  static constexpr std::array<char, 8> expected{'P', 'R', 'D', 'P', 'A', 'R', 'T', '\n'};

  std::array<char, 8> magic = expected;
  std::uint32_t version = part_format;
  std::uint32_t server = 0;
  std::array<std::uint64_t, 5> reserved{};
  std::uint64_t checksum = 0;
};

/// Stands before its keys (8 bytes each), which stand before their rows.
struct PartBlock {
  static constexpr std::uint32_t expected = 0x4b4c4250;  // "PBLK"

  std::uint32_t magic = expected;
  TableId table = 0;
  std::uint32_t shard = 0;
  BlockKind kind = BlockKind::rows;
  std::uint64_t count = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t offset = 0;  ///< of this record in the file: a block copied elsewhere is noticed
  std::uint64_t body = 0;    ///< XXH3 of keys and rows
  std::uint64_t reserved = 0;
  std::uint64_t checksum = 0;

  [[nodiscard]] std::uint64_t body_bytes() const noexcept { return count * (sizeof(Key) + row_bytes); }
  friend bool operator==(PartBlock const&, PartBlock const&) = default;
};

/// The index is a copy of all block records, one behind the other.
struct PartTail {
  static constexpr std::array<char, 8> expected{'P', 'R', 'D', 'T', 'A', 'I', 'L', '\n'};

  std::uint64_t index_offset = 0;
  std::uint64_t blocks = 0;
  std::uint64_t rows = 0;
  std::uint64_t removed = 0;
  std::uint64_t index = 0;  ///< XXH3 of the index
  std::uint64_t reserved = 0;
  std::array<char, 8> magic = expected;
  std::uint64_t checksum = 0;
};

static_assert(sizeof(PartHead) == 64 && sizeof(PartBlock) == 64 && sizeof(PartTail) == 64);

namespace detail {

template <class Record>
[[nodiscard]] ConstBytes bytes_of_record(Record const& record) noexcept {
  return std::as_bytes(std::span(&record, 1));
}

/// Of all but the checksum itself, which is every record's last field.
template <class Record>
[[nodiscard]] std::uint64_t checksum_of_record(Record const& record) noexcept {
  return checksum(bytes_of_record(record).first(sizeof(Record) - sizeof(std::uint64_t)));
}

[[nodiscard]] inline std::uint64_t checksum_of_body(ConstBytes keys, ConstBytes rows) noexcept {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, keys.data(), keys.size());
  XXH3_64bits_update(&state, rows.data(), rows.size());
  return XXH3_64bits_digest(&state);
}

template <class Record>
[[nodiscard]] Record sealed(Record record) noexcept {
  record.checksum = checksum_of_record(record);
  return record;
}

}  // namespace detail

/// Sixteen hexadecimal digits: how a checksum is written in messages and in the manifest.
[[nodiscard]] inline std::string hex(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  return text;
}

namespace detail {

[[nodiscard]] inline std::string numbered(std::string_view word, std::uint32_t number) {
  auto const digits = concat(number);
  return concat(word, '-', std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0'), digits);
}

}  // namespace detail

/// `part-007`: the file of server 7.
[[nodiscard]] inline std::string part_name(std::uint32_t server) {
  return detail::numbered("part", server);
}

/// `copy-007`: the file of worker 7, of a strategy whose workers train copies of their own.
[[nodiscard]] inline std::string copy_name(std::uint32_t worker) {
  return detail::numbered("copy", worker);
}

}  // namespace prdist
