// SPDX-License-Identifier: Apache-2.0
// The rows of one table in one shard: key -> row of floats, at an address that never changes.
//
// Extendible hashing: a directory of segments of 512 slots; a full segment splits in two, so growth costs a few
// microseconds at a time and never a pass over the table. A slot is 8 bytes, 16 of hash and 48 of address; the key
// stands in front of its row. At the usual fill that is 15 bytes per row beside the payload.
// Lookups come in two steps, probe() and find(), so that a caller with many keys can prefetch between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/arena.hpp>

namespace prdist {

class SparseTable {
 public:
  /// Rows of `row_floats` floats, taken from `arena`, which must outlive the table. Keys in the table share the top
  /// `used_bits` bits of their hash.
  SparseTable(Arena& arena, std::size_t row_floats, unsigned used_bits)
      : arena_(&arena), stride_(sizeof(Key) + (row_floats * sizeof(float) + 7) / 8 * 8), used_bits_(used_bits) {
    segments_.push_back({new_segment(), 0, 0});
    directory_.push_back(segments_[0].slots);
    owner_.push_back(0);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Both prefetches are inlined by force: g++ takes a function that only prefetches for one without effect and drops
  // calls of it that it has not inlined early.

  /// Brings the slot of `hash` into the cache.
  [[gnu::always_inline]] void prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&segment_of(hash)[home(hash)]);
  }

  /// The first row whose slot agrees with `hash`, or null. Reads slots only: the key is not compared yet.
  [[nodiscard]] float* probe(std::uint64_t hash) const noexcept {
    auto const* const slots = segment_of(hash);
    auto const tag = tag_of(hash);
    for (std::size_t i = home(hash);; i = (i + 1) % segment_slots) {
      if (slots[i] == 0) return nullptr;
      if (slots[i] >> address_bits == tag) return row_of(slots[i]);
    }
  }

  /// Brings a row that probe() gave, with the key in front of it, into the cache.
  [[gnu::always_inline]] void prefetch_row(float const* row) const noexcept {
    auto const* const start = reinterpret_cast<std::byte const*>(row) - sizeof(Key);
    for (std::size_t line = 0; line < stride_ && line < 256; line += 64) __builtin_prefetch(start + line);
  }

  /// The row of `key`, or null. `candidate` is what probe() gave for its hash.
  [[nodiscard]] float* find(std::uint64_t hash, Key key, float* candidate) const noexcept {
    if (candidate == nullptr || key_of(candidate) == key) return candidate;
    return find(hash, key);
  }

  [[nodiscard]] float* find(std::uint64_t hash, Key key) const noexcept {
    auto const* const slots = segment_of(hash);
    auto const tag = tag_of(hash);
    for (std::size_t i = home(hash);; i = (i + 1) % segment_slots) {
      if (slots[i] == 0) return nullptr;
      if (slots[i] >> address_bits == tag && key_of(row_of(slots[i])) == key) return row_of(slots[i]);
    }
  }

  /// Makes a row of zeros for a key that is not in the table.
  /// @throws Error table.memory
  float* insert(std::uint64_t hash, Key key) {
    while (segments_[owner_[index_of(hash)]].count >= split_at) split(hash);
    auto* const row = new_row(key);
    auto& segment = segments_[owner_[index_of(hash)]];
    place(segment.slots, hash, row);
    ++segment.count;
    ++size_;
    return row;
  }

