// SPDX-License-Identifier: Apache-2.0
// from-paddle and to-paddle: tables of fleet.save_persistables.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/paddle_export.hpp>
#include <prdist/checkpoint/paddle_import.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

#include "commands.hpp"
#include "common.hpp"
#include "words.hpp"

namespace prckpt {

using namespace prdist;

namespace {

/// Those of --variable, or of the network that --hidden and its kin describe.
std::vector<PaddleVariable> variables_of(Settings const& settings, std::size_t dim) {
  std::vector<PaddleVariable> variables;
  for (auto const& text : settings.variables) variables.push_back(variable_of(text));
  if (!variables.empty()) return variables;
  std::vector<std::size_t> sizes{settings.slots * dim + settings.dense_features};
  auto const usual = std::vector<std::size_t>{400, 400, 400};
  auto const& hidden = settings.hidden.empty() ? usual : settings.hidden;
  sizes.insert(sizes.end(), hidden.begin(), hidden.end());
  return fully_connected_variables(sizes, settings.layers.empty() ? usual_layer_names(sizes.size()) : settings.layers);
}

struct NamedRule {
  PaddleRule rule;
  bool has_equal = true;
};

NamedRule rule_of(std::string const& name) {
  for (auto const rule :
       {PaddleRule::naive, PaddleRule::adagrad, PaddleRule::std_adagrad, PaddleRule::adam, PaddleRule::shared_adam}) {
    if (name == name_of(rule)) return {rule};
  }
  if (name == "SparseNaiveSGDRule") return {PaddleRule::naive};
  if (name == "SparseAdaGradSGDRule") return {PaddleRule::adagrad};
  if (name == "StdAdaGradSGDRule") return {PaddleRule::std_adagrad};
  if (name == "SparseAdamSGDRule") return {PaddleRule::adam};
  if (name == "SparseSharedAdamSGDRule") return {PaddleRule::shared_adam};
  if (name == "adagrad_v2" || name == "SparseAdaGradV2SGDRule") return {PaddleRule::adagrad, false};
  throw Error(Errc::config_invalid, "--rule '", name,
              "': give naive, adagrad, adagrad_v2, std_adagrad, adam or shared_adam, or Paddle's name of its class");
}

PaddleNumbers numbers_of(Settings const& settings) {
  return {
      .rate = settings.rate, .initial_g2sum = settings.initial_g2sum, .beta1 = settings.beta1, .beta2 = settings.beta2};
}

}  // namespace

int from_paddle(Settings const& settings) {
  (void)folder(settings.from);
  auto const rule = rule_of(settings.rule);
  auto const geo = settings.strategy == "geo";
  auto const anew = settings.weights_only || geo;
  if (!anew && !rule.has_equal) {
    throw Error(Errc::config_contradiction, "--rule ", settings.rule,
                " has no equal here, it divides by the sum of all steps: take the weights alone with --weights-only, "
                "and go on with --optimizer row_adagrad or another");
  }
  if (!anew && !settings.optimizer.empty()) {
    throw Error(Errc::config_contradiction, "--optimizer ", settings.optimizer,
                " is for --weights-only: with its state, a table goes on as ", name_of(equal_of(rule.rule)));
  }
  PaddleImport import{.created = utc_now()};
  auto const names = settings.tables.empty() ? std::vector<std::string>{"embedding"} : settings.tables;
  std::size_t dim = 0;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    auto const [name, place] = at_sign(names[i], '=');
    auto number = i;
    if (!place.empty() && !parse_number(place, number)) {
      throw Error(Errc::config_invalid, "--table '", names[i], "': give NAME or NAME=NUMBER of Paddle's table");
    }
    PaddleImport::Sparse table{.folder = paddle_table_folder(settings.from, number),
                               .rule = rule.rule,
                               .weights_alone = anew,
                               .day = settings.day};
    table.spec.name = name;
    table.spec.dim = settings.dim != 0 ? settings.dim : 1 + paddle_embedx_dim(folder(table.folder), rule.rule);
    table.spec.optimizer = anew && !settings.optimizer.empty() ? optimizer_named("--optimizer", settings.optimizer)
                                                               : equal_of(rule.rule, numbers_of(settings));
    table.spec.precision = precision_of(settings.precision);
    table.spec.statistics.kept = settings.statistics;
    make_geo(settings, table.spec);
    dim = table.spec.dim;
    // Another rule than the one that saved it shows here first: its state would be read as weights.
    say(concat("table '", name, "': rows of ", dim, " floats", settings.dim == 0 ? ", as told by its fields" : "",
               " and --rule ", settings.rule));
    import.sparse.push_back(std::move(table));
  }
  if (!settings.no_dense) {
    PaddleImport::Dense table{
        .folder =
            paddle_table_folder(settings.from, settings.dense_table.value_or(static_cast<std::uint32_t>(names.size()))),
        .variables = variables_of(settings, dim),
        .weights_alone = anew,
        .steps = settings.steps};
    table.spec.name = "dense";
    table.spec.parts = parts_of(table.variables);
    // What the files hold is what they were trained with, as far as it can be told.
    table.spec.optimizer = settings.dense_optimizer.empty()
                               ? Optimizer(Adam{settings.rate})
                               : optimizer_named("--dense-optimizer", settings.dense_optimizer);
    make_geo(settings, table.spec);
    import.dense.push_back(std::move(table));
  }
  Imported imported;
  {
    Shown shown;
    imported =
        import_paddle(import, settings.to, [&](std::string const& table, std::uint64_t rows) { shown(table, rows); });
  }
  for (auto const& note : imported.notes) say(note);
  say(concat(imported.checkpoint.path, ": ", summary(imported.checkpoint)));
  return 0;
}

int to_paddle(Settings const& settings, bool rule_given) {
  auto const chain = chain_of(chosen(settings.from));
  std::size_t dim = 0;
  bool dense = false;
  for (auto const& table : chain.back().manifest.tables) {
    if (auto const* const spec = std::get_if<SparseSpec>(&table.spec)) dim = spec->dim;
    dense = dense || std::holds_alternative<DenseSpec>(table.spec);
  }
  PaddleExport to{.shards = settings.shards,
                  .servers = settings.servers,
                  .packed = !settings.plain,
                  .numbers = numbers_of(settings),
                  .dense_moments = settings.dense_optimizer != "sgd",
                  .day = settings.day};
  if (rule_given) to.rule = rule_of(settings.rule).rule;
  if (dense) to.variables = variables_of(settings, dim);
  std::vector<std::string> notes;
  {
    Shown shown;
    notes = export_paddle(chain, settings.to, to,
                          [&](std::string const& table, std::uint64_t rows) { shown(table, rows); });
  }
  for (auto const& note : notes) say(note);
  say(concat(settings.to, ": from ", chain.back().path, ", for shard_num ", settings.shards));
  return 0;
}

}  // namespace prckpt
