// SPDX-License-Identifier: Apache-2.0
// The rows of one table in one shard: key -> row of floats, at an address that never changes.
//
// Extendible hashing: a directory of segments of 128 buckets; a full segment splits in two, so growth costs a few
// microseconds at a time and never a pass over the table. A bucket is one cache line, four slots of key and address,
// compared without a branch; a full one overflows into the next. A lookup thus misses the cache once for the bucket
// and once per line of the row, which starts at a line when its size is a multiple of one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/arena.hpp>

namespace prdist {

class SparseTable {
 public:
  struct Slot {
    Key key;
    float* row;  ///< null when the slot is free
  };
  static constexpr std::size_t bucket_slots = 4;
  struct Bucket {
    Slot slots[bucket_slots];  ///< filled from the front
  };
  static_assert(sizeof(Bucket) == 64);

  /// Rows of `row_floats` floats, taken from `arena`, which must outlive the table. Keys in the table share the top
  /// `used_bits` bits of their hash.
  SparseTable(Arena& arena, std::size_t row_floats, unsigned used_bits)
      : arena_(&arena), stride_((row_floats * sizeof(float) + 7) / 8 * 8), used_bits_(used_bits) {
    segments_.push_back({new_segment(), 0, 0});
    directory_.push_back(segments_[0].buckets);
    owner_.push_back(0);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The segment of `hash`, good until the next insert(), and the bucket in it where a search begins: a caller with
  /// many keys prefetches that, and later calls find() with the segment.
  [[nodiscard]] Bucket const* segment_of(std::uint64_t hash) const noexcept { return directory_[index_of(hash)]; }
  [[nodiscard]] static std::size_t home(std::uint64_t hash) noexcept { return hash % segment_buckets; }

  /// The row of `key`, or null.
  [[nodiscard]] static float* find(Bucket const* segment, std::uint64_t hash, Key key) noexcept {
    for (auto b = home(hash);; b = (b + 1) % segment_buckets) {
      auto const& slots = segment[b].slots;
      auto const equal = unsigned{slots[0].key == key} | unsigned{slots[1].key == key} << 1 |
                         unsigned{slots[2].key == key} << 2 | unsigned{slots[3].key == key} << 3;
      // A free slot holds key 0 and no row: what is found there is the right answer, nothing.
      if (equal != 0) return slots[std::countr_zero(equal)].row;
      if (slots[bucket_slots - 1].row == nullptr) return nullptr;
    }
  }

  [[nodiscard]] float* find(std::uint64_t hash, Key key) const noexcept { return find(segment_of(hash), hash, key); }

  /// Makes a row of zeros for a key that is not in the table.
  /// @throws Error table.memory
  float* insert(std::uint64_t hash, Key key) {
    while (segments_[owner_[index_of(hash)]].count >= split_at) split(hash);
    auto* const row = new_row();
    auto& segment = segments_[owner_[index_of(hash)]];
    place(segment.buckets, hash, {key, row});
    ++segment.count;
    ++size_;
    return row;
  }

  /// Calls `visit(Key, float* row)` for every row, in an order that depends only on what was inserted and when.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto const& segment : segments_) {
      for (std::size_t b = 0; b < segment_buckets; ++b) {
        for (auto const& slot : segment.buckets[b].slots) {
          if (slot.row != nullptr) visit(slot.key, slot.row);
        }
      }
    }
  }

  static constexpr std::size_t segment_buckets = 128;

 private:
  static constexpr std::size_t segment_slots = segment_buckets * bucket_slots;
  static constexpr std::uint32_t split_at = segment_slots * 13 / 16;
  static constexpr std::size_t slab_bytes = 64 * 1024;

  struct Segment {
    Bucket* buckets;
    std::uint32_t count;
    std::uint32_t depth;
  };

  // Which bits of a hash decide what: the top for the shard, those below for the directory, the lowest for the bucket.
  [[nodiscard]] std::size_t index_of(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(((hash << used_bits_) >> 1) >> (63 - depth_));
  }

  [[nodiscard]] Bucket* new_segment() {
    return static_cast<Bucket*>(arena_->allocate(segment_buckets * sizeof(Bucket)));
  }

  [[nodiscard]] float* new_row() {
    if (slab_left_ == 0) {
      // As many rows as there are already, up to a limit: small tables stay small.
      auto const most = slab_bytes / stride_ == 0 ? 1 : slab_bytes / stride_;
      auto const rows = size_ < 8 ? std::size_t{8} : size_;
      auto const count = rows < most ? rows : most;
      slab_ = static_cast<std::byte*>(arena_->allocate(count * stride_));
      slab_left_ = count;
    }
    auto* const row = slab_;
    slab_ += stride_;
    --slab_left_;
    return reinterpret_cast<float*>(row);
  }

  /// Puts `slot` where a search for `hash` comes by; there is room.
  static void place(Bucket* segment, std::uint64_t hash, Slot slot) noexcept {
    for (auto b = home(hash);; b = (b + 1) % segment_buckets) {
      for (auto& free : segment[b].slots) {
        if (free.row != nullptr) continue;
        free = slot;
        return;
      }
    }
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
      std::vector<Bucket*> directory(directory_.size() * 2);
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

    std::array<Slot, segment_slots> moved;
    std::size_t count = 0;
    for (std::size_t b = 0; b < segment_buckets; ++b) {
      for (auto& slot : left.buckets[b].slots) {
        if (slot.row != nullptr) moved[count++] = std::exchange(slot, Slot{});
      }
    }
    left.count = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const hash = hash_key(moved[i].key);
      auto& target = (hash << (used_bits_ + depth)) >> 63 != 0 ? right : left;
      place(target.buckets, hash, moved[i]);
      ++target.count;
    }
    // The entries of a segment lie side by side; the upper half of them is the new segment's now.
    auto const half = std::size_t{1} << (depth_ - depth - 1);
    auto const first = index_of(split_hash) / (2 * half) * (2 * half);
    for (std::size_t i = first + half; i < first + 2 * half; ++i) {
      owner_[i] = other;
      directory_[i] = right.buckets;
    }
  }

  Arena* arena_;
  std::size_t stride_;
  unsigned used_bits_;
  unsigned depth_ = 0;
  std::vector<Bucket*> directory_;
  std::vector<std::uint32_t> owner_;
  std::vector<Segment> segments_;
  std::byte* slab_ = nullptr;
  std::size_t slab_left_ = 0;
  std::size_t size_ = 0;
};

}  // namespace prdist
