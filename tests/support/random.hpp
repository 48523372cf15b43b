// SPDX-License-Identifier: Apache-2.0
// Numbers that are the same on every machine (the distributions of <random> are not), and keys made to measure.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <prdist/core/types.hpp>

namespace prdist::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  /// In [-1, 1).
  float number() { return static_cast<float>(engine_() >> 40) * 0x1p-23F - 1.0F; }

  std::vector<float> numbers(std::size_t count) {
    std::vector<float> all(count);
    for (auto& each : all) each = number();
    return all;
  }

 private:
  std::mt19937_64 engine_;
};

/// The inverse of mix(): multiplies by the inverses of its factors and undoes its shifts, in reverse order.
constexpr std::uint64_t unmix(std::uint64_t x) noexcept {
  auto const unshift = [](std::uint64_t y, unsigned by) {
    auto z = y;
    for (unsigned done = by; done < 64; done += by) z = y ^ (z >> by);
    return z;
  };
  auto const inverse = [](std::uint64_t factor) {
    auto y = factor;  // right in its three lowest bits; every step of Newton's doubles them
    for (int i = 0; i < 5; ++i) y *= 2 - factor * y;
    return y;
  };
  x = unshift(x, 31) * inverse(0x94d049bb133111ebULL);
  x = unshift(x, 27) * inverse(0xbf58476d1ce4e5b9ULL);
  return unshift(x, 30);
}

/// The key whose hash_key() is `hash`.
constexpr Key key_with_hash(std::uint64_t hash) noexcept {
  return unmix(hash) - 0x9e3779b97f4a7c15ULL;
}

}  // namespace prdist::test
