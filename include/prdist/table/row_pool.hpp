// SPDX-License-Identifier: Apache-2.0
// Rows of one size, out of an arena in slabs; a row that is given back is the next to be taken. One pool serves all
// shards of a table, so what leaves one shard makes room in any other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <prdist/table/arena.hpp>

namespace prdist {

class RowPool {
 public:
  static constexpr std::size_t slab_bytes = 64 * 1024;  ///< taken at a time, unless a row is larger

  /// Rows of `row_bytes` from `arena`, which must outlive the pool.
  RowPool(Arena& arena, std::size_t row_bytes)
      : arena_(&arena), stride_((std::max<std::size_t>(row_bytes, 1) + 7) / 8 * 8) {}

  /// A row of zeros. @throws Error table.memory
  [[nodiscard]] float* take() {
    std::byte* row = nullptr;
    if (free_ != nullptr) {
      row = free_;
      std::memcpy(&free_, row, sizeof free_);
      --free_count_;
      std::memset(row, 0, stride_);
    } else {
      if (slab_left_ == 0) {
        auto const rows = next_slab();
        slab_ = static_cast<std::byte*>(arena_->allocate(rows * stride_));
        slab_left_ = rows;
      }
      row = slab_;
      slab_ += stride_;
      --slab_left_;
    }
    ++taken_;
    return reinterpret_cast<float*>(row);
  }

  void give_back(float* row) noexcept {
    std::memcpy(row, &free_, sizeof free_);  // a free row holds the address of the next
    free_ = reinterpret_cast<std::byte*>(row);
    ++free_count_;
    --taken_;
  }

  /// Rows that take() has without asking the arena.
  [[nodiscard]] std::size_t spare() const noexcept { return free_count_ + slab_left_; }

  /// Whether the arena's ceiling leaves room for more, and for `beside` bytes that somebody takes from it before.
  [[nodiscard]] bool may_grow(std::size_t beside = 0) const noexcept {
    return arena_->has_room(next_slab() * stride_ + beside);
  }

  [[nodiscard]] bool has_room(std::size_t beside = 0) const noexcept { return spare() > 0 || may_grow(beside); }

 private:
  /// As many rows as there are already, up to a limit: small tables stay small.
  [[nodiscard]] std::size_t next_slab() const noexcept {
    return std::min(std::max<std::size_t>(taken_, 8), std::max<std::size_t>(slab_bytes / stride_, 1));
  }

  Arena* arena_;
  std::size_t stride_;
  std::byte* slab_ = nullptr;
  std::size_t slab_left_ = 0;
  std::byte* free_ = nullptr;
  std::size_t free_count_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace prdist
