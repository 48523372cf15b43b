// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/dense_values.hpp>
#include <prdist/checkpoint/row_weights.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

#include "commands.hpp"
#include "common.hpp"

namespace prckpt {

using namespace prdist;

namespace {

template <class Numbers>
std::string joined(Numbers const& numbers, std::size_t most = 64) {
  std::string text;
  std::size_t shown = 0;
  for (auto const number : numbers) {
    if (shown++ == most) return concat(text, " ... (", numbers.size(), ')');
    text += concat(' ', number);
  }
  return text;
}

void show_rows(ChainReader const& rows, SparseSpec const& spec, std::vector<Key> const& keys) {
  RowLayout const layout(spec);
  auto const id = table_id(spec.name);
  for (auto const key : keys) {
    bool found = false;
    rows.for_each([&](TableId table, std::uint32_t shard) { return table == id && shard == shard_of(hash_key(key)); },
                  [&](RowBlock const& block) {
                    check_shape(spec.name, block, layout.bytes());
                    for (std::size_t i = 0; i < block.keys.size(); ++i) {
                      if (block.keys[i] != key) continue;
                      found = true;
                      auto const* const row = block.rows.data() + i * block.row_bytes;
                      std::vector<float> numbers(spec.dim);
                      read_weights(spec, row, numbers.data());
                      say(concat("  key ", key, ":", joined(numbers)));
                      numbers.resize(layout.state_bytes / sizeof(float));
                      std::memcpy(numbers.data(), row + layout.weight_bytes, layout.state_bytes);
                      if (!numbers.empty())
                        say(concat("    state of ", name_of(spec.optimizer), ':', joined(numbers, 256)));
                      if (!spec.statistics.kept) continue;
                      RowStatistics known;
                      std::memcpy(&known, row + layout.weight_bytes + layout.state_bytes, sizeof known);
                      say(concat("    show ", known.show, ", click ", known.click, ", day ", known.day));
                    }
                  });
    if (!found) say(concat("  key ", key, ": has no row"));
  }
}

}  // namespace

int show(Settings const& settings) {
  auto const chain = chain_of(chosen(settings.from));
  auto const& manifest = chain.back().manifest;
  say(summary(chain.back()));
  for (auto const* const file : manifest.files()) say(concat("  ", file->name, "  ", mebibytes(file->bytes)));
  ChainReader const rows(chain);
  bool found = settings.tables.empty();
  for (auto const& table : manifest.tables) {
    auto const& name = name_of(table.spec);
    if (!settings.tables.empty() && std::ranges::find(settings.tables, name) == settings.tables.end()) continue;
    found = true;
    say(concat(name, "  ", table.rows, " rows, ", mebibytes(table.bytes), "\n  ", to_json(table.spec)));
    if (auto const* const spec = std::get_if<SparseSpec>(&table.spec)) show_rows(rows, *spec, settings.keys);
    auto const* const spec = std::get_if<DenseSpec>(&table.spec);
    if (spec == nullptr) continue;
    auto const weights = read_dense(rows, *spec).columns[0];
    std::size_t at = 0;
    for (auto const& part : spec->parts) {
      say(concat("  ", part.name, " (", shape_text(part.extents()),
                 "):", joined(std::span(weights).subspan(at, part.size), 6)));
      at += part.size;
    }
  }
  if (found) return 0;
  throw Error(Errc::table_unknown, chain.back().path, ", has no table '", settings.tables.front(),
              "': see `prckpt show` without --table");
}

}  // namespace prckpt
