// SPDX-License-Identifier: Apache-2.0
// Tables that fleet.save_persistables of Paddle wrote, as a checkpoint that Fleet::load() and Checkpointer::resume()
// take, on any number of servers. Sparse rows stream through; the dense table is held in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <prdist/checkpoint/dense_values.hpp>
#include <prdist/checkpoint/from_paddle.hpp>
#include <prdist/checkpoint/paddle_dense.hpp>
#include <prdist/checkpoint/paddle_sparse.hpp>
#include <prdist/checkpoint/paddle_variables.hpp>
#include <prdist/checkpoint/part_writer.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/checkpoint/shard_blocks.hpp>
#include <prdist/core/error.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/shard_counters.hpp>

namespace prdist {

/// How far a conversion is: table, rows of it so far.
using ConversionProgress = std::function<void(std::string const& table, std::uint64_t rows)>;

struct PaddleImport {
  struct Sparse {
    std::string folder{};  ///< DIR/000
    SparseSpec spec{};     ///< as the job will declare it
    PaddleRule rule = PaddleRule::adam;
    bool weights_alone = false;
    std::uint32_t day = 0;  ///< today, by the count that the job gives to shrink()
  };
  struct Dense {
    std::string folder{};  ///< DIR/001
    DenseSpec spec{};
    std::vector<PaddleVariable> variables{};
    bool weights_alone = false;
    /// Steps of Adam, which Paddle does not save. Without it, those of the oldest sparse row.
    std::optional<std::uint64_t> steps{};
  };

