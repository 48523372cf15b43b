// SPDX-License-Identifier: Apache-2.0
// Whether gradients are numbers: one that is not would stay in its row, and in every checkpoint of it, for ever.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

#include <prdist/core/types.hpp>
#include <prdist/optim/kernel.hpp>

namespace prdist {

namespace detail {

/// Of all values, in an order of its own: for whether it is finite, and nothing else.
[[gnu::always_inline]] inline float any_sum(std::span<float const> values) noexcept {
  constexpr std::size_t lanes = sizeof(Vec8) / sizeof(float);
  // Four of them, so that no addition waits for the one before it; by name, so that they stay in registers.
  Vec8 a{}, b{}, c{}, d{}, each;
  auto const* at = values.data();
  auto const add = [&](Vec8 & to) __attribute__((always_inline)) {
    std::memcpy(&each, at, sizeof each);
    to += each;
    at += lanes;
  };
  auto left = values.size();
  for (; left >= 4 * lanes; left -= 4 * lanes) {
    add(a);
    add(b);
    add(c);
    add(d);
  }
  a += b + c + d;
  float sum = 0;
  for (std::size_t k = 0; k < lanes; ++k) sum += a[k];
  for (; left > 0; --left) sum += *at++;
  return sum;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] inline float any_sum_avx2(std::span<float const> values) noexcept {
  return any_sum(values);
}
#endif

}  // namespace detail

/// Where the first number stands that is infinite or none at all; values.size() when all are finite.
[[nodiscard]] inline std::size_t first_not_finite(std::span<float const> values) noexcept {
  // Their sum is finite, unless one of them is not or they are so large that it overflows: then, and only then, each
  // is looked at. An addition for eight numbers costs less than any test of each.
#if defined(__x86_64__)
  auto const sum = instruction_set() == InstructionSet::avx2 ? detail::any_sum_avx2(values) : detail::any_sum(values);
#else
  auto const sum = detail::any_sum(values);
#endif
  if (std::isfinite(sum)) return values.size();
  auto const wrong = std::find_if(values.begin(), values.end(), [](float each) { return !std::isfinite(each); });
  return static_cast<std::size_t>(wrong - values.begin());
}

}  // namespace prdist
