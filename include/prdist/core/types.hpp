// SPDX-License-Identifier: Apache-2.0
// The words every layer shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace prdist {

/// A feature id. All 64 bits count; no value is reserved.
using Key = std::uint64_t;

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<std::byte const>;

namespace detail {

/// Eight floats. The compiler lowers it to what the instruction set at hand has: one register or two.
using Vec8 = float __attribute__((vector_size(32)));

}  // namespace detail

template <class Value>
[[nodiscard]] ConstBytes bytes_of(std::span<Value const> values) noexcept {
  return std::as_bytes(values);
}

[[nodiscard]] inline std::string_view as_text(ConstBytes bytes) noexcept {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace prdist
