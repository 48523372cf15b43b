// SPDX-License-Identifier: Apache-2.0
// A .zip whose entries are stored as they are and may be longer than 4 GiB: the little of the format that .npz needs.
// An entry is written once, forward; only its head is filled in afterwards.
#pragma once

#include <zlib.h>

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/checkpoint/files.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

class ZipWriter {
 public:
  /// Sizes and offsets from `wide_from` on are written in the wide form (zip64), as they must be where 32 bits do not
  /// hold them; a test asks for it earlier. @throws Error checkpoint.file
  explicit ZipWriter(std::string path, std::uint64_t wide_from = std::numeric_limits<std::uint32_t>::max())
      : file_(std::move(path)), wide_from_(wide_from) {}

  /// Begins an entry. The first `reserved` bytes of it are given to end(), when they are known.
  void begin(std::string name, std::size_t reserved = 0) {
    assert(!open_);
    open_ = true;
    entries_.push_back({std::move(name), file_.size(), 0, 0});
    crc_ = static_cast<std::uint32_t>(::crc32(0, nullptr, 0));
    reserved_ = reserved;
    auto const head = local_head(entries_.back()) + std::string(reserved, '\0');
    file_.write(detail::bytes_of_text(head));
    entries_.back().size = reserved;
  }

  /// Appends to the entry. @throws Error checkpoint.file
  void write(ConstBytes bytes) {
    assert(open_);
    file_.write(bytes);
    crc_ = static_cast<std::uint32_t>(::crc32_z(crc_, reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
    entries_.back().size += bytes.size();
  }

  /// Ends the entry; `reserved` is what was reserved. @throws Error checkpoint.file
  void end(std::string_view reserved = {}) {
    assert(open_ && reserved.size() == reserved_);
    open_ = false;
    auto& entry = entries_.back();
    auto const first =
        ::crc32_z(::crc32(0, nullptr, 0), reinterpret_cast<Bytef const*>(reserved.data()), reserved.size());
    entry.crc =
        static_cast<std::uint32_t>(::crc32_combine(first, crc_, static_cast<z_off_t>(entry.size - reserved.size())));
    auto const head = local_head(entry) + std::string(reserved);
    file_.write_at(entry.offset, detail::bytes_of_text(head));
  }

  /// Writes the list of entries and waits for the disk. @throws Error checkpoint.file
  void close() {
    assert(!open_);
    auto const start = file_.size();
    std::string list;
    for (auto const& entry : entries_) list += central_head(entry);
    auto const count = entries_.size(), size = list.size();
    auto const wide = start >= wide_from_ || size >= wide_from_ || count >= 0xffff;
    if (wide) {
      auto const at = start + size;
      put(list, 0x06064b50U, std::uint64_t{44}, std::uint16_t{45}, std::uint16_t{45}, 0U, 0U, std::uint64_t{count},
          std::uint64_t{count}, std::uint64_t{size}, start);
      put(list, 0x07064b50U, 0U, at, 1U);
    }
    auto const short_count = static_cast<std::uint16_t>(wide ? 0xffff : count);
    put(list, 0x06054b50U, std::uint16_t{0}, std::uint16_t{0}, short_count, short_count,
        static_cast<std::uint32_t>(wide ? 0xffffffffU : size), static_cast<std::uint32_t>(wide ? 0xffffffffU : start),
        std::uint16_t{0});
    file_.write(detail::bytes_of_text(list));
    file_.close();
  }

 private:
  struct Entry {
    std::string name;
    std::uint64_t offset, size;
    std::uint32_t crc;
  };

  template <std::unsigned_integral... Numbers>
  static void put(std::string& out, Numbers... numbers) {
    auto const one = [&](auto number) {
      for (std::size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
    };
    (one(numbers), ...);
  }

  // The date is that of the format's beginning, 1980-01-01: the same content gives the same file.
  static constexpr std::uint16_t version_needed = 45, stored = 0, no_time = 0, first_day = 0x21, wide_tag = 1;
  static constexpr std::uint16_t utf8_name = 1U << 11;

  /// Always of the wide form, for the size is not known when it is written.
  [[nodiscard]] static std::string local_head(Entry const& entry) {
    std::string out;
    put(out, 0x04034b50U, version_needed, utf8_name, stored, no_time, first_day, entry.crc, 0xffffffffU, 0xffffffffU,
        static_cast<std::uint16_t>(entry.name.size()), std::uint16_t{20});
    out += entry.name;
    put(out, wide_tag, std::uint16_t{16}, entry.size, entry.size);
    return out;
  }

  [[nodiscard]] std::string central_head(Entry const& entry) const {
    std::string extra;
    auto const narrow = [&](std::uint64_t value) {
      if (value < wide_from_) return static_cast<std::uint32_t>(value);
      put(extra, value);
      return std::uint32_t{0xffffffffU};
    };
    auto const size = narrow(entry.size), same = narrow(entry.size), offset = narrow(entry.offset);
    std::string out;
    put(out, 0x02014b50U, version_needed, version_needed, utf8_name, stored, no_time, first_day, entry.crc, same, size,
        static_cast<std::uint16_t>(entry.name.size()), static_cast<std::uint16_t>(extra.empty() ? 0 : extra.size() + 4),
        std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{0}, 0U, offset);
    out += entry.name;
    if (!extra.empty()) {
      put(out, wide_tag, static_cast<std::uint16_t>(extra.size()));
      out += extra;
    }
    return out;
  }

  OutputFile file_;
  std::uint64_t wide_from_;
  std::vector<Entry> entries_;
  std::uint32_t crc_ = 0;
  std::size_t reserved_ = 0;
  bool open_ = false;
};

}  // namespace prdist
