#include <prdist/checkpoint/paddle_export.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "paddle_tables.hpp"
#include "sample.hpp"

namespace prdist {
namespace {

Checkpoint imported(std::string const& tables, std::string const& out) {
  PaddleImport from;
  from.sparse.push_back(
      {.folder = paddle_table_folder(tables, 0), .spec = {.name = "embedding", .dim = 3, .optimizer = Adam{}}});
  from.dense.push_back({.folder = paddle_table_folder(tables, 1),
                        .spec = {.name = "dense", .parts = parts_of(small_network()), .optimizer = Adam{}},
                        .variables = small_network()});
  return import_paddle(from, out).checkpoint;
}

std::map<Key, PaddleRow> rows_in(std::string const& folder) {
  std::map<Key, PaddleRow> rows;
  read_paddle_sparse(folder, {.embedx_dim = 2}, [&](PaddleRow const& row) { rows.emplace(row.key, row); });
  return rows;
}

TEST(PaddleExport, WhatCameFromPaddleGoesBackTheSame) {
  TempDir const dir;
  auto const tables = (dir.path() / "tables").native(), back = (dir.path() / "back").native();
  write_small_tables(tables);
  std::vector const chain{imported(tables, (dir.path() / "ckpt").native())};
  auto const notes = export_paddle(chain, back, {.shards = 5, .servers = 2, .variables = small_network()});
  EXPECT_EQ(notes,
            (std::vector<std::string>{
                "table 'dense': with Adam's moments, whose steps Paddle counts from 0 again; for a job with SGD give "
                "--dense-optimizer sgd, its servers would end"}));
  auto const rows = rows_in(back + "/000");
  ASSERT_EQ(rows.size(), 40U);
  for (auto const& [key, row] : rows) {
    auto expected = small_row(key);
    // All digits now.
    for (auto* const state : {&expected.embed_state, &expected.embedx_state}) {
      state->end()[-2] = 0.9F * 0.9F * 0.9F;
      state->end()[-1] = 0.999F * 0.999F * 0.999F;
    }
    EXPECT_EQ(row, expected);
  }
  EXPECT_EQ(detail::names_in(back + "/000").size(), 5U);
  // Two classes hold the same logit, in another way: everything else is as it was.
  auto const was = read_paddle_dense(tables + "/001"), is = read_paddle_dense(back + "/001");
  ASSERT_EQ(is.size(), was.size());
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(is.column(0)[i], was.column(0)[i]);
  EXPECT_EQ(is.column(0)[13] - is.column(0)[12], was.column(0)[13] - was.column(0)[12]);
  EXPECT_EQ(is.column(2)[3], was.column(2)[3]);
  std::vector const again{imported(back, (dir.path() / "again").native())};
  auto const& spec = std::get<DenseSpec>(again[0].manifest.tables[1].spec);
  EXPECT_EQ(read_dense(ChainReader(again), spec).columns, read_dense(ChainReader(chain), spec).columns);
}

TEST(PaddleExport, WritesWhatALaterCheckpointOfTheChainSays) {
  TempDir const dir;
  auto const ckpt = (dir.path() / "ckpt").native(), out = (dir.path() / "out").native();
  auto const full = save(ckpt, 1, {{rows_of(0, {1, 2, 3}, 10), dense_rows(1)}});
  auto const changed = save(ckpt, 2, {{rows_of(0, {2}, 20), removed(0, {3})}}, CheckpointBase{1, full.id});
  PaddleExport to{.shards = 2, .packed = false, .variables = {{"a", "fc0.w", 3, 1}, {"b", "fc0.b", 1, 1}}};
  auto const notes = export_paddle(chain_of(changed), out, to);
  std::map<Key, float> first;
  read_paddle_sparse(out + "/000", {.embedx_dim = 1, .embed = PaddleRule::adagrad, .embedx = PaddleRule::adagrad},
                     [&](PaddleRow const& row) { first[row.key] = row.embed_w; });
  EXPECT_EQ(first, (std::map<Key, float>{{1, 10}, {2, 20}}));
  // The table's own rule is Sgd. Paddle's Adam wants its columns all the same.
  EXPECT_EQ(contents(out + "/001/part-000"), "1 0 0\n2 0 0\n3 0 0\n4 0 0\n");
  EXPECT_EQ(
      notes.back(),
      "table 'dense': weights alone, Paddle's Adam starts anew; for a job with SGD give --dense-optimizer sgd, its "
      "servers would end");
  to.dense_moments = false;
  EXPECT_EQ(export_paddle(chain_of(changed), out + "-sgd", to).back(), "table 'dense': weights alone, for SGD");
  EXPECT_EQ(contents(out + "-sgd/001/part-000"), "1\n2\n3\n4\n");
}

TEST(PaddleExport, WhatPaddleCannotHoldIsSaidBeforeAnythingIsWritten) {
  TempDir const dir;
  auto const ckpt = (dir.path() / "ckpt").native(), out = (dir.path() / "out").native();
  std::vector const chain{save(ckpt, 1, {{rows_of(0, {1}, 10), dense_rows(1)}})};
  auto const said = [&](PaddleExport const& to) { return error_of([&] { (void)export_paddle(chain, out, to); }); };
  EXPECT_EQ(
      said({}),
      "prdist[config.contradiction] part 'fc0.w' of table 'dense', of 3 numbers, is no variable of Paddle's: give "
      "every part one variable of its size");
  PaddleExport const fits{.variables = {{"a", "fc0.w", 3, 1}, {"b", "fc0.b", 1, 1}}};
  auto none = fits;
  none.shards = 0;
  EXPECT_NE(said(none).find("0 shards on 1 servers"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(said(fits), "no error");
  EXPECT_NE(said(fits).find(", is there already"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)export_paddle({}, out, {}); }).find("there is no checkpoint to export"),
            std::string::npos);
}

}  // namespace
}  // namespace prdist
