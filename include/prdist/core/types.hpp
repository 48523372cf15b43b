// SPDX-License-Identifier: Apache-2.0
// The words every layer shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace prdist {

/// A feature id. All 64 bits count; no value is reserved.
using Key = std::uint64_t;

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<std::byte const>;

template <class Value>
[[nodiscard]] ConstBytes bytes_of(std::span<Value const> values) noexcept {
  return std::as_bytes(values);
}

}  // namespace prdist
