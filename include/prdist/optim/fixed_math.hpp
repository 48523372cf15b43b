// SPDX-License-Identifier: Apache-2.0
// Exponential, logarithm, power and cosine from additions, multiplications and divisions alone. The library's own
// differ in the last bit between machines (with and without fused operations, CPU and GPU); a schedule must not.
#pragma once

#include <bit>
#include <cstdint>

namespace prdist {

/// e to the power of x, to about 15 digits; 0 where a normal double is too large for the result.
[[nodiscard]] constexpr double fixed_exp(double x) noexcept {
  constexpr double log_of_2 = 0.693147180559945309417;
  if (x < -708) return 0;
  if (x > 709) x = 709;
  auto const turns = static_cast<std::int64_t>(x / log_of_2 + (x < 0 ? -0.5 : 0.5));
  double const rest = x - static_cast<double>(turns) * log_of_2;
  double sum = 1;
  for (int i = 14; i > 0; --i) sum = 1 + sum * rest / i;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(turns + 1023) << 52);
}

/// The natural logarithm of a normal x above 0, to about 15 digits.
[[nodiscard]] constexpr double fixed_log(double x) noexcept {
  constexpr double log_of_2 = 0.693147180559945309417, root_of_2 = 1.41421356237309504880;
  auto const bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  auto mantissa = std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1023} << 52);
  if (mantissa > root_of_2) {
    mantissa /= 2;
    ++exponent;
  }
  double const s = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int i = 21; i > 0; i -= 2) sum = sum * (s * s) + 1.0 / i;
  return 2 * s * sum + static_cast<double>(exponent) * log_of_2;
}

/// base to the power of y; base is 0, or normal and above 0.
[[nodiscard]] constexpr double fixed_power(double base, double y) noexcept {
  if (base == 0) return y == 0 ? 1 : 0;
  return fixed_exp(y * fixed_log(base));
}

/// The cosine of x half turns, x from 0 to 1.
[[nodiscard]] constexpr double fixed_cos_pi(double x) noexcept {
  constexpr double pi = 3.14159265358979323846;
  double const angle = pi * (0.5 - x);  // whose sine it is, at most a quarter turn
  double sum = 1;
  for (int i = 20; i > 0; i -= 2) sum = 1 - sum * angle * angle / (i * (i + 1));
  return angle * sum;
}

}  // namespace prdist
