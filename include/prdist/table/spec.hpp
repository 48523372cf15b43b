// SPDX-License-Identifier: Apache-2.0
// A table as the program declares it, once. Servers take the declaration from the first trainer and refuse a
// different one by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/types.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/row_policy.hpp>

namespace prdist {

/// The server half of a strategy: what a push does to a row.
enum class ApplyRule : std::uint8_t {
  immediate,  ///< applied when it arrives (async)
  gather,     ///< kept until every trainer's push of the step is there, then applied once (sync)
};

[[nodiscard]] constexpr std::string_view name_of(ApplyRule rule) noexcept {
  return rule == ApplyRule::gather ? "gather" : "immediate";
}

/// A named stretch of a dense table, such as one layer's weights.
struct DensePart {
  std::string name{};
  std::size_t size = 0;
  Initializer init{};

  friend bool operator==(DensePart const&, DensePart const&) = default;
};

struct SparseSpec {
  std::string name{};
  std::size_t dim = 0;
  Optimizer optimizer = Sgd{};
  Initializer init{};
  ApplyRule apply = ApplyRule::immediate;
  std::uint64_t seed = 0;
  Precision precision = Precision::fp32;
  Admission admission{};
  Statistics statistics{};
  Eviction eviction = Eviction::none;

  friend bool operator==(SparseSpec const&, SparseSpec const&) = default;
};

struct DenseSpec {
  std::string name{};
  std::vector<DensePart> parts{};
  Optimizer optimizer = Sgd{};
  ApplyRule apply = ApplyRule::immediate;
  std::uint64_t seed = 0;

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (auto const& part : parts) sum += part.size;
    return sum;
  }

  friend bool operator==(DenseSpec const&, DenseSpec const&) = default;
};

}  // namespace prdist
