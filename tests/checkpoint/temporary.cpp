#include <prdist/checkpoint/temporary.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

namespace fs = std::filesystem;

TEST(Temporary, NamesAreNobodysAndGoAlone) {
  TempDir const dir;
  auto const path = (dir.path() / "model").native();
  auto const first = concat(path, ".tmp-", ::getpid(), "-0"), second = concat(path, ".tmp-", ::getpid(), "-1");
  dir.file(fs::path(first).filename().native() + "/mine", "somebody's");
  {
    detail::FolderBeside const folder(path);
    EXPECT_EQ(folder.path(), second);
    std::ofstream(folder.path() + "/part") << "x";
    auto const file = detail::make_file_beside(path);
    EXPECT_EQ(file, concat(path, ".tmp-", ::getpid(), "-2"));
    EXPECT_TRUE(fs::is_regular_file(file));
    detail::FolderBeside kept(path);
    fs::rename(kept.path(), path);
    kept.keep();
  }
  EXPECT_FALSE(fs::exists(second));
  EXPECT_TRUE(fs::exists(first + "/mine"));
  EXPECT_TRUE(fs::is_directory(path));
}

TEST(Temporary, AFolderThatIsNotThereIsSaidWithThePath) {
  EXPECT_EQ(error_of([] { detail::FolderBeside const folder("/nonexistent/model"); }),
            concat("prdist[checkpoint.file] /nonexistent/model.tmp-", ::getpid(),
                   "-0, cannot be made, No such file or directory: check that its folder exists and is writable"));
}

TEST(Temporary, OnlyAFileIsReplacedByAFile) {
  TempDir const dir;
  auto const path = (dir.path() / "model.npz").native();
  detail::check_replaceable(path);
  dir.file("model.npz", "old");
  detail::check_replaceable(path);
  fs::create_symlink(path, dir.path() / "link");
  detail::check_replaceable((dir.path() / "link").native());
  fs::create_symlink("/dev/null", dir.path() / "null");
  auto const pipe = (dir.path() / "pipe").native();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (auto const& other : {pipe, (dir.path() / "null").native(), dir.path().native()}) {
    EXPECT_EQ(error_of([&] { detail::check_replaceable(other); }),
              "prdist[checkpoint.file] " + other + ", is there and is no file: give the name of a file");
  }
}

TEST(NewFolder, HasItsNameWhenItIsFinishedAndVanishesOtherwise) {
  TempDir const dir;
  auto const path = (dir.path() / "above/folder").native();
  {
    detail::NewFolder const folder(path);
    write_text(folder.path() + "/file", "x");
  }
  EXPECT_TRUE(fs::is_empty(dir.path() / "above"));
  detail::NewFolder folder(path);
  write_text(folder.path() + "/file", "x");
  EXPECT_FALSE(fs::exists(path));
  folder.finish();
  EXPECT_EQ(read_text(path + "/file"), "x");
  EXPECT_EQ(error_of([&] { detail::NewFolder{path}; }),
            "prdist[checkpoint.file] " + path + ", is there already: choose another folder, or remove it first");
  EXPECT_NE(error_of([&] { detail::NewFolder{path + "/file/below"}; }).find("cannot be made, Not a directory"),
            std::string::npos);
}

}  // namespace
}  // namespace prdist