  std::vector<Sparse> sparse{};
  std::vector<Dense> dense{};
  std::string created{};  ///< the time, for the manifest
};

struct Imported {
  Checkpoint checkpoint{};
  std::vector<std::string> notes{};  ///< what its user should know, a line each
};

/// embedx_dim of the table in `folder`, told by the fields of its first whole row. @throws Error as
/// read_paddle_sparse(); data.line when no dimension of this rule has as many fields
[[nodiscard]] inline std::size_t paddle_embedx_dim(std::string const& folder, PaddleRule rule) {
  auto const before = 7 + state_floats(rule, 1);
  LineReader lines;
  for (auto const& name : detail::names_in(folder)) {
    auto const parsed = detail::paddle_file_name(name);
    if (!parsed || !parsed->shard) continue;
    auto const path = concat(folder, '/', name);
    lines.open_file(path);
    for (Line line; lines.next(line);) {
      detail::PaddleFields fields(path, line);
      std::size_t count = 0;
      for (; fields.more(); ++count) (void)fields.next<double>();
      if (count == 0 || count == before) continue;
      for (std::size_t dim = 1; before + dim <= count; ++dim) {
        if (before + dim + state_floats(rule, dim) == count) return dim;
      }
      fields.fail(concat("has ", count, " fields, and rows of ", name_of(rule), " cannot"));
    }
  }
  throw Error(Errc::data_file, folder,
              ", has no row with embedx_w, which would show its dimension: check the path, or give the dimension");
}

namespace detail {

/// The values of the dense table, state included where both sides have Adam.
[[nodiscard]] inline DenseValues dense_from_paddle(PaddleImport::Dense const& from, std::uint64_t oldest,
                                                   std::vector<std::string>& notes) {
  auto const table = read_paddle_dense(from.folder);
  auto const variables = in_paddles_order(from.variables);
  auto const places = places_of_parts(from.spec, variables);
  std::size_t wanted = 0;
  for (auto const& it : variables) wanted += it.size();
  if (wanted != table.size()) {
    throw Error(Errc::data_file, from.folder, ", has ", table.size(), " elements and the ", variables.size(),
                " variables take ", wanted, ": name every dense variable of the program, with its shape");
  }
  auto const gather = [&](std::size_t index, DenseColumn kind) {
    auto const values = table.column(index);
    std::vector<float> out(from.spec.size());
    std::size_t at = 0;
    for (auto const& it : variables) {
      if (!it.part.empty()) {
        auto const part = to_part(it, std::span(values).subspan(at, it.size()), kind);
        std::ranges::copy(part, out.begin() + static_cast<std::ptrdiff_t>(places.at(it.part)));
      }
      at += it.size();
    }
    return out;
  };
  auto values = new_dense(from.spec, gather(0, DenseColumn::weight));
  auto const* const adam = std::get_if<Adam>(&from.spec.optimizer.rule);
  if (from.weights_alone || adam == nullptr || table.columns != 3) {
    if (values.columns.size() > 1) {
      notes.push_back(concat("table '", from.spec.name, "': weights alone, the state of ", name_of(from.spec.optimizer),
                             " starts anew"));
    }
    return values;
  }
  auto const steps = from.steps.value_or(oldest == 0 ? BetaPowers::most : oldest);
  values.columns[1] = gather(1, DenseColumn::first_moment);
  values.columns[2] = gather(2, DenseColumn::second_moment);
  values.shared[0] = BetaPowers(adam->beta1)(steps);
  values.shared[1] = BetaPowers(adam->beta2)(steps);
  if (!from.steps) {
    notes.push_back(
        concat("table '", from.spec.name, "': Paddle does not save how many steps its Adam took; ",
               oldest == 0 ? std::string("many are assumed") : concat(oldest, " are assumed, those of the oldest row"),
               " (--steps N says it)"));
  }
  if (std::ranges::any_of(variables, [](auto const& it) { return it.form == PaddleVariable::Form::two_classes; })) {
    notes.push_back(concat("table '", from.spec.name,
                           "': two classes became one logit, whose weights Adam moves half as far in a step"));
  }
  return values;
}

}  // namespace detail

/// Writes `directory`/pass-00000 from Paddle's tables: weights and state, no places in data. `step` of the manifest is
/// that of the oldest row. Blocks; memory is bounded but for dense tables.
/// @throws Error data.* for Paddle's files, config.* for what does not fit, checkpoint.file; and when `directory` has
/// checkpoints
inline Imported import_paddle(PaddleImport const& from, std::string const& directory,
                              ConversionProgress const& progress = {}) {
  if (auto const passes = passes_in(directory); !passes.empty()) {
    throw Error(Errc::checkpoint_file, directory, ", has checkpoints up to ", pass_name(passes.back()),
                ", and what is imported is to be the first: give another folder");
  }
  Imported result;
  PendingCheckpoint pending(directory, 0, "import");
  PartWriter writer(pending.path(), 0);
  Manifest manifest{.created = from.created, .strategy = "paddle", .servers = 1};
  std::uint64_t oldest = 0;
  for (auto const& table : from.sparse) {
    check(AnySpec(table.spec)).value();
    FromPaddle rows(table.spec, table.rule, table.weights_alone, table.day);
    ShardBlocks blocks(writer, table.spec.name, rows.row_bytes());
    read_paddle_sparse(table.folder, rows.paddle_layout(), [&](PaddleRow const& row) {
      rows.convert(row, blocks.add(row.key));
      if (progress && rows.rows() % 65536 == 0) progress(table.spec.name, rows.rows());
    });
    blocks.finish();
    if (table.spec.statistics.kept) {  // rows that are pushed before the next shrink are of today
      ShardCounters const counters{.day = table.day};
      for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
        writer.write(block_of(counters, table_id(table.spec.name), shard));
      }
    }
    oldest = std::max(oldest, rows.oldest());
    auto const notes = rows.notes();
    result.notes.insert(result.notes.end(), notes.begin(), notes.end());
    manifest.tables.push_back({.spec = table.spec});
  }
  for (auto const& table : from.dense) {
    check(AnySpec(table.spec)).value();
    write_dense(writer, table.spec, detail::dense_from_paddle(table, oldest, result.notes));
    manifest.tables.push_back({.spec = table.spec});
  }
  manifest.step = oldest;
  add_part(manifest, writer.close());
  result.checkpoint = pending.commit(std::move(manifest));
  return result;
}

}  // namespace prdist