  /// Calls `visit(Key, float* row)` for every row, in an order that depends only on what was inserted and when.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto const& segment : segments_) {
      for (std::size_t i = 0; i < segment_slots; ++i) {
        if (segment.slots[i] != 0) visit(key_of(row_of(segment.slots[i])), row_of(segment.slots[i]));
      }
    }
  }

  static constexpr std::size_t segment_slots = 512;

 private:
  static constexpr unsigned address_bits = 48;
  static constexpr std::uint64_t address_mask = (std::uint64_t{1} << address_bits) - 1;
  static constexpr std::uint32_t split_at = segment_slots * 13 / 16;
  static constexpr std::size_t slab_bytes = 64 * 1024;

  struct Segment {
    std::uint64_t* slots;
    std::uint32_t count;
    std::uint32_t depth;
  };

  // Which bits of a hash decide what: the top for the shard, those below for the directory; the lowest nine for the
  // home slot and the sixteen above them for the tag, so that no two of them tell the same.
  [[nodiscard]] std::size_t index_of(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(((hash << used_bits_) >> 1) >> (63 - depth_));
  }
  static std::size_t home(std::uint64_t hash) noexcept { return hash % segment_slots; }
  static std::uint64_t tag_of(std::uint64_t hash) noexcept { return (hash >> 9) & 0xffff; }

  [[nodiscard]] std::uint64_t* segment_of(std::uint64_t hash) const noexcept { return directory_[index_of(hash)]; }
  static float* row_of(std::uint64_t slot) noexcept {
    return reinterpret_cast<float*>(static_cast<std::uintptr_t>(slot & address_mask));
  }
  static Key key_of(float const* row) noexcept {
    Key key;
    std::memcpy(&key, reinterpret_cast<std::byte const*>(row) - sizeof key, sizeof key);
    return key;
  }

  [[nodiscard]] std::uint64_t* new_segment() {
    return static_cast<std::uint64_t*>(arena_->allocate(segment_slots * sizeof(std::uint64_t)));
  }

  [[nodiscard]] float* new_row(Key key) {
    if (slab_left_ == 0) {
      // As many rows as there are already, up to a limit: small tables stay small.
      auto const most = slab_bytes / stride_ == 0 ? 1 : slab_bytes / stride_;
      auto const rows = size_ < 8 ? std::size_t{8} : size_;
      auto const count = rows < most ? rows : most;
      slab_ = static_cast<std::byte*>(arena_->allocate(count * stride_));
      slab_left_ = count;
    }
    auto* const start = slab_;
    slab_ += stride_;
    --slab_left_;
    std::memcpy(start, &key, sizeof key);
    return reinterpret_cast<float*>(start + sizeof key);
  }

  static void place(std::uint64_t* slots, std::uint64_t hash, float* row) noexcept {
    std::size_t i = home(hash);
    while (slots[i] != 0) i = (i + 1) % segment_slots;
    slots[i] = tag_of(hash) << address_bits | reinterpret_cast<std::uintptr_t>(row);
  }

  /// Splits the segment in which `hash` belongs.
  void split(std::uint64_t split_hash) {
    auto const which = owner_[index_of(split_hash)];
    auto const depth = segments_[which].depth;
    // So deep, a segment has less than one key on average when hashes are random, and this one is full. Every bit
    // more would double the directory.
    if (std::max(size_, segment_slots) >> depth == 0) {
      throw Error(Errc::table_memory, "more than ", segment_slots / 2, " keys agree in ", depth + used_bits_,
                  " bits of their hash: they were chosen to collide, and the table refuses to grow for them");
    }
    if (depth == depth_) {
      std::vector<std::uint64_t*> directory(directory_.size() * 2);
      std::vector<std::uint32_t> owner(directory.size());
      for (std::size_t i = 0; i < directory.size(); ++i) {
        directory[i] = directory_[i / 2];
        owner[i] = owner_[i / 2];
      }
      directory_ = std::move(directory);
      owner_ = std::move(owner);
      ++depth_;
    }
    auto const other = static_cast<std::uint32_t>(segments_.size());
    segments_.push_back({new_segment(), 0, depth + 1});
    auto& left = segments_[which];
    auto& right = segments_[other];
    left.depth = depth + 1;

    std::uint64_t moved[segment_slots];
    std::size_t count = 0;
    for (std::size_t i = 0; i < segment_slots; ++i) {
      if (left.slots[i] == 0) continue;
      moved[count++] = left.slots[i];
      __builtin_prefetch(reinterpret_cast<std::byte const*>(row_of(left.slots[i])) - sizeof(Key));
      left.slots[i] = 0;
    }
    left.count = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto* const row = row_of(moved[i]);
      auto const hash = hash_key(key_of(row));
      auto& target = (hash << (used_bits_ + depth)) >> 63 != 0 ? right : left;
      place(target.slots, hash, row);
      ++target.count;
    }
    // The entries of a segment lie side by side; the upper half of them is the new segment's now.
    auto const half = std::size_t{1} << (depth_ - depth - 1);
    auto const first = index_of(split_hash) / (2 * half) * (2 * half);
    for (std::size_t i = first + half; i < first + 2 * half; ++i) {
      owner_[i] = other;
      directory_[i] = right.slots;
    }
  }

  Arena* arena_;
  std::size_t stride_;
  unsigned used_bits_;
  unsigned depth_ = 0;
  std::vector<std::uint64_t*> directory_;
  std::vector<std::uint32_t> owner_;
  std::vector<Segment> segments_;
  std::byte* slab_ = nullptr;
  std::size_t slab_left_ = 0;
  std::size_t size_ = 0;
};

}  // namespace prdist
