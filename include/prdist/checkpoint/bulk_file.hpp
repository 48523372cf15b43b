// SPDX-License-Identifier: Apache-2.0
// A large file that is written once, from its beginning to its end, and not soon read again. It goes past the system's
// cache: to copy it there a page at a time costs several times the processor that the rest of a checkpoint does, and
// takes memory from whatever trains beside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <prdist/checkpoint/files.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

/// One writer. Until close() has returned, the file is not safe on the disk, nor all of it written.
class BulkFile {
 public:
  /// Makes `path`, or empties it. @throws Error checkpoint.file
  explicit BulkFile(std::string path)
      : file_(std::move(path)), buffer_(static_cast<std::byte*>(std::aligned_alloc(page, capacity))) {
    if (!buffer_) throw std::bad_alloc();
    (void)file_.past_cache(true);
  }

  /// Appends the pieces, in order; their memory may be reused at once. @throws Error checkpoint.file
  void write(std::initializer_list<ConstBytes> pieces) {
    for (auto piece : pieces) {
      while (!piece.empty()) {
        auto const fits = std::min(piece.size(), capacity - filled_);
        std::memcpy(buffer_.get() + filled_, piece.data(), fits);
        filled_ += fits;
        piece = piece.subspan(fits);
        if (filled_ == capacity) flush();
      }
    }
  }
  void write(ConstBytes bytes) { write({bytes}); }

  /// Waits until all of it is on the disk; nothing can be written afterwards. @throws Error checkpoint.file
  void close() {
    (void)file_.past_cache(false);  // the end is no whole page
    flush();
    file_.close();
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return file_.size() + filled_; }
  [[nodiscard]] std::string const& path() const noexcept { return file_.path(); }

 private:
  static constexpr std::size_t page = 4096;
  /// So much that a disk far away is busy with it for longer than it takes to get there.
  static constexpr std::size_t capacity = std::size_t{4} << 20;

  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  void flush() { file_.write(ConstBytes(buffer_.get(), std::exchange(filled_, 0))); }

  OutputFile file_;
  std::unique_ptr<std::byte, Free> buffer_;
  std::size_t filled_ = 0;
};

}  // namespace prdist
