// SPDX-License-Identifier: Apache-2.0
// Floats as bf16 or fp16 and back. Rounding is stochastic: a number between two neighbours becomes the upper one with
// the probability of its distance from the lower, so the mean of many roundings is the number itself. The noise is a
// function of what is passed in, and all instruction sets give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <prdist/core/types.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/table/row_policy.hpp>

namespace prdist {

namespace detail {

using Bits8 = std::uint32_t __attribute__((vector_size(32)));
using Half8 = std::uint16_t __attribute__((vector_size(16)));

/// 32 random bits for each of elements [i, i + 8).
[[gnu::always_inline]] inline void draw(Bits8& x, std::uint64_t noise, std::size_t i) {
  Bits8 const element = Bits8{0, 1, 2, 3, 4, 5, 6, 7} + static_cast<std::uint32_t>(i);
  x = element * 0x9e3779b9U + static_cast<std::uint32_t>(noise);
  x ^= x >> 16;
  x *= 0x21f0aaadU;
  x ^= (x >> 15) ^ static_cast<std::uint32_t>(noise >> 32);
  x *= 0xd35a2d97U;
  x ^= x >> 15;
}

struct Bf16 {
  [[gnu::always_inline]] static void expand(Bits8& x) { x <<= 16; }

  [[gnu::always_inline]] static void round(Bits8& x, Bits8 const& random) {
    Bits8 const magnitude = x & 0x7fffffffU;
    Bits8 const up = x + (random >> 16);
    // A finite number must not round to infinity, nor a NaN to one.
    Bits8 const finite = (up & 0x7f800000U) == 0x7f800000U ? x : up;
    Bits8 const special = magnitude > 0x7f800000U ? x | 0x400000U : x;
    x = (magnitude >= 0x7f800000U ? special : finite) >> 16;
  }
};

struct Fp16 {
  [[gnu::always_inline]] static void expand(Bits8& x) {
    Bits8 const sign = (x & 0x8000U) << 16;
    Bits8 const magnitude = (x & 0x7fffU) << 13;
    // Moved to the other exponent's bias by a multiplication, which is exact and right for subnormals too.
    Vec8 value;
    std::memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112F;
    Bits8 bits;
    std::memcpy(&bits, &value, sizeof bits);
    x = sign | (magnitude >= 0x0f800000U ? magnitude | 0x7f800000U : bits);
  }

  [[gnu::always_inline]] static void round(Bits8& x, Bits8 const& random) {
    Bits8 const sign = (x >> 16) & 0x8000U;
    Bits8 const magnitude = x & 0x7fffffffU;
    Bits8 const noise = random >> 19;
    // Below 2^-14 the distance of neighbours is 2^-24 throughout: count in parts of it.
    Bits8 const small = magnitude < 0x38800000U ? magnitude : magnitude & 0;
    Vec8 value;
    std::memcpy(&value, &small, sizeof value);
    value *= 0x1p37F;
    Bits8 const subnormal = (__builtin_convertvector(value, Bits8) + noise) >> 13;
    Bits8 const normal = (magnitude - 0x38000000U + noise) >> 13;
    Bits8 const largest = (magnitude & 0) + 0x7bffU;
    // A finite number stays finite.
    Bits8 const bounded = magnitude >= 0x47800000U ? largest : normal >= 0x7c00U ? largest : normal;
    Bits8 const special = magnitude > 0x7f800000U ? largest + 0x201U : largest + 1;
    Bits8 const large = magnitude >= 0x7f800000U ? special : bounded;
    x = sign | (magnitude < 0x38800000U ? subnormal : large);
  }
};

/// Calls `block(i, n)` for eights of [0, count), the last perhaps shorter.
template <class Block>
[[gnu::always_inline]] inline void in_eights(std::size_t count, Block&& block) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) block(i, std::size_t{8});
  if (i < count) block(i, count - i);
}

template <class Format>
[[gnu::always_inline]] inline void expand(std::uint16_t const* in, float* out, std::size_t count) {
  in_eights(
      count, [&](std::size_t i, std::size_t n) __attribute__((always_inline)) {
        Half8 packed{};
        std::memcpy(&packed, in + i, n * sizeof *in);
        Bits8 bits = __builtin_convertvector(packed, Bits8);
        Format::expand(bits);
        std::memcpy(out + i, &bits, n * sizeof *out);
      });
}

template <class Format>
[[gnu::always_inline]] inline void round(float const* in, std::uint16_t* out, std::size_t count, std::uint64_t noise) {
  in_eights(
      count, [&](std::size_t i, std::size_t n) __attribute__((always_inline)) {
        Bits8 bits{}, random;
        std::memcpy(&bits, in + i, n * sizeof *in);
        draw(random, noise, i);
        Format::round(bits, random);
        Half8 const packed = __builtin_convertvector(bits, Half8);
        std::memcpy(out + i, &packed, n * sizeof *out);
      });
}

template <class Format>
void expand_baseline(std::uint16_t const* in, float* out, std::size_t count) {
  expand<Format>(in, out, count);
}
template <class Format>
void round_baseline(float const* in, std::uint16_t* out, std::size_t count, std::uint64_t noise) {
  round<Format>(in, out, count, noise);
}

#if defined(__x86_64__)
template <class Format>
__attribute__((target("avx2"))) void expand_avx2(std::uint16_t const* in, float* out, std::size_t count) {
  expand<Format>(in, out, count);
}
template <class Format>
__attribute__((target("avx2"))) void round_avx2(float const* in, std::uint16_t* out, std::size_t count,
                                                std::uint64_t noise) {
  round<Format>(in, out, count, noise);
}
#endif

}  // namespace detail

/// Both directions for `count` numbers. Rounding with the same noise gives the same bytes.
struct HalfCodec {
  void (*expand)(std::uint16_t const* in, float* out, std::size_t count);
  void (*round)(float const* in, std::uint16_t* out, std::size_t count, std::uint64_t noise);
};

/// Of bf16 or fp16.
[[nodiscard]] inline HalfCodec half_codec(Precision precision, InstructionSet set = instruction_set()) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx2) {
    if (precision == Precision::bf16) return {&detail::expand_avx2<detail::Bf16>, &detail::round_avx2<detail::Bf16>};
    return {&detail::expand_avx2<detail::Fp16>, &detail::round_avx2<detail::Fp16>};
  }
#endif
  (void)set;
  if (precision == Precision::bf16) {
    return {&detail::expand_baseline<detail::Bf16>, &detail::round_baseline<detail::Bf16>};
  }
  return {&detail::expand_baseline<detail::Fp16>, &detail::round_baseline<detail::Fp16>};
}

}  // namespace prdist
