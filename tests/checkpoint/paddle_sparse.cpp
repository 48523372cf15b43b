#include <prdist/checkpoint/paddle_sparse.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

std::map<Key, PaddleRow> rows_in(std::string const& folder, PaddleLayout const& layout) {
  std::map<Key, PaddleRow> rows;
  read_paddle_sparse(folder, layout, [&](PaddleRow const& row) { EXPECT_TRUE(rows.emplace(row.key, row).second); });
  return rows;
}

std::vector<std::string> files_in(std::string const& folder) {
  return detail::names_in(folder);
}

TEST(PaddleSparse, RulesKeepAsMuchStateAsPaddles) {
  EXPECT_EQ(state_floats(PaddleRule::naive, 8), 0U);
  EXPECT_EQ(state_floats(PaddleRule::adagrad, 8), 1U);
  EXPECT_EQ(state_floats(PaddleRule::std_adagrad, 8), 8U);
  EXPECT_EQ(state_floats(PaddleRule::adam, 8), 18U);
  EXPECT_EQ(state_floats(PaddleRule::shared_adam, 8), 4U);
}

TEST(PaddleSparse, ReadsLinesAsPaddleWritesThem) {
  TempDir const dir;
  // CtrCommonAccessor, dim 7, SparseAdaGradSGDRule; the second row is below the threshold of embedx.
  dir.file("000/part-000-00000", "202 0 3 0.1 1 0 -0.05 1 -3.26184e-05 -6.01192e-05 -9.18115e-05 -4.90373e-05 0.5\n");
  dir.file("000/part-001-00001", "301 4 0 1.1 2 1 -0.0933013 2 \n\n");
  auto const rows = rows_in((dir.path() / "000").native(),
                            {.embedx_dim = 4, .embed = PaddleRule::adagrad, .embedx = PaddleRule::adagrad});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(
      rows.at(202),
      (PaddleRow{
          202, 0, 3, 0.1F, 1, 0, -0.05F, {1}, {-3.26184e-05F, -6.01192e-05F, -9.18115e-05F, -4.90373e-05F}, {0.5F}}));
  EXPECT_EQ(rows.at(301), (PaddleRow{301, 4, 0, 1.1F, 2, 1, -0.0933013F, {2}, {}, {}}));
}

TEST(PaddleSparse, WhatIsWrittenIsReadBackTheSame) {
  PaddleLayout const layout{.embedx_dim = 3, .embed = PaddleRule::adam, .embedx = PaddleRule::std_adagrad};
  std::map<Key, PaddleRow> rows;
  for (std::uint64_t i = 0; i < 500; ++i) {
    auto const x = static_cast<float>(i) / 7;
    Key const key = i * 0x9e3779b97f4a7c15ULL;
    rows[key] = {key, x, 1, x / 3, x, 0, -x, {x, x + 1, 0.9F, 0.999F}, {x, 1e-30F, -x}, {x, x, x}};
    if (i % 5 == 0) rows[key].embedx_w = rows[key].embedx_state = {};
  }
  for (bool const packed : {true, false}) {
    TempDir const dir;
    auto const folder = paddle_table_folder(dir.path().native(), 0);
    PaddleSparseWriter writer(folder, 5, 2, packed);
    for (auto const& [key, row] : rows) writer.write(row);
    EXPECT_FALSE(std::filesystem::exists(folder));
    writer.close();
    EXPECT_EQ(rows_in(folder, layout), rows);
    std::string const end = packed ? ".gz" : "";
    // ceil(5 / 2) shards on the first server.
    EXPECT_EQ(files_in(folder),
              (std::vector<std::string>{"part-000-00000" + end, "part-000-00001" + end, "part-000-00002" + end,
                                        "part-001-00003" + end, "part-001-00004" + end}));
  }
}

TEST(PaddleSparse, AKeyLiesInTheShardOfItsRemainder) {
  TempDir const dir;
  auto const folder = (dir.path() / "000").native();
  PaddleSparseWriter writer(folder, 3, 1, false);
  for (Key key : {3, 4, 7}) writer.write({.key = key, .embed_w = 0.1F});
  writer.close();
  EXPECT_EQ(contents(folder + "/part-000-00000"), "3 0 0 0 0 0 0.1\n");
  EXPECT_EQ(contents(folder + "/part-000-00001"), "4 0 0 0 0 0 0.1\n7 0 0 0 0 0 0.1\n");
  EXPECT_EQ(contents(folder + "/part-000-00002"), "");
}

