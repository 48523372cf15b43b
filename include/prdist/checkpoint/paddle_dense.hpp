// SPDX-License-Identifier: Apache-2.0
// A dense table in Paddle's text layout: a file part-<server>[.gz] per server, a line per element, its weight first and
// the optimizer's numbers behind it (Adam: weight m1 m2). Paddle puts all dense variables of a program into one such
// table, in the order of their names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/checkpoint/paddle_text.hpp>
#include <prdist/checkpoint/temporary.hpp>
#include <prdist/checkpoint/text_writer.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

struct PaddleDense {
  std::size_t columns = 0;      ///< numbers of every element
  std::vector<float> values{};  ///< element by element

  [[nodiscard]] std::size_t size() const noexcept { return columns == 0 ? 0 : values.size() / columns; }

  /// Column 0 holds the weights.
  [[nodiscard]] std::vector<float> column(std::size_t index) const {
    std::vector<float> out(size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[i * columns + index];
    return out;
  }

  friend bool operator==(PaddleDense const&, PaddleDense const&) = default;
};

/// The table in `folder` (`<dir>/001`), all servers' files together.
/// @throws Error data.file for a missing or damaged file, data.line with file and line for a bad element
[[nodiscard]] inline PaddleDense read_paddle_dense(std::string const& folder) {
  std::map<std::uint32_t, std::string> files;
  for (auto const& name : detail::names_in(folder)) {
    auto const parsed = detail::paddle_file_name(name);
    if (!parsed || parsed->shard) continue;
    if (!files.emplace(parsed->server, concat(folder, '/', name)).second) {
      throw Error(Errc::data_file, folder, '/', name, ", server ", parsed->server,
                  " has two files, so two saves are mixed: remove the older one");
    }
  }
  if (files.empty() || files.rbegin()->first + 1 != files.size()) {
    throw Error(Errc::data_file, folder, ", has ", files.size(), " files part-<server>, ",
                files.empty() ? "so it is no dense table" : concat("the last of server ", files.rbegin()->first),
                ": check the path, and copy every server's file");
  }
  PaddleDense table;
  LineReader lines;
  for (auto const& [server, path] : files) {
    lines.open_file(path);
    for (Line line; lines.next(line);) {
      detail::PaddleFields fields(path, line);
      auto const before = table.values.size();
      while (fields.more()) table.values.push_back(fields.next<float>());
      auto const columns = table.values.size() - before;
      if (columns == 0) continue;
      if (table.columns == 0) table.columns = columns;
      if (columns != table.columns) fields.fail(concat("has ", columns, " fields, the lines before ", table.columns));
    }
  }
  return table;
}

/// Cuts the table over the servers as Paddle does: each has size / servers + 1 elements, as far as they go.
/// @throws Error checkpoint.file; config.invalid without servers or with a table that has half elements
inline void write_paddle_dense(std::string const& folder, PaddleDense const& table, std::uint32_t servers,
                               bool packed = true) {
  if (servers == 0 || table.columns == 0 || table.values.size() % table.columns != 0) {
    throw Error(Errc::config_invalid, folder, ", ", table.values.size(), " numbers in ", table.columns, " columns for ",
                servers, " servers: give whole elements and at least one server");
  }
  detail::NewFolder to(folder);
  auto const each = table.size() / servers + 1;
  for (std::uint32_t server = 0; server < servers; ++server) {
    TextWriter file(concat(to.path(), '/', part_name(server), packed ? ".gz" : ""));
    auto const end = std::min((server + 1) * each, table.size());
    std::string text;
    for (auto i = server * each; i < end; ++i) {
      text.clear();
      for (std::size_t c = 0; c < table.columns; ++c) {
        if (c > 0) text += ' ';
        detail::append(text, table.values[i * table.columns + c]);
      }
      text += '\n';
      file.write(text);
    }
    file.close();
  }
  to.finish();
}

}  // namespace prdist
