// SPDX-License-Identifier: Apache-2.0
// The rows of one table in one shard: key -> row, at an address that never changes while the row is there.
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
#include <prdist/table/marked_row.hpp>
#include <prdist/table/row_pool.hpp>

namespace prdist {

class SparseTable {
 public:
  struct Slot {
    Key key = 0;
    MarkedRow row{};  ///< none when the slot is free
  };
  static constexpr std::size_t bucket_slots = 4;
  struct Bucket {
    Slot slots[bucket_slots];  ///< filled from the front
  };
  static_assert(sizeof(Bucket) == 64);

  /// Segments from `arena` and rows from `pool`, which must outlive the table. Keys in the table share the top
  /// `used_bits` bits of their hash.
  SparseTable(Arena& arena, RowPool& pool, unsigned used_bits) : arena_(&arena), pool_(&pool), used_bits_(used_bits) {
    segments_.push_back({new_segment(), 0, 0, 0, 0});
    directory_.push_back(segments_[0].buckets);
    owner_.push_back(0);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The segment of `hash`, good until the next insert(), and the bucket in it where a search begins: a caller with
  /// many keys prefetches that, and later calls find() with the segment.
  [[nodiscard]] Bucket const* segment_of(std::uint64_t hash) const noexcept { return directory_[index_of(hash)]; }
  [[nodiscard]] static std::size_t home(std::uint64_t hash) noexcept { return hash % segment_buckets; }

  /// The row of `key`, or none.
  [[nodiscard]] static MarkedRow find(Bucket const* segment, std::uint64_t hash, Key key) noexcept {
    for (auto b = home(hash);; b = (b + 1) % segment_buckets) {
      auto const& slots = segment[b].slots;
      auto const equal = equal_slots(slots, key);
      // A free slot holds key 0 and no row: what is found there is the right answer, nothing.
      if (equal != 0) return slots[std::countr_zero(equal)].row;
      if (!slots[bucket_slots - 1].row) return {};
    }
  }

  [[nodiscard]] MarkedRow find(std::uint64_t hash, Key key) const noexcept { return find(segment_of(hash), hash, key); }

  /// The word of a key that is in the table, to mark it; good until the next insert() or erase().
  [[nodiscard]] MarkedRow& marks(std::uint64_t hash, Key key) noexcept { return slot_of(hash, key).row; }

  /// Makes a row of zeros for a key that is not in the table.
  /// @throws Error table.memory
  float* insert(std::uint64_t hash, Key key, std::uint64_t marks = 0) {
    while (is_full(hash)) split(hash);
    auto* const row = pool_->take();
    auto& segment = segments_[segment_index(hash)];
    place(segment.buckets, hash, {key, MarkedRow(row, marks)});
    ++segment.count;
    ++size_;
    return row;
  }

  /// Takes a key out that is in the table; its row goes back to the pool.
  void erase(std::uint64_t hash, Key key) noexcept {
    auto& segment = segments_[segment_index(hash)];
    auto* const slot = &slot_of(hash, key);
    pool_->give_back(slot->row.row());
    auto const at = static_cast<std::size_t>(slot - reinterpret_cast<Slot*>(segment.buckets));
    close_gap(segment.buckets, at / bucket_slots, at % bucket_slots);
    --segment.count;
    --size_;
  }

  /// Whether insert() of a key with this hash would have to split its segment first.
  [[nodiscard]] bool is_full(std::uint64_t hash) const noexcept {
    return segments_[segment_index(hash)].count >= split_at;
  }

  // Segments by number, for whoever goes over the table a piece at a time. They keep their rows until they split, and
  // then the new one is the last. A segment remembers by numbers the last cut and the last sweep it was part of, and
  // hands them on.
  [[nodiscard]] std::size_t segments() const noexcept { return segments_.size(); }
  [[nodiscard]] std::size_t segment_index(std::uint64_t hash) const noexcept { return owner_[index_of(hash)]; }
  [[nodiscard]] std::size_t rows_in(std::size_t segment) const noexcept { return segments_[segment].count; }
  [[nodiscard]] CutEpoch& round_of(std::size_t segment) noexcept { return segments_[segment].round; }
  [[nodiscard]] std::uint16_t& sweep_of(std::size_t segment) noexcept { return segments_[segment].sweep; }

  /// Calls `visit(Key, MarkedRow&)` for the rows of one segment, from bucket `first` on and around; none may be
  /// inserted or erased meanwhile.
  template <class Visit>
  void for_each_in(std::size_t segment, Visit&& visit, std::size_t first = 0) const {
    for (std::size_t b = 0; b < segment_buckets; ++b) {
      for (auto& slot : segments_[segment].buckets[(first + b) % segment_buckets].slots) {
        if (slot.row) visit(slot.key, slot.row);
      }
    }
  }

  /// The same for a visitor that reads whole rows of `row_bytes`, those alone that `wanted(MarkedRow const&)` says:
  /// they are fetched ahead of it, for each would be waited for otherwise; of the others no byte is touched.
  template <class Wanted, class Visit>
  void read_each_in(std::size_t segment, std::size_t row_bytes, Wanted&& wanted, Visit&& visit) const {
    constexpr std::size_t ahead = 6, line = 64;
    auto const* const buckets = segments_[segment].buckets;
    for (std::size_t b = 0; b < segment_buckets + ahead; ++b) {
      for (std::size_t i = 0; b < segment_buckets && i < bucket_slots; ++i) {
        auto const& marked = buckets[b].slots[i].row;
        if (!marked || !wanted(marked)) continue;
        auto const* const row = reinterpret_cast<std::byte const*>(marked.row());
        for (std::size_t at = 0; at < row_bytes; at += line) __builtin_prefetch(row + at);
      }
      for (std::size_t i = 0; b >= ahead && i < bucket_slots; ++i) {
        auto const& slot = buckets[b - ahead].slots[i];
        if (slot.row && wanted(slot.row)) visit(slot.key, slot.row);
      }
    }
  }

  /// Calls `visit(Key, float* row)` for every row, in an order that depends only on what was inserted and when.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
      for_each_in(segment, [&](Key key, MarkedRow const& row) { visit(key, row.row()); });
    }
  }

