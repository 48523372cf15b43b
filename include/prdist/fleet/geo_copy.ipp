// SPDX-License-Identifier: Apache-2.0
// Definitions of fleet/geo_copy.hpp: what goes into a checkpoint and comes back.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/checkpoint/part_writer.hpp>
#include <prdist/core/error.hpp>
#include <prdist/fleet/geo_copy.hpp>

namespace prdist {

namespace detail {

inline constexpr std::size_t keys_per_block = 4096;

inline void check_state(PartReader const& from, std::string_view table, RowBlock const& block, std::size_t floats) {
  if (block.row_bytes == floats * sizeof(float)) return;
  throw Error(Errc::table_mismatch, "table '", table, "': its optimizer keeps ", floats * sizeof(float),
              " bytes of a row, in ", from.path(), " they are ", block.row_bytes,
              ": run the program with the options it was saved with");
}

}  // namespace detail

PRDIST_DECL void GeoCopy::save(PartWriter& to) {
  std::lock_guard const lock(mutex_);
  RowBlock block;
  auto const add = [&](Key key, std::span<float const> state) {
    auto const bytes = std::as_bytes(state);
    block.keys.push_back(key);
    block.rows.insert(block.rows.end(), bytes.begin(), bytes.end());
  };
  auto const send = [&] {
    to.write(block);
    block.keys.clear();
    block.rows.clear();
  };
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    block.table = tables_.sparse[t].id;
    block.row_bytes = rows_[t].state_floats() * sizeof(float);
    if (block.row_bytes == 0) continue;
    for (auto const key : rows_[t].keys()) {
      add(key, rows_[t].state_of(key));
      if (block.keys.size() == detail::keys_per_block) send();
    }
    send();
  }
  if (!dense_) return;
  dense_->for_each_state([&](std::size_t range, std::span<float const> state) {
    block.table = tables_.dense->id;
    block.row_bytes = state.size_bytes();
    if (state.empty()) return;
    add(range, state);
    send();
  });
}

PRDIST_DECL void GeoCopy::load(PartReader const& from) {
  std::lock_guard const lock(mutex_);
  bool const first = !dense_;
  RowBlock block;
  for (auto const& entry : from.blocks()) {
    from.read(entry, block);
    std::vector<float> states(block.rows.size() / sizeof(float));
    if (!states.empty()) std::memcpy(states.data(), block.rows.data(), states.size() * sizeof(float));
    if (tables_.dense && block.table == tables_.dense->id) {
      if (first) restore_dense(from, block, states);
      continue;
    }
    auto const table = std::ranges::find(tables_.sparse, block.table, &SparseRef::id);
    if (table != tables_.sparse.end()) {
      restore(static_cast<std::size_t>(table - tables_.sparse.begin()), from, block, states);
    }
  }
}

PRDIST_DECL void GeoCopy::restore(std::size_t t, PartReader const& from, RowBlock const& block,
                                  std::span<float const> states) {
  auto& rows = rows_[t];
  auto const floats = rows.state_floats();
  detail::check_state(from, tables_.sparse[t].name, block, floats);
  auto const missing = rows.those(block.keys, false);
  rows.insert(missing, pull(t, missing));
  std::size_t next = 0;  // of the missing ones, which stand in the order of the block
  for (std::size_t i = 0; i < block.keys.size() && next < missing.size(); ++i) {
    if (block.keys[i] != missing[next]) continue;
    std::ranges::copy(states.subspan(i * floats, floats), rows.state_of(missing[next++]).begin());
  }
}

PRDIST_DECL void GeoCopy::restore_dense(PartReader const& from, RowBlock const& block, std::span<float const> states) {
  if (!dense_) dense_.emplace(dense_rule_, pull_dense());
  dense_->for_each_state([&](std::size_t range, std::span<float> state) {
    if (block.keys.size() != 1 || block.keys.front() != range) return;
    detail::check_state(from, "dense", block, state.size());
    std::ranges::copy(states, state.begin());
  });
}

}  // namespace prdist
