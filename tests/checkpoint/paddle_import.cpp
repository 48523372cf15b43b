#include <prdist/checkpoint/paddle_import.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "paddle_tables.hpp"
#include "sample.hpp"

namespace prdist {
namespace {

PaddleImport small_import(std::string const& folder) {
  PaddleImport from{.created = "2026-01-02T03:04:05Z"};
  from.sparse.push_back(
      {.folder = paddle_table_folder(folder, 0), .spec = {.name = "embedding", .dim = 3, .optimizer = Adam{}}});
  from.dense.push_back({.folder = paddle_table_folder(folder, 1),
                        .spec = {.name = "dense", .parts = parts_of(small_network()), .optimizer = Adam{}},
                        .variables = small_network()});
  return from;
}

TEST(PaddleImport, MakesACheckpointOfWeightsAndState) {
  TempDir const dir;
  auto const tables = (dir.path() / "tables").native(), out = (dir.path() / "out").native();
  write_small_tables(tables);
  auto const imported = import_paddle(small_import(tables), out);
  EXPECT_EQ(imported.checkpoint.path, out + "/pass-00000");
  EXPECT_TRUE(imported.checkpoint.manifest.trainers.empty());
  EXPECT_EQ(imported.checkpoint.manifest.step, 2U);
  EXPECT_EQ(imported.checkpoint.manifest.tables.at(0).rows, 40U);
  EXPECT_EQ(imported.notes, (std::vector<std::string>{
                                "table 'dense': Paddle does not save how many steps its Adam took; 2 are assumed, "
                                "those of the oldest row (--steps N says it)",
                                "table 'dense': two classes became one logit, whose weights Adam moves half as "
                                "far in a step"}));
  auto const newest = latest(out);
  ASSERT_TRUE(newest);
  verify(*newest);
  std::vector const chain{*newest};
  std::map<Key, std::vector<float>> rows;
  ChainReader const reader(chain);
  reader.for_each([](TableId table, auto) { return table == table_id("embedding"); },
                  [&](RowBlock const& block) {
                    for (std::size_t i = 0; i < block.keys.size(); ++i) {
                      EXPECT_EQ(block.shard, shard_of(hash_key(block.keys[i])));
                      auto& row = rows[block.keys[i]];
                      row.resize(block.row_bytes / sizeof(float));
                      std::memcpy(row.data(), &block.rows[i * block.row_bytes], block.row_bytes);
                    }
                  });
  ASSERT_EQ(rows.size(), 40U);
  EXPECT_EQ(rows.at(8),
            (std::vector<float>{1, 2, 3, 0.5F, 1, -1, 0.25F, 0.125F, 0.0625F, 0.9F * 0.9F, 0.999F * 0.999F}));
  // Paddle's order is fc0.b fc0.w fc_out.b fc_out.w, ours fc0.w fc0.b fc1.w fc1.b.
  auto const dense = read_dense(reader, std::get<DenseSpec>(newest->manifest.tables.at(1).spec));
  EXPECT_EQ(dense.columns[0], (std::vector<float>{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 1, 1, 1}));
  EXPECT_EQ(dense.columns[1][0], 1);
  EXPECT_EQ(dense.columns[2][0], 0.5F);
  EXPECT_EQ(dense.columns[1][12], (15.0F / 2 - 14.0F / 2) / 2);
  EXPECT_EQ(dense.columns[2][12], (15.0F / 4 + 14.0F / 4) / 2);
  EXPECT_EQ(dense.shared, (std::vector<float>{0.9F * 0.9F, 0.999F * 0.999F}));
}

TEST(PaddleImport, StepsOfTheDenseAdamMayBeSaidAndItsStateLeftOut) {
  TempDir const dir;
  auto const tables = (dir.path() / "tables").native();
  write_small_tables(tables);
  auto from = small_import(tables);
  from.dense[0].steps = 1;
  auto const said = import_paddle(from, (dir.path() / "a").native());
  std::vector const chain{said.checkpoint};
  EXPECT_EQ(read_dense(ChainReader(chain), from.dense[0].spec).shared, (std::vector<float>{0.9F, 0.999F}));
  EXPECT_EQ(said.notes.size(), 1U);
  from.dense[0].weights_alone = true;
  auto const alone = import_paddle(from, (dir.path() / "b").native());
  EXPECT_EQ(alone.notes, (std::vector<std::string>{"table 'dense': weights alone, the state of adam starts anew"}));
}

TEST(PaddleImport, TodayGoesWithEveryShardOfATableWithStatistics) {
  TempDir const dir;
  auto const tables = (dir.path() / "tables").native();
  write_small_tables(tables);
  auto from = small_import(tables);
  from.sparse[0].spec.statistics.kept = true;
  from.sparse[0].day = 40;
  auto const imported = import_paddle(from, (dir.path() / "out").native());
  std::set<std::uint32_t> shards;
  imported.checkpoint.read(imported.checkpoint.manifest.parts.at(0))
      .for_each([](auto, auto) { return true; },
                [&](RowBlock const& block) {
                  if (block.kind != BlockKind::counters) return;
                  EXPECT_EQ(counters_in(block, "embedding"), (ShardCounters{.day = 40}));
                  EXPECT_EQ(block.table, table_id("embedding"));
                  shards.insert(block.shard);
                });
  EXPECT_EQ(shards.size(), shard_count);
}

TEST(PaddleImport, ADimensionIsToldByTheFields) {
  TempDir const dir;
  auto const tables = (dir.path() / "tables").native();
  write_small_tables(tables);
  EXPECT_EQ(paddle_embedx_dim(tables + "/000", PaddleRule::adam), 2U);
  EXPECT_EQ(paddle_embedx_dim(tables + "/000", PaddleRule::naive), 12U);  // nobody can tell
  auto const said = error_of([&] { (void)paddle_embedx_dim(tables + "/000", PaddleRule::std_adagrad); });
  EXPECT_NE(said.find(":1, has 19 fields, and rows of std_adagrad cannot: check that the layout"), said.npos) << said;
  EXPECT_EQ(
      error_of([&] { (void)paddle_embedx_dim(tables + "/002", PaddleRule::adam); }),
      "prdist[data.file] " + tables +
          "/002, has no row with embedx_w, which would show its dimension: check the path, or give the dimension");
}

TEST(PaddleImport, WhatDoesNotFitLeavesNothingBehind) {
  TempDir const dir;
  auto const tables = (dir.path() / "tables").native(), out = (dir.path() / "out").native();
  write_small_tables(tables);
  auto const said = [&](auto&& change) {
    auto from = small_import(tables);
    change(from);
    return error_of([&] { (void)import_paddle(from, out); });
  };
  EXPECT_EQ(said([](PaddleImport& from) { from.dense[0].variables.push_back({.name = "z", .rows = 3}); }),
            "prdist[data.file] " + tables +
                "/001, has 18 elements and the 5 variables take 21: name every dense variable of the program, with its "
                "shape");
  auto const shape = said([](PaddleImport& from) { from.sparse[0].spec.dim = 4; });
  EXPECT_NE(shape.find("has 19 fields, too few: check that the layout is the one the table was saved with"), shape.npos)
      << shape;
  EXPECT_NE(said([](PaddleImport& from) { from.sparse[0].spec.optimizer = Sgd{}; }).find("can go on as adam"),
            std::string::npos);
  EXPECT_NE(said([](PaddleImport& from) { from.sparse[0].spec.name = ""; }).find("its name has 0 characters"),
            std::string::npos);
  EXPECT_TRUE(detail::names_in(out).empty());
  EXPECT_EQ(said([](PaddleImport&) {}), "no error");
  EXPECT_EQ(said([](PaddleImport&) {}),
            "prdist[checkpoint.file] " + out +
                ", has checkpoints up to pass-00000, and what is imported is to be the first: give another folder");
}

}  // namespace
}  // namespace prdist
