// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/ssh/package.hpp>

#include "../support.hpp"

using namespace prdist;
using launch_test::error_of;

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class SshPackage : public ::testing::Test {
 protected:
  void put(std::string const& name) {
    fs::create_directories((folder_ / name).parent_path());
    launch_test::write_file(folder_ / name, name);
  }
  /// Files and links.
  [[nodiscard]] Names files(std::size_t node, std::size_t nodes = 2, bool whole = false) const {
    Names names;
    auto const package = package_for(folder_.path(), node, nodes, whole);
    for (auto const& entry : package.entries) {
      if (!fs::is_directory(entry.source)) names.push_back(entry.name);
    }
    return names;
  }
  [[nodiscard]] Names cut(std::size_t nodes = 2) const { return package_for(folder_.path(), 0, nodes, false).cut; }

  launch_test::TempFolder folder_;
};

}  // namespace

TEST_F(SshPackage, GoesWholeToEveryNodeWhenNothingIsCut) {
  for (auto const* const name : {"train.py", "lib/a.py", "data/part-000", ".hidden"}) put(name);
  fs::create_directory(folder_ / "empty");
  EXPECT_EQ(files(0), (Names{".hidden", "data/part-000", "lib/a.py", "train.py"}));
  EXPECT_EQ(files(1), files(0));
  EXPECT_TRUE(cut().empty());
  auto const entries = package_for(folder_.path(), 0, 2, false).entries;
  auto const place = [&](std::string_view name) { return std::ranges::find(entries, name, &PackageEntry::name); };
  EXPECT_NE(place("empty"), entries.end());
  EXPECT_LT(place("lib"), place("lib/a.py"));
}

TEST_F(SshPackage, DataBelowNumbersIsTheNodesOwn) {
  for (auto const* const name : {"train.py", "data/0/a", "data/1/b", "data/1/deep/c", "data/dict"}) put(name);
  EXPECT_EQ(files(0), (Names{"data/dict", "train.py", "data/a"}));
  EXPECT_EQ(files(1), (Names{"data/dict", "train.py", "data/b", "data/deep/c"}));
  EXPECT_EQ(cut(), (Names{"data/N"}));
  EXPECT_EQ(files(0, 2, true).size(), 5U) << "--whole_package";
  EXPECT_EQ(error_of([&] { return files(2, 3); }),
            concat("prdist[data.file] ssh: node 2 has no data: '", (folder_ / "data/2").string(),
                   "' does not exist, but other nodes have such a folder: cut the data for every node, or give "
                   "--whole_package"));
}

TEST_F(SshPackage, NumberedFoldersWithDataAreTheNodesOwn) {
  for (auto const* const name : {"train.py", "0/data/a", "1/data/b", "7/notes"}) put(name);
  EXPECT_EQ(files(0), (Names{"7/notes", "train.py", "data/a"}));
  EXPECT_EQ(files(1), (Names{"7/notes", "train.py", "data/b"}));
  auto const entries = package_for(folder_.path(), 1, 2, false).entries;
  EXPECT_EQ(std::ranges::count(entries, "data", &PackageEntry::name), 1) << "the folder itself";
  EXPECT_EQ(cut(), (Names{"N/data"}));
}

TEST_F(SshPackage, SplitFilesAreTheNodesOwnWhenThereAreAsManyAsNodes) {
  for (auto const* const name :
       {"t/train.txt", "t/train.txt-00000", "t/train.txt-00001", "x-00000", "x-00002", "y-00001"}) {
    put(name);
  }
  EXPECT_EQ(files(0), (Names{"t/train.txt", "t/train.txt-00000", "x-00000", "x-00002", "y-00001"}));
  EXPECT_EQ(files(1), (Names{"t/train.txt", "t/train.txt-00001", "x-00000", "x-00002", "y-00001"}));
  EXPECT_EQ(cut(), (Names{"t/train.txt-0000N"}));
  EXPECT_EQ(files(0, 3).size(), 6U) << "two parts are not for three nodes";
}

TEST_F(SshPackage, LinksStayInsideOrAreFollowed) {
  launch_test::TempFolder outside;
  launch_test::write_file(outside / "big", "data");
  put("lib/a.py");
  fs::create_symlink("lib/a.py", folder_ / "inner");
  fs::create_symlink(outside / "big", folder_ / "file");
  fs::create_symlink(outside.path(), folder_ / "dir");
  EXPECT_EQ(files(0), (Names{"dir/big", "file", "inner", "lib/a.py"}));
  for (auto const& entry : package_for(folder_.path(), 0, 1, false).entries) {
    EXPECT_EQ(entry.follow, entry.name == "file" || entry.name == "dir") << entry.name;
  }
  fs::create_symlink(folder_.path(), folder_ / "loop");
  EXPECT_NE(error_of([&] { return files(0); }).find("loop' leads back to a folder above it"), std::string::npos);
  fs::remove(folder_ / "loop");
  fs::create_symlink("/no/such/file", folder_ / "broken");
  EXPECT_NE(error_of([&] { return files(0); }).find("leads nowhere"), std::string::npos);
}

TEST_F(SshPackage, IsAFolder) {
  put("file");
  EXPECT_EQ(error_of([&] { return package_for(folder_ / "file", 0, 1, false); }),
            concat("prdist[config.invalid] ssh: '", (folder_ / "file").string(),
                   "' is not a folder: give the workspace to copy with --job_dispatch_package"));
}
