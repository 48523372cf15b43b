// SPDX-License-Identifier: Apache-2.0
// A checkpoint as tables that Paddle's fleet.load_model() and init_server(DIR) read: the way back of paddle_import.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/checkpoint/dense_values.hpp>
#include <prdist/checkpoint/paddle_dense.hpp>
#include <prdist/checkpoint/paddle_import.hpp>
#include <prdist/checkpoint/paddle_sparse.hpp>
#include <prdist/checkpoint/paddle_variables.hpp>
#include <prdist/checkpoint/temporary.hpp>
#include <prdist/checkpoint/to_paddle.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

struct PaddleExport {
  std::uint32_t shards = 1000;  ///< shard_num of the job that will load it, which refuses any other
  std::uint32_t servers = 1;    ///< of that job; it may have others
  bool packed = true;
  std::optional<PaddleRule> rule{};  ///< other than the one that goes on with a table's state: weights alone
  PaddleNumbers numbers{};           ///< of a rule that starts anew
  bool dense_moments = true;         ///< the job's dense optimizer is Adam; false: SGD, which keeps none
  std::uint32_t day = 0;             ///< today, by the count that the job gives to shrink()
  std::vector<PaddleVariable> variables{};
};

/// Writes `folder`/000, /001 ... in the order of the manifest's tables, sparse ones first, as Paddle numbers them.
/// Returns what its user should know, a line each. Blocks; memory is bounded but for dense tables.
/// @throws Error checkpoint.*; config.* for what Paddle cannot hold
inline std::vector<std::string> export_paddle(std::span<Checkpoint const> chain, std::string const& folder,
                                              PaddleExport const& to, ConversionProgress const& progress = {}) {
  if (chain.empty())
    throw Error(Errc::checkpoint_missing, folder, ", there is no checkpoint to export: save one first");
  std::vector<std::string> notes;
  ChainReader const rows(chain);
  std::vector<SparseSpec> sparse;
  std::vector<DenseSpec> dense;
  for (auto const& table : chain.back().manifest.tables) {
    if (auto const* const spec = std::get_if<SparseSpec>(&table.spec)) sparse.push_back(*spec);
    if (auto const* const spec = std::get_if<DenseSpec>(&table.spec)) dense.push_back(*spec);
  }
  if (dense.size() > 1) {
    throw Error(Errc::config_contradiction, chain.back().path, ", has ", dense.size(),
                " dense tables, and Paddle puts all variables into one: export them one by one");
  }
  // What cannot be done is said before hours of writing.
  std::vector<ToPaddle> converters;
  for (auto const& spec : sparse) converters.emplace_back(spec, to.rule, to.numbers, to.day);
  auto const variables = in_paddles_order(to.variables);
  std::vector<std::map<std::string, std::size_t>> places;
  for (auto const& spec : dense) places.push_back(places_of_parts(spec, variables));

  detail::NewFolder out(folder);
  std::uint32_t number = 0;
  for (std::size_t t = 0; t < sparse.size(); ++t) {
    auto& convert = converters[t];
    PaddleSparseWriter writer(paddle_table_folder(out.path(), number++), to.shards, to.servers, to.packed);
    std::uint64_t count = 0;
    auto const id = table_id(sparse[t].name);
    rows.for_each([id](TableId each, std::uint32_t) { return each == id; },
                  [&](RowBlock const& block) {
                    check_shape(sparse[t].name, block, convert.row_bytes());
                    for (std::size_t i = 0; i < block.keys.size(); ++i) {
                      writer.write(convert.convert(block.keys[i], block.rows.data() + i * block.row_bytes));
                      if (++count % 65536 == 0 && progress) progress(sparse[t].name, count);
                    }
                  });
    writer.close();
    auto const said = convert.notes();
    notes.insert(notes.end(), said.begin(), said.end());
  }
  for (std::size_t t = 0; t < dense.size(); ++t) {
    auto const values = read_dense(rows, dense[t]);
    auto const with_state = std::holds_alternative<Adam>(dense[t].optimizer.rule) && to.dense_moments;
    // A server of Paddle's ends when there are other columns than its optimizer's.
    PaddleDense table{.columns = to.dense_moments ? std::size_t{3} : 1};
    std::size_t size = 0, at = 0;
    for (auto const& it : variables) size += it.size();
    table.values.resize(size * table.columns);
    for (auto const& it : variables) {
      for (std::size_t c = 0; c < (with_state ? 3U : 1U) && !it.part.empty(); ++c) {
        auto const part = std::span(values.columns[c]).subspan(places[t].at(it.part), it.part_size());
        auto const numbers = from_part(it, part, static_cast<DenseColumn>(c));
        for (std::size_t i = 0; i < numbers.size(); ++i) table.values[(at + i) * table.columns + c] = numbers[i];
      }
      at += it.size();
    }
    write_paddle_dense(paddle_table_folder(out.path(), number++), table, to.servers, to.packed);
    notes.push_back(
        concat("table '", dense[t].name, "': ",
               with_state         ? "with Adam's moments, whose steps Paddle counts from 0 again"
               : to.dense_moments ? "weights alone, Paddle's Adam starts anew"
                                  : "weights alone, for SGD",
               to.dense_moments ? "; for a job with SGD give --dense-optimizer sgd, its servers would end" : ""));
  }
  out.finish();
  return notes;
}

}  // namespace prdist
