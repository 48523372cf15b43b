// SPDX-License-Identifier: Apache-2.0
// Memory of the tables that one thread owns. Chunks come from the system in huge pages where it gives them readily (at
// ten million rows they are worth more than the hash function); blocks inside a chunk are never moved, so a row keeps
// its address for life. Not for several threads.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/table/page_size.hpp>

namespace prdist {

/// As much as the system gives.
inline constexpr std::size_t no_ceiling = ~std::size_t{0};

class Arena {
 public:
  /// Beyond any address space, and rounding cannot wrap.
  static constexpr std::size_t most = std::size_t{1} << 56;
  static constexpr std::size_t huge_page = std::size_t{2} << 20;  ///< the least that is taken from the system

  /// Takes no more than `ceiling` bytes, in steps of two MiB.
  explicit Arena(std::size_t ceiling = no_ceiling) : ceiling_(std::min(ceiling, most)) {}
  Arena(Arena const&) = delete;
  Arena& operator=(Arena const&) = delete;
  ~Arena() {
    for (auto const& [start, size] : chunks_) ::munmap(start, size);
  }

  /// A zeroed block of `bytes`, aligned to a cache line.
  /// @throws Error table.memory when the system gives no more.
  [[nodiscard]] void* allocate(std::size_t bytes) {
    if (bytes > most) refuse(bytes);
    bytes = round_up(bytes, line);
    if (bytes > left_) grow(bytes);
    auto* const block = next_;
    next_ += bytes;
    left_ -= bytes;
    if (next_ > touched_) touch();
    return block;
  }

  /// What was taken from the system.
  [[nodiscard]] std::size_t bytes() const noexcept { return total_; }
  [[nodiscard]] std::size_t ceiling() const noexcept { return ceiling_; }

  /// Whether a block of `bytes` would be under the ceiling. Once it is not, it never will be: nothing is given back.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    if (bytes > most) return false;
    return round_up(bytes, line) <= left_ || round_up(bytes, huge_page) <= allowed();
  }

 private:
  static constexpr std::size_t line = 64;

  static constexpr std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

  /// What may still be taken, in whole huge pages.
  [[nodiscard]] std::size_t allowed() const noexcept { return (ceiling_ - total_) / huge_page * huge_page; }

  void grow(std::size_t bytes) {
    // A sixteenth of what is there already: few chunks for a large table, little slack for any.
    auto const least = round_up(bytes, huge_page);
    if (least > allowed()) refuse(least);
    auto const size = std::min(std::max(least, round_up(total_ / 16, huge_page)), allowed());
    // One huge page more, to start at a boundary; the parts outside are given back at once.
    auto* const start = ::mmap(nullptr, size + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) refuse(size);
    auto const at = reinterpret_cast<std::uintptr_t>(start);
    auto const aligned = round_up(at, huge_page);
    if (aligned > at) ::munmap(start, aligned - at);
    if (auto const tail = at + huge_page - aligned; tail > 0) {
      ::munmap(reinterpret_cast<void*>(aligned + size), tail);
    }
    next_ = reinterpret_cast<std::byte*>(aligned);
    left_ = size;
    chunks_.emplace_back(next_, size);
    total_ += size;
    // A wish: without huge pages the table is slower, not wrong.
    bool const huge = pages_.huge();
    ::madvise(next_, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    touched_ = huge ? next_ : next_ + size;
  }

  /// Touches the huge pages up to next_. When one was dear, the rest of the chunk is in ordinary ones.
  void touch() {
    while (touched_ < next_) {
      bool const fine = pages_.took(PageSize::touched(touched_));
      touched_ += huge_page;
      if (fine) continue;
      auto* const end = next_ + left_;
      if (end > touched_) ::madvise(touched_, static_cast<std::size_t>(end - touched_), MADV_NOHUGEPAGE);
      touched_ = end;
    }
  }

  [[noreturn]] void refuse(std::size_t bytes) const {
    if (ceiling_ < most) {
      throw Error(Errc::table_memory, "cannot take ", bytes >> 20, " MiB more beside the ", total_ >> 20,
                  " MiB of this thread's tables, their ceiling is ", ceiling_ >> 20,
                  " MiB: raise it or spread the job over more servers");
    }
    throw Error(Errc::table_memory, "cannot take ", bytes >> 20, " MiB more beside the ", total_ >> 20,
                " MiB of this thread's tables: give the server more memory or spread the job over more servers");
  }

  std::size_t ceiling_;
  PageSize pages_;
  std::vector<std::pair<void*, std::size_t>> chunks_;
  std::byte* next_ = nullptr;
  std::byte* touched_ = nullptr;  ///< the next huge page that nobody has touched, or the chunk's end
  std::size_t left_ = 0;
  std::size_t total_ = 0;
};

}  // namespace prdist
