// SPDX-License-Identifier: Apache-2.0
// from-v2 and to-v2: passes of Paddle v2.
#include <string>
#include <utility>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/v2_tables.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

#include "commands.hpp"
#include "common.hpp"
#include "words.hpp"

namespace prckpt {

using namespace prdist;

int from_v2(Settings const& settings) {
  V2Import import{.created = utc_now()};
  auto const sparse =
      settings.optimizer.empty() ? Optimizer(Adam{}) : optimizer_named("--optimizer", settings.optimizer);
  for (auto const& text : settings.embeddings) {
    auto const [parameter, rest] = at_sign(text, '=');
    auto const [name, dim] = at_sign(rest, ':');
    V2Import::Sparse table{.parameter = parameter};
    table.spec.name = name;
    table.spec.optimizer = sparse;
    table.spec.precision = precision_of(settings.precision);
    make_geo(settings, table.spec);
    if (parameter.empty() || name.empty() || !parse_number(dim, table.spec.dim)) {
      throw Error(Errc::config_invalid, "--embedding '", text, "': give PARAMETER=TABLE:DIM");
    }
    import.sparse.push_back(std::move(table));
  }
  for (auto const& text : settings.variables) import.variables.push_back(variable_of(text));
  if (!import.variables.empty()) {
    DenseSpec spec{.name = "dense", .parts = parts_of(import.variables)};
    spec.optimizer =
        settings.dense_optimizer.empty() ? sparse : optimizer_named("--dense-optimizer", settings.dense_optimizer);
    make_geo(settings, spec);
    import.dense = std::move(spec);
  }
  if (import.sparse.empty() && !import.dense) {
    throw Error(
        Errc::config_missing, settings.from,
        ", nothing of it is named: give --embedding PARAMETER=TABLE:DIM, --variable PARAMETER=PART:ROWSxCOLUMNS");
  }
  auto const checkpoint = import_v2(folder(settings.from), import, settings.to);
  say(concat(checkpoint.path, ": ", summary(checkpoint)));
  return 0;
}

int to_v2(Settings const& settings) {
  auto const chain = chain_of(chosen(settings.from));
  V2Export to{.rows = settings.rows};
  for (auto const& text : settings.embeddings) {
    auto const [parameter, table] = at_sign(text, '=');
    if (parameter.empty() || table.empty()) {
      throw Error(Errc::config_invalid, "--embedding '", text, "': give PARAMETER=TABLE");
    }
    to.parameters[at_sign(table, ':').first] = parameter;
  }
  for (auto const& text : settings.variables) to.variables.push_back(variable_of(text));
  export_v2(chain, settings.to, to);
  say(concat(settings.to, ": from ", chain.back().path));
  return 0;
}

}  // namespace prckpt
