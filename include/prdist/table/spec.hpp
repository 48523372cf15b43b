// SPDX-License-Identifier: Apache-2.0
// A table as the program declares it, once. Servers take the declaration from the first trainer and refuse a
// different one by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/core/types.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/row_policy.hpp>

namespace prdist {

/// The server half of a strategy: what a push does to a row.
enum class ApplyRule : std::uint8_t {
  immediate,  ///< applied when it arrives (async)
  gather,     ///< kept until every trainer's push of the step is there, then applied once (sync)
  add,        ///< added as it comes: a push is a difference of weights, and who pulls hears which rows changed (geo)
};

[[nodiscard]] constexpr std::string_view name_of(ApplyRule rule) noexcept {
  switch (rule) {
    case ApplyRule::gather: return "gather";
    case ApplyRule::add: return "add";
    default: return "immediate";
  }
}

/// What a server does with a push that is too stale.
enum class Stale : std::uint8_t {
  drop,    ///< acknowledged and forgotten
  refuse,  ///< answered with job.stale
};

[[nodiscard]] constexpr std::string_view name_of(Stale choice) noexcept {
  return choice == Stale::refuse ? "refuse" : "drop";
}

/// How many other pushes a server may have applied between a pull and the push made from it. Each frame of a push is
/// judged by each server on its own.
struct StalenessBound {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t most = none;
  Stale beyond = Stale::drop;

  friend bool operator==(StalenessBound const&, StalenessBound const&) = default;
};

/// The rule with which a table that adds is declared: w -= -1 * difference.
inline constexpr Sgd adding{.rate = -1};

/// A named stretch of a dense table, such as one layer's weights.
struct DensePart {
  std::string name{};
  std::size_t size = 0;
  Initializer init{};
  /// Of the array that an exported model has, in C order: {fan_in, fan_out} of a layer. Nothing is computed by it.
  /// Empty: {size}.
  std::vector<std::size_t> shape{};

  [[nodiscard]] std::vector<std::size_t> extents() const { return shape.empty() ? std::vector{size} : shape; }

  friend bool operator==(DensePart const&, DensePart const&) = default;
};

/// `247x400`
[[nodiscard]] inline std::string shape_text(std::span<std::size_t const> shape) {
  std::string text;
  for (auto const extent : shape) text += concat(text.empty() ? "" : "x", extent);
  return text;
}

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
  StalenessBound staleness{};
  std::optional<Optimizer> learned_by{};  ///< of a table that adds: the rule of the trainers, for all to have the same

  friend bool operator==(SparseSpec const&, SparseSpec const&) = default;
};

struct DenseSpec {
  std::string name{};
  std::vector<DensePart> parts{};
  Optimizer optimizer = Sgd{};
  ApplyRule apply = ApplyRule::immediate;
  std::uint64_t seed = 0;
  StalenessBound staleness{};
  std::optional<Optimizer> learned_by{};  ///< as a sparse table's

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (auto const& part : parts) sum += part.size;
    return sum;
  }

  friend bool operator==(DenseSpec const&, DenseSpec const&) = default;
};

}  // namespace prdist
