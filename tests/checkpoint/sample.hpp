// Small checkpoints for the tests of this folder.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/part_writer.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/table/shard_counters.hpp>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"

namespace prdist {

inline SparseSpec embedding() {
  return {
      .name = "embedding", .dim = 2, .optimizer = RowAdagrad{}, .init = Initializer::uniform(-0.5F, 0.5F), .seed = 42};
}

inline DenseSpec dense() {
  return {.name = "dense", .parts = {{"fc0.w", 3, Initializer::zeros()}, {"fc0.b", 1, Initializer::zeros()}}};
}

/// Rows of floats {value, value + .5, 9}: two weights and a number of state.
inline RowBlock rows_of(std::uint32_t shard, std::vector<Key> keys, float value) {
  RowBlock block{.table = table_id("embedding"), .shard = shard, .row_bytes = 12, .keys = std::move(keys)};
  for (std::size_t i = 0; i < block.keys.size(); ++i) {
    float const row[]{value + static_cast<float>(i), value + static_cast<float>(i) + 0.5F, 9};
    auto const bytes = std::as_bytes(std::span(row));
    block.rows.insert(block.rows.end(), bytes.begin(), bytes.end());
  }
  return block;
}

inline RowBlock removed(std::uint32_t shard, std::vector<Key> keys) {
  return {.table = table_id("embedding"), .shard = shard, .kind = BlockKind::removed, .keys = std::move(keys)};
}

/// What a shard takes along beside its rows.
inline RowBlock counters(std::uint32_t shard, std::uint64_t pushes) {
  return block_of(ShardCounters{.pushes = pushes}, table_id("embedding"), shard);
}
inline RowBlock on_probation(std::uint32_t shard, std::vector<Key> keys) {
  RowBlock block{.table = table_id("embedding"),
                 .shard = shard,
                 .kind = BlockKind::admission,
                 .row_bytes = 8,
                 .keys = std::move(keys)};
  block.rows.assign(block.keys.size() * 8, std::byte{1});
  return block;
}

/// The one range of dense().
inline RowBlock dense_rows(float value) {
  RowBlock block{.table = table_id("dense"), .shard = 3, .row_bytes = 16, .keys = {0}};
  float const row[]{value, value + 1, value + 2, value + 3};
  auto const bytes = std::as_bytes(std::span(row));
  block.rows.assign(bytes.begin(), bytes.end());
  return block;
}

inline PartSummary write_part(std::string const& folder, std::uint32_t server, std::vector<RowBlock> const& blocks) {
  PartWriter writer(folder, server);
  for (auto const& block : blocks) writer.write(block);
  return writer.close();
}

inline Manifest manifest_of(std::uint64_t step) {
  return {.created = "2026-01-02T03:04:05Z",
          .step = step,
          .strategy = "async",
          .servers = 1,
          .tables = {{.spec = embedding()}, {.spec = dense()}}};
}

/// One part per list of blocks.
inline Checkpoint save(std::string const& directory, std::uint64_t pass,
                       std::vector<std::vector<RowBlock>> const& parts, std::optional<CheckpointBase> base = {}) {
  PendingCheckpoint pending(directory, pass, "test");
  auto manifest = manifest_of(pass * 100);
  manifest.base = std::move(base);
  manifest.servers = static_cast<std::uint32_t>(parts.size());
  for (std::uint32_t server = 0; server < parts.size(); ++server) {
    add_part(manifest, write_part(pending.path(), server, parts[server]));
  }
  return pending.commit(std::move(manifest));
}

/// The first weight of every key of table `embedding`.
inline std::map<Key, float> weights_in(std::vector<Checkpoint> const& chain) {
  std::map<Key, float> weights;
  ChainReader(chain).for_each([](TableId table, auto) { return table == table_id("embedding"); },
                              [&](RowBlock const& block) {
                                for (std::size_t i = 0; i < block.keys.size(); ++i) {
                                  float first = 0;
                                  std::memcpy(&first, &block.rows[i * block.row_bytes], sizeof first);
                                  EXPECT_TRUE(weights.emplace(block.keys[i], first).second) << "given twice";
                                }
                              });
  return weights;
}

/// Inverts one bit of a file.
inline void flip_bit(std::string const& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  auto const byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

}  // namespace prdist
