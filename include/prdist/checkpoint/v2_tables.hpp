// SPDX-License-Identifier: Apache-2.0
// A pass of Paddle v2 as a checkpoint, and back: weights alone, since v2 saves no more. An embedding is a matrix there,
// with a row for every id from 0 on; here its rows are keys of a sparse table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/checkpoint/dense_values.hpp>
#include <prdist/checkpoint/paddle_import.hpp>
#include <prdist/checkpoint/paddle_v2.hpp>
#include <prdist/checkpoint/paddle_variables.hpp>
#include <prdist/checkpoint/part_writer.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/checkpoint/row_weights.hpp>
#include <prdist/checkpoint/shard_blocks.hpp>
#include <prdist/core/error.hpp>
#include <prdist/table/row_layout.hpp>

namespace prdist {

struct V2Import {
  struct Sparse {
    std::string parameter{};  ///< a matrix of ids x dim
    SparseSpec spec{};
  };
  std::vector<Sparse> sparse{};
  std::optional<DenseSpec> dense{};
  std::vector<PaddleVariable> variables{};  ///< names are those of parameters; their order does not matter
  std::string created{};
};

namespace detail {

/// A parameter of `folder` with so many values; 0 for any.
[[nodiscard]] inline V2Parameter v2_parameter(std::string const& folder, std::string const& name, std::size_t size) {
  auto const path = concat(folder, '/', name);
  std::error_code failed;
  if (name.empty() || name.find('/') != name.npos || !std::filesystem::is_regular_file(path, failed)) {
    std::string there;
    for (auto const& each : names_in(folder)) {
      if (each != "done") there += concat(there.empty() ? "" : ", ", each);
    }
    throw Error(Errc::checkpoint_missing, folder, ", has no parameter '", name, "': it has ", there);
  }
  auto parameter = read_v2_parameter(path);
  if (!parameter.indices.empty() || parameter.format != 0) {
    throw Error(Errc::config_contradiction, path, ", is kept ",
                parameter.format != 0 ? "in MKL-DNN's order" : "as a sparse matrix",
                ", which cannot be imported: save it with Paddle's own layout");
  }
  if (size != 0 && parameter.values.size() != size) {
    throw Error(Errc::config_contradiction, path, ", has ", parameter.values.size(), " values and should have ", size,
                ": check the shape given for it");
  }
  return parameter;
}

inline void import_v2_rows(PartWriter& writer, std::string const& folder, V2Import::Sparse const& table) {
  auto const& spec = table.spec;
  auto const values = v2_parameter(folder, table.parameter, 0).values;
  if (values.empty() || values.size() % spec.dim != 0) {
    throw Error(Errc::config_contradiction, folder, '/', table.parameter, ", has ", values.size(),
                " values, which are no rows of ", spec.dim, ": check the dimension");
  }
  // A row of Paddle without state is just its weights.
  FromPaddle convert(spec, PaddleRule::naive, true);
  ShardBlocks blocks(writer, spec.name, convert.row_bytes());
  PaddleRow row;
  for (std::size_t i = 0; i < values.size(); i += spec.dim) {
    row.key = i / spec.dim;
    row.embed_w = values[i];
    row.embedx_w.assign(values.begin() + static_cast<std::ptrdiff_t>(i + 1),
                        values.begin() + static_cast<std::ptrdiff_t>(i + spec.dim));
    convert.convert(row, blocks.add(row.key));
  }
  blocks.finish();
}

}  // namespace detail

/// Writes `directory`/pass-00000 from a pass of v2. Blocks; holds one parameter in memory at a time, and all of the
/// dense table. @throws Error checkpoint.*, config.*; and when `directory` has checkpoints
inline Checkpoint import_v2(std::string const& folder, V2Import const& from, std::string const& directory) {
  std::error_code failed;
  if (!std::filesystem::exists(concat(folder, "/done"), failed)) {
    throw Error(Errc::checkpoint_missing, folder,
                ", has no file 'done', so the pass was not saved to its end: load another one");
  }
  if (auto const passes = passes_in(directory); !passes.empty()) {
    throw Error(Errc::checkpoint_file, directory, ", has checkpoints up to ", pass_name(passes.back()),
                ", and what is imported is to be the first: give another folder");
  }
  PendingCheckpoint pending(directory, 0, "import");
  PartWriter writer(pending.path(), 0);
  Manifest manifest{.created = from.created, .strategy = "paddle-v2", .servers = 1};
  for (auto const& table : from.sparse) {
    check(AnySpec(table.spec)).value();
    detail::import_v2_rows(writer, folder, table);
    manifest.tables.push_back({.spec = table.spec});
  }
  if (from.dense) {
    check(AnySpec(*from.dense)).value();
    auto const places = places_of_parts(*from.dense, from.variables);
    std::vector<float> weights(from.dense->size());
    for (auto const& it : from.variables) {
      if (it.part.empty()) continue;
      auto const values = detail::v2_parameter(folder, it.name, it.size()).values;
      std::ranges::copy(to_part(it, values, DenseColumn::weight),
                        weights.begin() + static_cast<std::ptrdiff_t>(places.at(it.part)));
    }
    write_dense(writer, *from.dense, new_dense(*from.dense, std::move(weights)));
    manifest.tables.push_back({.spec = *from.dense});
  }
  add_part(manifest, writer.close());
  return pending.commit(std::move(manifest));
}

struct V2Export {
  /// Parameter of each sparse table, by the table's name; without one, that name.
  std::map<std::string, std::string> parameters{};
  /// Rows of an embedding, as the v2 configuration has them; 0: up to the largest key.
  std::uint64_t rows = 0;
  /// Names of parts of the dense table; one that is in none is a parameter of the part's name.
  std::vector<PaddleVariable> variables{};
};

/// Writes `folder` as a pass of v2: the weights. Ids without a row are zeros. Holds all of it in memory, as v2 does.
/// @throws Error checkpoint.*; config.* when a key is beyond the rows, or there would be more than 2^30 numbers
inline void export_v2(std::span<Checkpoint const> chain, std::string const& folder, V2Export const& to) {
  if (chain.empty())
    throw Error(Errc::checkpoint_missing, folder, ", there is no checkpoint to export: save one first");
  constexpr std::uint64_t most_numbers = std::uint64_t{1} << 30;
  ChainReader const rows(chain);
  std::map<std::string, V2Parameter> out;
  auto const sparse = [&](SparseSpec const& spec) {
    auto const named = to.parameters.find(spec.name);
    auto& values = out[named == to.parameters.end() ? spec.name : named->second].values;
    auto const most = to.rows != 0 ? to.rows : most_numbers / spec.dim;
    if (to.rows > most_numbers / spec.dim) {
      throw Error(Errc::config_invalid, to.rows, " rows of ", spec.dim, " are more than 2^30 numbers: give fewer");
    }
    values.resize(static_cast<std::size_t>(to.rows * spec.dim));
    auto const id = table_id(spec.name);
    rows.for_each([id](TableId each, std::uint32_t) { return each == id; },
                  [&](RowBlock const& block) {
                    check_shape(spec.name, block, RowLayout(spec).bytes());
                    for (std::size_t i = 0; i < block.keys.size(); ++i) {
                      auto const key = block.keys[i];
                      if (key >= most) {
                        throw Error(Errc::config_contradiction, "table '", spec.name, "', key ", key, " is beyond the ",
                                    most, to.rows != 0 ? " rows" : " rows that fit into 2^30 numbers",
                                    ": v2 has a row for every id from 0 on, so ids must be small");
                      }
                      auto const at = static_cast<std::size_t>(key * spec.dim);
                      if (values.size() < at + spec.dim) values.resize(at + spec.dim);
                      read_weights(spec, block.rows.data() + i * block.row_bytes, values.data() + at);
                    }
                  });
  };
  auto const dense = [&](DenseSpec const& spec) {
    auto const weights = read_dense(rows, spec).columns[0];
    std::size_t at = 0;
    for (auto const& part : spec.parts) {
      auto const values = std::span(weights).subspan(at, part.size);
      auto const it = std::ranges::find(to.variables, part.name, &PaddleVariable::part);
      if (it != to.variables.end() && it->part_size() != part.size) {
        throw Error(Errc::config_contradiction, "part '", part.name, "' has ", part.size, " numbers and '", it->name,
                    "' makes ", it->part_size(), ": check the shape given for it");
      }
      if (it == to.variables.end()) {
        out[part.name].values.assign(values.begin(), values.end());
      } else {
        out[it->name].values = from_part(*it, values, DenseColumn::weight);
      }
      at += part.size;
    }
  };
  for (auto const& table : chain.back().manifest.tables) {
    if (auto const* const spec = std::get_if<SparseSpec>(&table.spec)) sparse(*spec);
    if (auto const* const spec = std::get_if<DenseSpec>(&table.spec)) dense(*spec);
  }
  write_v2_pass(folder, out);
}

}  // namespace prdist
