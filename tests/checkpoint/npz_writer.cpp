#include <prdist/checkpoint/npz_writer.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"
#include "python.hpp"

namespace prdist {
namespace {

TEST(NpzWriter, ArraysComeWholeOrInPieces) {
  TempDir const dir;
  auto const path = (dir.path() / "model.npz").native();
  std::vector<float> const six{1, 2, 3, 4, 5, 6.5F};
  std::vector<std::uint64_t> const keys{7, 8};
  {
    NpzWriter out(path);
    out.add<float>("fc0.w", six, {3, 2});
    out.begin<float>("rows", 2);
    out.write<float>(std::span(six).first(2));
    out.write<float>(std::span(six).subspan(2));
    out.end<float>();
    out.begin<std::uint64_t>("keys");
    out.write<std::uint64_t>(keys);
    out.end<std::uint64_t>();
    out.begin<float>("nothing", 5);
    out.end<float>();
    EXPECT_FALSE(std::filesystem::exists(path));
    out.close();
  }
  EXPECT_EQ(read_by_python(path),
            "fc0.w <f4 3x2 1 2 3 4 5 6.5\nrows <f4 3x2 1 2 3 4 5 6.5\nkeys <u8 2 7 8\nnothing <f4 0x5\n");
}

TEST(NpzWriter, TakesTheNameOfNothingButAFile) {
  TempDir const dir;
  auto const path = (dir.path() / "pipe").native();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { NpzWriter{path}; }),
            "prdist[checkpoint.file] " + path + ", is there and is no file: give the name of a file");
  // What is of a temporary name is not ours because of that.
  dir.file("model.npz.tmp", "somebody's");
  NpzWriter out((dir.path() / "model.npz").native());
  std::filesystem::rename(path, dir.path() / "model.npz");
  EXPECT_NE(error_of([&] { out.close(); }).find("model.npz, is there and is no file"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_fifo(dir.path() / "model.npz"));
  EXPECT_EQ(std::filesystem::file_size(dir.path() / "model.npz.tmp"), 10U);
}

TEST(NpzWriter, WithoutCloseNothingStays) {
  TempDir const dir;
  { NpzWriter const out((dir.path() / "model.npz").native()); }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace prdist