  static constexpr std::size_t segment_buckets = 128;
  static constexpr std::size_t segment_bytes = segment_buckets * sizeof(Bucket);

 private:
  static constexpr std::size_t segment_slots = segment_buckets * bucket_slots;
  static constexpr std::uint16_t split_at = segment_slots * 13 / 16;

  struct Segment {
    Bucket* buckets;
    std::uint16_t count;
    std::uint16_t depth;
    CutEpoch round;
    std::uint16_t sweep;
  };

  [[nodiscard]] static unsigned equal_slots(Slot const (&slots)[bucket_slots], Key key) noexcept {
    return unsigned{slots[0].key == key} | unsigned{slots[1].key == key} << 1 | unsigned{slots[2].key == key} << 2 |
           unsigned{slots[3].key == key} << 3;
  }

  // Which bits of a hash decide what: the top for the shard, those below for the directory, the lowest for the bucket.
  [[nodiscard]] std::size_t index_of(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(((hash << used_bits_) >> 1) >> (63 - depth_));
  }

  [[nodiscard]] Bucket* new_segment() { return static_cast<Bucket*>(arena_->allocate(segment_bytes)); }

  /// The slot of a key that is in the table.
  [[nodiscard]] Slot& slot_of(std::uint64_t hash, Key key) noexcept {
    auto* const segment = segments_[segment_index(hash)].buckets;
    for (auto b = home(hash);; b = (b + 1) % segment_buckets) {
      for (auto& slot : segment[b].slots) {
        if (slot.key == key && slot.row) return slot;
      }
    }
  }

  /// Frees a slot such that every search still finds what it looks for: a bucket stays filled from its front, and
  /// what had overflowed past a bucket that has room again moves back, which leaves the next gap.
  static void close_gap(Bucket* segment, std::size_t bucket, std::size_t slot) noexcept {
    for (;;) {
      auto& slots = segment[bucket].slots;
      bool const was_full = static_cast<bool>(slots[bucket_slots - 1].row);
      auto last = bucket_slots - 1;
      while (!slots[last].row) --last;
      slots[slot] = slots[last];
      slots[last] = {};
      if (!was_full || !find_overflowed(segment, bucket, slot)) return;
      // Both now say who moves into the gap at the end of `slots`.
      slots[bucket_slots - 1] = segment[bucket].slots[slot];
    }
  }

  /// The first slot behind `bucket` whose key would rather be in it or before it; replaces both numbers.
  static bool find_overflowed(Bucket const* segment, std::size_t& bucket, std::size_t& slot) noexcept {
    for (std::size_t distance = 1; distance < segment_buckets; ++distance) {
      auto const b = (bucket + distance) % segment_buckets;
      auto const& slots = segment[b].slots;
      for (std::size_t i = 0; i < bucket_slots && slots[i].row; ++i) {
        auto const from_home = (b + segment_buckets - home(hash_key(slots[i].key))) % segment_buckets;
        if (from_home < distance) continue;
        bucket = b;
        slot = i;
        return true;
      }
      if (!slots[bucket_slots - 1].row) return false;
    }
    return false;
  }

  /// Puts `slot` where a search for `hash` comes by; there is room.
  static void place(Bucket* segment, std::uint64_t hash, Slot slot) noexcept {
    for (auto b = home(hash);; b = (b + 1) % segment_buckets) {
      for (auto& free : segment[b].slots) {
        if (free.row) continue;
        free = slot;
        return;
      }
    }
  }

  /// Splits the segment in which `hash` belongs.
  void split(std::uint64_t split_hash) {
    auto const which = owner_[index_of(split_hash)];
    unsigned const depth = segments_[which].depth;
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
    auto const& parent = segments_[which];
    segments_.push_back({new_segment(), 0, static_cast<std::uint16_t>(depth + 1), parent.round, parent.sweep});
    auto& left = segments_[which];
    auto& right = segments_[other];
    left.depth = right.depth;

    std::array<Slot, segment_slots> moved;
    std::size_t count = 0;
    for (std::size_t b = 0; b < segment_buckets; ++b) {
      for (auto& slot : left.buckets[b].slots) {
        if (slot.row) moved[count++] = std::exchange(slot, Slot{});
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
  RowPool* pool_;
  unsigned used_bits_;
  unsigned depth_ = 0;
  std::vector<Bucket*> directory_;
  std::vector<std::uint32_t> owner_;
  std::vector<Segment> segments_;
  std::size_t size_ = 0;
};

}  // namespace prdist
