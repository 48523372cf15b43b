#include <prdist/checkpoint/paddle_dense.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

PaddleDense sample(std::size_t size, std::size_t columns) {
  PaddleDense table{.columns = columns};
  for (std::size_t i = 0; i < size * columns; ++i) table.values.push_back(static_cast<float>(i) / 3);
  return table;
}

TEST(PaddleDense, IsCutAsPaddleCutsIt) {
  // As real Paddle did: 2030 values over 2 servers are 1016 and 1014, 8 are 5 and 3.
  for (auto const& [size, first] : {std::pair{2030U, 1016}, std::pair{8U, 5}}) {
    TempDir const dir;
    auto const folder = paddle_table_folder(dir.path().native(), 1);
    write_paddle_dense(folder, sample(size, 3), 2, false);
    auto const text = contents(folder + "/part-000");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), first);
    EXPECT_EQ(read_paddle_dense(folder), sample(size, 3));
  }
}

TEST(PaddleDense, IsReadBackTheSameHoweverManyServers) {
  for (std::uint32_t servers : {1U, 2U, 7U, 30U}) {
    TempDir const dir;
    auto const folder = (dir.path() / "001").native();
    write_paddle_dense(folder, sample(20, 2), servers);
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + part_name(servers - 1) + ".gz"));
    auto const table = read_paddle_dense(folder);
    EXPECT_EQ(table, sample(20, 2));
    EXPECT_EQ(table.size(), 20U);
    EXPECT_EQ(table.column(1)[2], 5.0F / 3);
  }
}

TEST(PaddleDense, ABadLineIsNamedByFileAndLine) {
  TempDir const dir;
  auto const folder = (dir.path() / "001").native();
  dir.file("001/part-000", "1 2 3\n4 5 6 \n");
  dir.file("001/part-001", "7 8\n");
  EXPECT_EQ(error_of([&] { (void)read_paddle_dense(folder); }),
            "prdist[data.line] " + folder +
                "/part-001:1, has 2 fields, the lines before 3: check that the layout is the "
                "one the table was saved with, or save it again");
  dir.file("001/part-001", "7 8 nine\n");
  EXPECT_NE(error_of([&] { (void)read_paddle_dense(folder); }).find("part-001:1, field 3 'nine' is not a number"),
            std::string::npos);
}

TEST(PaddleDense, AFifoInPlaceOfAFileHangsNobody) {
  TempDir const dir;
  auto const folder = (dir.path() / "001").native();
  dir.file("001/part-000", "1 2 3\n");
  ASSERT_EQ(::mkfifo((folder + "/part-001").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { (void)read_paddle_dense(folder); }),
            "prdist[data.file] " + folder + "/part-001, is a FIFO and not a file: check the path");
}

TEST(PaddleDense, EveryServersFileMustBeThereOnce) {
  TempDir const dir;
  auto const folder = (dir.path() / "001").native();
  auto const said = [&] { return error_of([&] { (void)read_paddle_dense(folder); }); };
  EXPECT_EQ(said(), "prdist[data.file] " + folder +
                        ", has 0 files part-<server>, so it is no dense table: check the path, and copy every server's "
                        "file");
  dir.file("001/part-001", "1\n");
  EXPECT_EQ(said(),
            "prdist[data.file] " + folder +
                ", has 1 files part-<server>, the last of server 1: check the path, and copy every server's file");
  dir.file("001/part-001.gz", "1\n");
  EXPECT_NE(said().find("server 1 has two files, so two saves are mixed: remove the older one"), std::string::npos);
}

TEST(PaddleDense, AWriterNeedsServersAndWholeElements) {
  auto half = sample(2, 2);
  half.values.pop_back();
  EXPECT_EQ(error_of([&] { write_paddle_dense("t/001", half, 1); }),
            "prdist[config.invalid] t/001, 3 numbers in 2 columns for 1 servers: give whole elements and at least one "
            "server");
  EXPECT_NE(error_of([&] { write_paddle_dense("t/001", sample(1, 1), 0); }), "no error");
}

}  // namespace
}  // namespace prdist
