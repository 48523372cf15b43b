// SPDX-License-Identifier: Apache-2.0
// The weights of a sparse row as floats, whatever the precision the row keeps them in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/half.hpp>
#include <prdist/table/row_layout.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// spec.dim floats from the row that begins at `row`.
inline void read_weights(SparseSpec const& spec, std::byte const* row, float* out) {
  if (spec.precision == Precision::fp32) {
    std::memcpy(out, row, spec.dim * sizeof(float));
  } else {
    half_codec(spec.precision).expand(reinterpret_cast<std::uint16_t const*>(row), out, spec.dim);
  }
}

/// The way back. Half-precision weights are rounded as training rounds them, the same way for a key every time.
inline void write_weights(SparseSpec const& spec, Key key, float const* weights, std::byte* row) {
  if (spec.precision == Precision::fp32) {
    std::memcpy(row, weights, spec.dim * sizeof(float));
  } else {
    std::memset(row, 0, RowLayout(spec).weight_bytes);
    half_codec(spec.precision).round(weights, reinterpret_cast<std::uint16_t*>(row), spec.dim, hash_key(key));
  }
}

}  // namespace prdist
