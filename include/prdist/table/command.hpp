// SPDX-License-Identifier: Apache-2.0
// Everything that changes a shard, as values: a log, a replica or a replay sees these and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// A table's number on the wire: the low half of hash_name() of its name, so that no one has to hand numbers out.
using TableId = std::uint32_t;

[[nodiscard]] inline TableId table_id(std::string_view name) noexcept {
  return static_cast<TableId>(hash_name(name));
}

/// Names the request a gathered push belongs to; apply() hands it back when the push has been applied.
using Ticket = std::uint64_t;

struct DeclareSparse {
  TableId table;
  SparseSpec spec;
};

struct DeclareDense {
  TableId table;
  DenseSpec spec;
  std::vector<std::uint32_t> ranges;  ///< those of this server
};

/// Gradients of rows. In a gather table `last` closes the trainer's part of the step, and `weight` (the examples
/// behind the gradients) decides its share.
struct PushRows {
  TableId table;
  std::uint32_t trainer;
  std::uint32_t weight;
  bool last;
  Ticket ticket;
  std::span<Key const> keys;
  std::span<float const> gradients;
  std::shared_ptr<void const> keep;        ///< owns what the spans show
  std::span<float const> show_click = {};  ///< shows and clicks of each key in turn; without, each was shown once
};

/// Gradients of the dense ranges at [first, first + count) in the server's list of the table's ranges.
struct PushDense {
  TableId table;
  std::uint32_t trainer;
  std::uint32_t weight;
  bool last;
  Ticket ticket;
  std::size_t first;
  std::size_t count;
  std::span<float const> gradients;
  std::shared_ptr<void const> keep;
};

/// Overwrites the weights of dense ranges; the optimizer's state starts anew.
struct AssignDense {
  TableId table;
  std::size_t first;
  std::size_t count;
  std::span<float const> weights;
  std::shared_ptr<void const> keep;
};

/// The trainer has no more gradients to give: steps no longer wait for it.
struct Leave {
  std::uint32_t trainer;
};

/// A new day, by the caller's count: shows and clicks decay, and rows go whose score is too small or that were not
/// pushed for too many days, as the table's statistics say. Begins the pass over the rows; advance_shrink() does it.
struct Shrink {
  TableId table;
  std::uint32_t day;
};

/// The trainer has heard of every change of an adding table up to `change`: the record of them may go.
struct Heard {
  TableId table;
  std::uint32_t trainer;
  std::uint64_t change;
};

using Command = std::variant<DeclareSparse, DeclareDense, PushRows, PushDense, AssignDense, Leave, Shrink, Heard>;

}  // namespace prdist
