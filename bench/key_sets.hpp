// SPDX-License-Identifier: Apache-2.0
// Random keys of a table of a million rows, the same ones for every contestant.
#pragma once

#include <prdist/core/types.hpp>

#include <cstddef>
#include <vector>

#include "support.hpp"

namespace bench {

inline constexpr std::size_t table_rows = 1'000'000;
inline constexpr std::size_t request_keys = 100'000;
inline constexpr std::size_t row_dim = 16;

/// Keys as they come out of a hash of feature values: spread over 64 bits.
[[nodiscard]] inline prdist::Key key_of_row(std::size_t row) {
  return (static_cast<prdist::Key>(row) + 1) * 0x9e3779b97f4a7c15ULL;
}

/// The gradient of element `i` of a key: a small whole number, so that sums of a few are exact.
[[nodiscard]] inline float gradient_of(prdist::Key key, std::size_t i) {
  return static_cast<float>((key >> 40) % 64 + i);
}

[[nodiscard]] inline std::vector<float> gradients_of(std::vector<prdist::Key> const& keys) {
  std::vector<float> gradients;
  gradients.reserve(keys.size() * row_dim);
  for (auto const key : keys) {
    for (std::size_t i = 0; i < row_dim; ++i) gradients.push_back(gradient_of(key, i));
  }
  return gradients;
}

struct Request {
  std::vector<prdist::Key> keys;
  std::vector<float> gradients;
};

/// Requests taken in turn, so that each meets rows that its predecessors left in no cache.
[[nodiscard]] inline std::vector<Request> random_requests(std::size_t count = 16) {
  ankerl::nanobench::Rng random(123);
  std::vector<Request> requests(count);
  for (auto& [keys, gradients] : requests) {
    for (std::size_t i = 0; i < request_keys; ++i) keys.push_back(key_of_row(random.bounded(table_rows)));
    gradients = gradients_of(keys);
  }
  return requests;
}

[[nodiscard]] inline std::vector<prdist::Key> all_keys() {
  std::vector<prdist::Key> keys;
  for (std::size_t row = 0; row < table_rows; ++row) keys.push_back(key_of_row(row));
  return keys;
}

}  // namespace bench
