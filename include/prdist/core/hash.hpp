// SPDX-License-Identifier: Apache-2.0
// The two mixing functions that decide where a key lives and what its first row holds. Both are part of the
// product's promise: changing them moves every key and every first row, so they carry a version in the tests.
#pragma once

#include <cstdint>
#include <string_view>

#include <prdist/core/types.hpp>

namespace prdist {

/// A bijection of 64 bits in which every input bit moves every output bit (splitmix64's finaliser). Being a
/// bijection, two keys never share a hash.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Where a key belongs: placement takes its top bits, a shard's index the bits below.
[[nodiscard]] constexpr std::uint64_t hash_key(Key key) noexcept {
  return mix(key + 0x9e3779b97f4a7c15ULL);
}

/// A stable number for a name: FNV-1a, finished by mix(). Names are few and short.
[[nodiscard]] constexpr std::uint64_t hash_name(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (char const c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mix(hash);
}

}  // namespace prdist
