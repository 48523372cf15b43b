// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/workspace.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::read_file;
using launch_test::TempFolder;
using launch_test::write_file;
namespace fs = std::filesystem;

TEST(Workspace, FindsADataShardInBothLayouts) {
  TempFolder job;
  fs::create_directories(job / "0/data");
  fs::create_directories(job / "data/1");
  EXPECT_EQ(find_shard(job.path(), 0).value(), job / "0/data");
  EXPECT_EQ(find_shard(job.path(), 1).value(), job / "data/1");
}

TEST(Workspace, AJobWithoutShardsIsFine) {
  TempFolder job;
  EXPECT_EQ(find_shard(job.path(), 0).value(), std::nullopt);
  EXPECT_EQ(find_shard(job / "missing", 0).value(), std::nullopt);
  fs::create_directories(job / "data/criteo");
  fs::create_directories(job / "7/models");
  EXPECT_EQ(find_shard(job.path(), 0).value(), std::nullopt) << "folders of other things are no shards";
}

TEST(Workspace, AMissingShardAmongOthersIsNamed) {
  TempFolder job;
  for (auto const* const id : {"10", "9"}) fs::create_directories(job / (std::string("data/") + id));
  EXPECT_EQ(std::string(find_shard(job.path(), 2).error().what()),
            concat("prdist[data.file] launcher: trainer 2 has no data: '", (job / "2/data").string(), "' and '",
                   (job / "data/2").string(),
                   "' do not exist, others do (9, 10): split the data for every trainer, or take the folders away"));
}

TEST(Workspace, CopiesAFolderOverAnOlderOne) {
  TempFolder folder;
  fs::create_directories(folder / "from/below");
  write_file(folder / "from/part-0", "new");
  write_file(folder / "from/below/part-1", "1");
  fs::create_directories(folder / "to/data");
  write_file(folder / "to/data/part-0", "old and longer");
  write_file(folder / "to/data/kept", "kept");
  ASSERT_TRUE(copy_folder(folder / "from", folder / "to/data"));
  EXPECT_EQ(read_file(folder / "to/data/part-0"), "new");
  EXPECT_EQ(read_file(folder / "to/data/below/part-1"), "1");
  EXPECT_EQ(read_file(folder / "to/data/kept"), "kept");
}

TEST(Workspace, ACopyThatFailsNamesTheFolder) {
  TempFolder folder;
  fs::create_directories(folder / "from");
  write_file(folder / "file", "");
  auto const copied = copy_folder(folder / "from", folder / "file/data");
  ASSERT_FALSE(copied);
  std::string const text = copied.error().what();
  EXPECT_TRUE(text.starts_with("prdist[data.file] launcher: '")) << text;
  EXPECT_NE(text.find("Not a directory: give a folder with room that can be written, with --workspace"),
            std::string::npos)
      << text;
}
