// SPDX-License-Identifier: Apache-2.0
// A row's address together with its marks, in one word: rows start at multiples of eight and lie below 2^48, so the
// lowest bits and the top sixteen are free. A lookup masks them away, which costs nothing; a push sees in the same
// word whether there is something to note about the row, and mostly there is not.
#pragma once

#include <cstdint>

namespace prdist {

/// Counts the markers of a table's cuts; a row carries the one of its last change.
using CutEpoch = std::uint16_t;

struct MarkedRow {
  std::uint64_t word = 0;

  static constexpr std::uint64_t address_bits = 0x0000'ffff'ffff'fff8ULL;
  static constexpr unsigned epoch_shift = 48;
  static constexpr std::uint64_t epoch_bits = 0xffffULL << epoch_shift;
  static constexpr std::uint64_t used_bit = 1;  ///< pushed since the hand of the clock came by

  MarkedRow() = default;
  MarkedRow(float* row, std::uint64_t marks) noexcept : word(reinterpret_cast<std::uintptr_t>(row) | marks) {}

  [[nodiscard]] float* row() const noexcept { return reinterpret_cast<float*>(word & address_bits); }
  [[nodiscard]] CutEpoch changed() const noexcept { return static_cast<CutEpoch>(word >> epoch_shift); }
  [[nodiscard]] bool used() const noexcept { return (word & used_bit) != 0; }
  void mark(std::uint64_t marks) noexcept { word = (word & address_bits) | marks; }
  /// A free slot is all zero; a row never is.
  [[nodiscard]] explicit operator bool() const noexcept { return word != 0; }
};

[[nodiscard]] constexpr std::uint64_t marks_of(CutEpoch epoch, bool used = false) noexcept {
  return std::uint64_t{epoch} << MarkedRow::epoch_shift | (used ? MarkedRow::used_bit : 0);
}

}  // namespace prdist
