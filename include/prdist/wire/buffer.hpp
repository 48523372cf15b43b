// SPDX-License-Identifier: Apache-2.0
// Payload buffers that are used again: a fresh half megabyte costs more in page faults than in copying.
#pragma once

#include <bit>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <prdist/core/types.hpp>

namespace prdist {

/// Memory aligned for floats and keys; not initialised.
class Buffer {
 public:
  explicit Buffer(std::size_t capacity)
      : memory_(new (std::align_val_t{64}) std::byte[capacity]), capacity_(capacity) {}

  [[nodiscard]] Bytes bytes() const noexcept { return {memory_.get(), size}; }

  /// The part of `count` values that starts at byte `at`.
  template <class Value>
  [[nodiscard]] std::span<Value> as(std::size_t at, std::size_t count) const noexcept {
    return {reinterpret_cast<Value*>(memory_.get() + at), count};
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  std::size_t size = 0;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::operator delete[](memory, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t capacity_;
};

/// Any thread. Keeps at most `spare_bytes` of unused buffers.
class BufferPool {
 public:
  explicit BufferPool(std::size_t spare_bytes = std::size_t{64} << 20) : shelf_(std::make_shared<Shelf>()) {
    shelf_->most = spare_bytes;
  }

  /// A buffer of `size` bytes that returns to the pool with its last owner; it may outlive the pool.
  [[nodiscard]] std::shared_ptr<Buffer> take(std::size_t size) {
    auto const capacity = std::bit_ceil(size < 4096 ? std::size_t{4096} : size);
    std::unique_ptr<Buffer> buffer;
    {
      std::lock_guard const lock(shelf_->mutex);
      auto& spare = shelf_->spare[capacity];
      if (!spare.empty()) {
        buffer = std::move(spare.back());
        spare.pop_back();
        shelf_->bytes -= capacity;
      }
    }
    if (!buffer) buffer = std::make_unique<Buffer>(capacity);
    buffer->size = size;
    return {buffer.release(), [shelf = shelf_](Buffer* used) { give_back(*shelf, std::unique_ptr<Buffer>(used)); }};
  }

 private:
  struct Shelf {
    std::mutex mutex;
    std::map<std::size_t, std::vector<std::unique_ptr<Buffer>>> spare;
    std::size_t bytes = 0;
    std::size_t most = 0;
  };

  static void give_back(Shelf& shelf, std::unique_ptr<Buffer> buffer) {
    std::lock_guard const lock(shelf.mutex);
    if (shelf.bytes + buffer->capacity() > shelf.most) return;
    shelf.bytes += buffer->capacity();
    shelf.spare[buffer->capacity()].push_back(std::move(buffer));
  }

  std::shared_ptr<Shelf> shelf_;
};

}  // namespace prdist
