#include <prdist/launch/program.hpp>

#include <gtest/gtest.h>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;
namespace fs = std::filesystem;

namespace {

void make_program(fs::path const& path) {
  fs::create_directories(path.parent_path());
  launch_test::write_file(path, "#!/bin/sh\n");
  fs::permissions(path, fs::perms::owner_all);
}

std::string error_of(Result<fs::path> const& result) {
  return result ? "" : result.error().what();
}

}  // namespace

TEST(FindProgram, LooksInPathThenBesideTheLauncher) {
  TempFolder folder;
  make_program(folder / "one/tool");
  make_program(folder / "two/tool");
  make_program(folder / "bin/tool");
  make_program(folder / "bin/only_here");
  auto const path = concat((folder / "none").string(), "::", (folder / "two").string(), ':', (folder / "one").string());
  EXPECT_EQ(find_program("tool", path, folder / "bin").value(), folder / "two/tool");
  EXPECT_EQ(find_program("only_here", path, folder / "bin").value(), folder / "bin/only_here");
  EXPECT_EQ(find_program("tool", "", folder / "bin").value(), folder / "bin/tool");
}

TEST(FindProgram, PassesOverWhatIsNoProgram) {
  TempFolder folder;
  launch_test::write_file(folder / "one/tool", "");
  fs::create_directories(folder / "one/tool");
  make_program(folder / "two/tool");
  auto const path = concat((folder / "one").string(), ':', (folder / "two").string());
  EXPECT_EQ(find_program("tool", path, "").value(), folder / "two/tool");
}

TEST(FindProgram, TakesANameWithASlashAsItStands) {
  TempFolder folder;
  make_program(folder / "sub/tool");
  EXPECT_EQ(find_program((folder / "sub/tool").string(), "/usr/bin", "").value(), folder / "sub/tool");
}

TEST(FindProgram, SaysWhereItLooked) {
  auto const text = error_of(find_program("no_such_tool", "/usr/bin:/bin", "/opt/prdist/bin"));
  EXPECT_EQ(text,
            "prdist[config.missing] launcher: there is no program 'no_such_tool' in PATH, beside the launcher "
            "(/opt/prdist/bin) or in the current folder: build or install it, or give its path");
  EXPECT_NE(error_of(find_program("", "/usr/bin", "/usr/bin")), "");
}

TEST(FindProgram, SaysWhatIsWrongWithAPath) {
  TempFolder folder;
  launch_test::write_file(folder / "data.txt", "x");
  launch_test::write_file(folder / "train.py", "x");
  auto const text_of = [&](std::string const& name) {
    return error_of(find_program((folder / name).string(), "", ""));
  };
  EXPECT_NE(text_of("missing").find("[config.missing] launcher: there is no program"), std::string::npos);
  EXPECT_NE(text_of("").find("is a folder: name the program in it"), std::string::npos);
  EXPECT_NE(text_of("data.txt").find("is not executable: chmod +x it"), std::string::npos);
  EXPECT_NE(text_of("train.py").find("is not executable: write  -- python3 "), std::string::npos);
}

TEST(FindProgram, KnowsItsOwnFolder) {
  EXPECT_TRUE(fs::exists(own_folder() / "test_launch"));
}
