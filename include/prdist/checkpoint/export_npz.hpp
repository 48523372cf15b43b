// SPDX-License-Identifier: Apache-2.0
// A checkpoint as a model for inference in NumPy's form: every dense part under its name and with its shape, and of
// each sparse table NAME.keys (uint64) and NAME.rows (float32, one row per key). State of optimizers stays behind.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/dense_values.hpp>
#include <prdist/checkpoint/files.hpp>
#include <prdist/checkpoint/npz_writer.hpp>
#include <prdist/checkpoint/row_weights.hpp>
#include <prdist/core/error.hpp>
#include <prdist/table/row_layout.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

namespace detail {

class NpzExport {
 public:
  NpzExport(std::span<Checkpoint const> chain, std::string const& path) : rows_(chain), path_(path), out_(path) {
    for (auto const& table : chain.back().manifest.tables) {
      std::visit([this](auto const& spec) { add(spec); }, table.spec);
    }
    out_.close();
  }

 private:
  /// Keys come with their rows but have an array of their own: they wait in a file, for memory may not hold them.
  void add(SparseSpec const& spec) {
    auto const spool = make_file_beside(path_);
    OutputFile keys(spool);
    InputFile const back(spool);
    ::unlink(spool.c_str());  // it lives as long as it is open, and no longer
    out_.begin<float>(spec.name + ".rows", spec.dim);
    std::vector<float> weights;
    for_each_block(spec.name, [&](RowBlock const& block) {
      check_row(spec.name, block, RowLayout(spec).weight_bytes);
      weights.resize(block.keys.size() * spec.dim);
      for (std::size_t i = 0; i < block.keys.size(); ++i) {
        read_weights(spec, block.rows.data() + i * block.row_bytes, weights.data() + i * spec.dim);
      }
      out_.write(std::span<float const>(weights));
      keys.write(std::as_bytes(std::span(block.keys)));
    });
    out_.end<float>();
    out_.begin<Key>(spec.name + ".keys");
    std::vector<Key> piece(keys_at_once);
    for (std::uint64_t at = 0; at < keys.size();) {
      auto const got = back.read_at(at, std::as_writable_bytes(std::span(piece)));
      out_.write(std::span<Key const>(piece).first(got / sizeof(Key)));
      at += got;
    }
    out_.end<Key>();
  }

  void add(DenseSpec const& spec) {
    auto const values = read_dense(rows_, spec).columns[0];
    std::size_t first = 0;
    for (auto const& part : spec.parts) {
      // Two dense tables may have parts of one name.
      auto const name = names_.insert(part.name).second ? part.name : concat(spec.name, '.', part.name);
      out_.add<float>(name, std::span(values).subspan(first, part.size), part.extents());
      first += part.size;
    }
  }

  template <class Take>
  void for_each_block(std::string const& table, Take&& take) const {
    auto const id = table_id(table);
    rows_.for_each([id](TableId each, std::uint32_t) { return each == id; }, take);
  }

  static void check_row(std::string const& table, RowBlock const& block, std::size_t least) {
    if (block.row_bytes >= least) return;
    throw Error(Errc::table_mismatch, "table '", table, "', a row has ", block.row_bytes,
                " bytes and its weights take ", least, ": the checkpoint does not fit its manifest");
  }

  static constexpr std::size_t keys_at_once = 128 * 1024;

  ChainReader rows_;
  std::string path_;
  NpzWriter out_;
  std::set<std::string> names_;
};

}  // namespace detail

/// Writes `path` (.npz) from a checkpoint and what it builds on (chain_of()), in bounded memory but for the dense
/// tables: parts by their names, and of each sparse table NAME.keys and NAME.rows. The file has its name when it is
/// complete. @throws Error checkpoint.file, checkpoint.damaged; table.mismatch when rows are shorter than declared
inline void export_npz(std::span<Checkpoint const> chain, std::string const& path) {
  if (chain.empty()) throw Error(Errc::checkpoint_missing, path, ", there is no checkpoint to export: save one first");
  detail::NpzExport(chain, path);
}

}  // namespace prdist