TEST(PaddleSparse, TheLastShardsAreMissed) {
  TempDir const dir;
  auto const folder = (dir.path() / "000").native();
  PaddleLayout const layout{.embedx_dim = 1, .embed = PaddleRule::naive, .embedx = PaddleRule::naive};
  PaddleSparseWriter writer(folder, 3, 1, false);
  for (Key key : {3, 4, 5}) writer.write({.key = key, .embed_w = 0.1F, .embedx_w = {1}});
  writer.close();
  std::filesystem::remove(folder + "/part-000-00002");
  auto const said = error_of([&] { read_paddle_sparse(folder, layout, [](PaddleRow const&) {}); });
  EXPECT_NE(said.find("has key 3, which shard 0 of 2 does not hold: are the last shards missing?"), std::string::npos)
      << said;
}

TEST(PaddleSparse, ABadLineIsNamedByFileLineAndField) {
  TempDir const dir;
  auto const folder = (dir.path() / "000").native();
  PaddleLayout const layout{.embedx_dim = 1, .embed = PaddleRule::naive, .embedx = PaddleRule::naive};
  auto const said = [&](std::string const& line) {
    dir.file("000/part-000-00000", "1 0 0 0 0 0 1 2\n" + line + '\n');
    return error_of([&] { rows_in(folder, layout); });
  };
  auto const expect = [&](std::string const& line, std::string const& what) {
    EXPECT_EQ(said(line), "prdist[data.line] " + folder + "/part-000-00000:2, " + what +
                              ": check that the layout is the one the table was saved with, or save it again");
  };
  expect("x 0 0 0 0 0 1 2", "field 1 'x' is not a key, a whole number from 0 to 2^64 - 1");
  expect("-1 0 0 0 0 0 1 2", "field 1 '-1' is not a key, a whole number from 0 to 2^64 - 1");
  expect("2 0 0 0 0 0 1,5 2", "field 7 '1,5' is not a number");
  expect("2 0 0 0", "has 4 fields, too few");
  expect("2 0 0 0 0 0 1 2 3", "has more than the 8 fields of this layout");
  expect(std::string(2000, '1'), "the line is longer than any of this layout");
}

TEST(PaddleSparse, EveryShardMustBeThereOnce) {
  TempDir const dir;
  auto const folder = (dir.path() / "000").native();
  auto const said = [&] { return error_of([&] { rows_in(folder, {}); }); };
  EXPECT_EQ(said(), "prdist[data.file] " + folder +
                        ", has 0 files part-<server>-<shard>, so it is no sparse table: check the path, and copy every "
                        "shard");
  dir.file("000/part-000-00000", "");
  dir.file("000/part-001-00002", "");
  EXPECT_EQ(said(),
            "prdist[data.file] " + folder +
                ", has 2 files part-<server>-<shard>, the last of shard 2: check the path, and copy every shard");
  dir.file("000/part-001-00001", "");
  EXPECT_EQ(said(), "no error");
  dir.file("000/part-002-00001", "");
  EXPECT_EQ(said(), "prdist[data.file] " + folder +
                        "/part-002-00001, shard 1 has two files, so two saves are mixed: remove the older one");
}

TEST(PaddleSparse, ADamagedPackedFileIsAnError) {
  TempDir const dir;
  auto const folder = (dir.path() / "000").native();
  PaddleSparseWriter writer(folder, 1, 1);
  for (Key key = 0; key < 1000; ++key) writer.write({.key = key, .embed_w = static_cast<float>(key)});
  writer.close();
  auto const path = folder + "/part-000-00000.gz";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  auto const said = error_of([&] { rows_in(folder, {.embed = PaddleRule::naive}); });
  EXPECT_TRUE(said.starts_with("prdist[data.file] " + path + ", cannot be unpacked behind byte ")) << said;
  EXPECT_TRUE(said.ends_with(", it ends too early: the file is damaged, make it again")) << said;
}

TEST(PaddleSparse, AWriterNeedsShardsServersAndAFreshFolder) {
  TempDir const dir;
  EXPECT_EQ(error_of([&] { PaddleSparseWriter("t/000", 0, 1); }),
            "prdist[config.invalid] t/000, 0 shards on 1 servers: give at least one of each, as in the job that will "
            "load it");
  EXPECT_EQ(error_of([&] { PaddleSparseWriter("t/000", 4000000000, 1); }),
            "prdist[config.invalid] t/000, 4000000000 shards, each a file, and there may be 10000: give the shard_num "
            "of the job that will load it, which is 1000 where nobody has set it");
  EXPECT_NE(error_of([&] { PaddleSparseWriter(dir.path().native(), 1, 1); }).find("is there already"),
            std::string::npos);
}

}  // namespace
}  // namespace prdist
