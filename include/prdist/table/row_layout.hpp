// SPDX-License-Identifier: Apache-2.0
// Where the parts of a sparse table's row lie: weights in their precision, the optimizer's state in floats, statistics
// when they are kept. A row of floats without statistics is what the kernels work on, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <prdist/optim/optimizer.hpp>
#include <prdist/table/row_policy.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// Of one row.
struct RowStatistics {
  float show = 0;
  float click = 0;
  float delta_score = 0;  ///< what its score has gained by pushes
  std::uint32_t day = 0;  ///< of its last push
};

[[nodiscard]] inline float score_of(Statistics const& policy, float show, float click) noexcept {
  return (show - click) * policy.nonclick_weight + click * policy.click_weight;
}

struct RowLayout {
  explicit RowLayout(SparseSpec const& spec)
      : weight_bytes(spec.precision == Precision::fp32 ? spec.dim * sizeof(float)
                                                       : (spec.dim * sizeof(std::uint16_t) + 3) / 4 * 4),
        state_bytes((row_floats(spec.optimizer, spec.dim) - spec.dim) * sizeof(float)),
        statistics_bytes(spec.statistics.kept ? sizeof(RowStatistics) : 0) {}

  std::size_t weight_bytes;
  std::size_t state_bytes;
  std::size_t statistics_bytes;

  [[nodiscard]] std::size_t bytes() const noexcept { return weight_bytes + state_bytes + statistics_bytes; }

  [[nodiscard]] std::byte* state(float* row) const noexcept { return reinterpret_cast<std::byte*>(row) + weight_bytes; }

  [[nodiscard]] RowStatistics statistics(float const* row) const noexcept {
    RowStatistics found;
    std::memcpy(&found, reinterpret_cast<std::byte const*>(row) + weight_bytes + state_bytes, sizeof found);
    return found;
  }
  void set_statistics(float* row, RowStatistics const& found) const noexcept {
    std::memcpy(state(row) + state_bytes, &found, sizeof found);
  }
};

/// The weights of a row of floats, for a pull.
inline void copy_weights(float* out, float const* row, std::size_t bytes) noexcept {
  switch (bytes) {  // constants become a few moves; the library call costs as much as the row
    case 32: std::memcpy(out, row, 32); break;
    case 36: std::memcpy(out, row, 36); break;
    case 64: std::memcpy(out, row, 64); break;
    case 128: std::memcpy(out, row, 128); break;
    default: std::memcpy(out, row, bytes);
  }
}

}  // namespace prdist
