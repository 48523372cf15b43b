// SPDX-License-Identifier: Apache-2.0
// A dense table out of a checkpoint's ranges, and into them: every element's weight and state in columns, whatever the
// ranges that servers cut it into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/part_writer.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/row_block.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

struct DenseValues {
  std::vector<std::vector<float>> columns{};  ///< weights, then each number of state that every element has
  std::vector<float> shared{};                ///< what a range keeps once, such as powers of betas: of the first range
};

namespace detail {

[[nodiscard]] inline std::size_t dense_columns(DenseSpec const& spec) {
  return std::visit([](auto const& rule) { return 1 + rule.state_per_element; }, spec.optimizer.rule);
}

}  // namespace detail

/// All of the table. @throws Error checkpoint.damaged when a range is missing; table.mismatch when rows are too short
[[nodiscard]] inline DenseValues read_dense(ChainReader const& rows, DenseSpec const& spec) {
  DenseValues values;
  auto const size = spec.size();
  values.columns.assign(detail::dense_columns(spec), std::vector<float>(size));
  std::vector<bool> there(range_count(size));
  auto const id = table_id(spec.name);
  rows.for_each([id](TableId each, std::uint32_t) { return each == id; },
                [&](RowBlock const& block) {
                  for (std::size_t i = 0; i < block.keys.size(); ++i) {
                    auto const range = block.keys[i];
                    if (range >= there.size()) {
                      throw Error(Errc::checkpoint_damaged, "table '", spec.name, "' has ", there.size(),
                                  " ranges, and the checkpoint a row for range ", range, ": load an older checkpoint");
                    }
                    auto const length = range_length(size, range);
                    auto const floats = row_floats(spec.optimizer, length);
                    if (block.row_bytes < floats * sizeof(float)) {
                      throw Error(Errc::table_mismatch, "table '", spec.name, "', range ", range, " has ",
                                  block.row_bytes, " bytes and takes ", floats * sizeof(float),
                                  ": the checkpoint does not fit its manifest");
                    }
                    auto const* from = block.rows.data() + i * block.row_bytes;
                    for (auto& column : values.columns) {
                      std::memcpy(column.data() + range * range_floats, from, length * sizeof(float));
                      from += length * sizeof(float);
                    }
                    if (range == 0) {
                      values.shared.resize(floats - length * values.columns.size());
                      auto const bytes = std::as_writable_bytes(std::span(values.shared));
                      std::copy_n(from, bytes.size(), bytes.begin());
                    }
                    there[range] = true;
                  }
                });
  if (auto const gap = std::ranges::find(there, false); gap != there.end()) {
    throw Error(Errc::checkpoint_damaged, "table '", spec.name, "', range ", gap - there.begin(),
                " is in no part of the checkpoint: load an older checkpoint");
  }
  return values;
}

/// Writes the table; every range gets `shared`. @throws Error checkpoint.file; internal.error for other sizes
inline void write_dense(PartWriter& writer, DenseSpec const& spec, DenseValues const& values) {
  auto const size = spec.size();
  auto const fits = std::ranges::all_of(values.columns, [&](auto const& column) { return column.size() == size; });
  if (!fits || values.columns.size() != detail::dense_columns(spec) ||
      values.shared.size() != row_floats(spec.optimizer, 1) - values.columns.size()) {
    throw Error(Errc::internal, "table '", spec.name, "', ", values.columns.size(), " columns and ",
                values.shared.size(), " shared numbers: give those of ", name_of(spec.optimizer));
  }
  for (std::size_t range = 0; range < range_count(size); ++range) {
    auto const length = range_length(size, range);
    RowBlock block{.table = table_id(spec.name),
                   .shard = static_cast<std::uint32_t>(shard_of_range(hash_name(spec.name), range)),
                   .row_bytes = row_floats(spec.optimizer, length) * sizeof(float),
                   .keys = {range}};
    auto const add = [&](float const* from, std::size_t count) {
      auto const bytes = std::as_bytes(std::span(from, count));
      block.rows.insert(block.rows.end(), bytes.begin(), bytes.end());
    };
    for (auto const& column : values.columns) add(column.data() + range * range_floats, length);
    add(values.shared.data(), values.shared.size());
    writer.write(block);
  }
}

/// Weights with the state of a table that no gradient has reached yet. Rules whose range-wide state depends on more
/// than the rule do not exist.
[[nodiscard]] inline DenseValues new_dense(DenseSpec const& spec, std::vector<float> weights) {
  DenseValues values;
  auto const columns = detail::dense_columns(spec);
  std::vector<float> one(row_floats(spec.optimizer, 1));
  write_first_state(spec.optimizer, one.data(), 1);
  for (std::size_t c = 1; c < columns; ++c) values.columns.emplace_back(weights.size(), one[c]);
  values.shared.assign(one.begin() + static_cast<std::ptrdiff_t>(columns), one.end());
  values.columns.insert(values.columns.begin(), std::move(weights));
  return values;
}

}  // namespace prdist
