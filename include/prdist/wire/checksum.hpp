// SPDX-License-Identifier: Apache-2.0
// Checksums of payloads: XXH3, one per 64 KiB block, sent behind the payload. The sender need not have the whole
// payload before the first block leaves, and the receiver reads the payload in one piece to where it belongs.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <prdist/core/types.hpp>

namespace prdist {

inline constexpr std::size_t checksum_block = 64 * 1024;

[[nodiscard]] constexpr std::size_t checksum_count(std::uint64_t payload) noexcept {
  return static_cast<std::size_t>((payload + checksum_block - 1) / checksum_block);
}

[[nodiscard]] inline std::uint64_t checksum(ConstBytes bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

/// Writes the checksums of the payload that `pieces` hold one after another, little-endian, to `out`, which has
/// room for checksum_count() of them. Blocks are counted over the payload, not over the pieces.
template <class Piece>
void write_checksums(std::span<Piece const> pieces, Bytes out) {
  std::size_t written = 0;
  std::size_t filled = 0;
  XXH3_state_t state;
  bool streaming = false;
  auto const emit = [&](std::uint64_t sum) {
    std::memcpy(out.data() + written, &sum, sizeof sum);
    written += sizeof sum;
    filled = 0;
    streaming = false;
  };
  for (auto const& piece : pieces) {
    ConstBytes rest(piece.data(), piece.size());
    while (!rest.empty()) {
      auto const take = std::min(rest.size(), checksum_block - filled);
      if (!streaming && take == checksum_block) {
        emit(checksum(rest.first(take)));
      } else {
        if (!streaming) XXH3_64bits_reset(&state);
        streaming = true;
        XXH3_64bits_update(&state, rest.data(), take);
        filled += take;
        if (filled == checksum_block) emit(XXH3_64bits_digest(&state));
      }
      rest = rest.subspan(take);
    }
  }
  if (streaming) emit(XXH3_64bits_digest(&state));
}

}  // namespace prdist
