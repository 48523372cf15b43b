// SPDX-License-Identifier: Apache-2.0
// Times and numbers as people read them.
#pragma once

#include <chrono>
#include <cmath>

namespace ctr_dnn {

/// Seconds, from a beginning of its own.
[[nodiscard]] inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// As many digits as mean something.
[[nodiscard]] inline double rounded(double value, int digits) {
  auto const scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

}  // namespace ctr_dnn
