// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/copy_folder.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::read_file;
using launch_test::TempFolder;
using launch_test::write_file;
namespace fs = std::filesystem;

TEST(CopyFolder, CopiesOverAnOlderOne) {
  TempFolder folder;
  fs::create_directories(folder / "from/below");
  write_file(folder / "from/part-0", "new");
  write_file(folder / "from/below/part-1", "1");
  fs::create_directories(folder / "elsewhere");
  write_file(folder / "elsewhere/part-2", "2");
  fs::create_directory_symlink("../elsewhere", folder / "from/link");
  fs::permissions(folder / "from/part-0", fs::perms::owner_all);
  fs::create_directories(folder / "to/data");
  write_file(folder / "to/data/part-0", "old and longer");
  write_file(folder / "to/data/kept", "kept");
  EXPECT_TRUE(copy_folder(folder / "from", folder / "to/data").value());
  EXPECT_EQ(read_file(folder / "to/data/part-0"), "new");
  EXPECT_EQ(fs::status(folder / "to/data/part-0").permissions(), fs::perms::owner_all);
  EXPECT_EQ(read_file(folder / "to/data/below/part-1"), "1");
  EXPECT_EQ(read_file(folder / "to/data/link/part-2"), "2");
  EXPECT_FALSE(fs::is_symlink(folder / "to/data/link"));
  EXPECT_EQ(read_file(folder / "to/data/kept"), "kept");
}

TEST(CopyFolder, CanBeEndedWithinALargeFile) {
  TempFolder folder;
  fs::create_directories(folder / "from");
  write_file(folder / "from/part-0", "");
  fs::resize_file(folder / "from/part-0", (8 << 20) + 5);
  std::vector<std::uint64_t> seen;
  EXPECT_TRUE(copy_folder(folder / "from", folder / "whole", [&](Copied const& copied) {
                seen.push_back(copied.bytes);
                return true;
              }).value());
  EXPECT_EQ(fs::file_size(folder / "whole/part-0"), (8U << 20) + 5);
  ASSERT_EQ(seen.size(), 10U) << "before the file, and behind each piece";
  EXPECT_EQ(seen.front(), 0U);
  EXPECT_EQ(seen[1], 1U << 20);
  EXPECT_EQ(seen.back(), (8U << 20) + 5);
  EXPECT_FALSE(copy_folder(folder / "from", folder / "part", [](Copied const& copied) {
                 return copied.bytes < 3 << 20;
               }).value());
  EXPECT_EQ(fs::file_size(folder / "part/part-0"), 3U << 20);
}

TEST(CopyFolder, CanBeEndedBetweenFiles) {
  TempFolder folder;
  fs::create_directories(folder / "from/below");
  for (int i = 0; i < 9; ++i) write_file(folder / concat("from/below/part-", i), "");
  EXPECT_FALSE(
      copy_folder(folder / "from", folder / "to", [](Copied const& copied) { return copied.files < 4; }).value());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "to/below"), fs::directory_iterator()), 4);
}

TEST(CopyFolder, ThatFailsIsNamed) {
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

TEST(CopyFolder, DoesNotEmptyAFileByCopyingItOverItself) {
  TempFolder folder;
  fs::create_directories(folder / "from");
  write_file(folder / "from/part-0", "rows");
  fs::create_directories(folder / "to");
  fs::create_hard_link(folder / "from/part-0", folder / "to/part-0");
  auto const copied = copy_folder(folder / "from", folder / "to");
  ASSERT_FALSE(copied);
  EXPECT_EQ(std::string(copied.error().what()),
            concat("prdist[data.file] launcher: '", (folder / "from/part-0").string(), "' cannot be copied to '",
                   (folder / "to").string(),
                   "', File exists: give a folder with room that can be written, with --workspace"));
  EXPECT_EQ(read_file(folder / "from/part-0"), "rows");
}

TEST(CopyFolder, DoesNotWaitForAPipe) {
  TempFolder folder;
  fs::create_directories(folder / "from");
  ASSERT_EQ(::mkfifo((folder / "from/pipe").c_str(), 0600), 0);
  EXPECT_EQ(launch_test::in_child([&] { return copy_folder(folder / "from", folder / "to") ? 1 : 0; }), 0);
}

TEST(CopyFolder, IsNotCopiedIntoItself) {
  TempFolder folder;
  fs::create_directories(folder / "from/below");
  EXPECT_FALSE(copy_folder(folder / "from", folder / "from"));
  auto const refused = copy_folder(folder / "from", folder / "from/below/to");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), concat("launcher: '", (folder / "from").string(), "' cannot be copied to '",
                                              (folder / "from/below/to").string(),
                                              "', which is within it: give a folder elsewhere, with --workspace"));
  EXPECT_TRUE(fs::is_empty(folder / "from/below/to"));
}

TEST(CopyFolder, DoesNotFollowALinkThatLeadsBack) {
  TempFolder folder;
  fs::create_directories(folder / "from/below");
  fs::create_directory_symlink("..", folder / "from/below/link");
  auto const refused = copy_folder(folder / "from", folder / "to");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            concat("launcher: '", (folder / "from/below/link").string(), "' cannot be copied to '",
                   (folder / "to").string(), "', Too many levels of symbolic links: give a folder with room that can ",
                   "be written, with --workspace"));
}
