#include <prdist/launch/logs.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

TEST(LogFolder, IsMadeAndBelongsToOneJob) {
  TempFolder folder;
  auto const path = folder / "a/b";
  auto claim = claim_log_dir(path);
  ASSERT_TRUE(claim);
  auto const second = claim_log_dir(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(std::string(second.error().what()),
            concat("prdist[config.contradiction] launcher: the log folder '", path.string(),
                   "' is in use by another job: give another one with --log_dir"));
  claim->reset();
  EXPECT_TRUE(claim_log_dir(path));
}

TEST(LogFolder, ThatCannotBeMadeIsNamed) {
  auto const claim = claim_log_dir("/dev/null/log");
  ASSERT_FALSE(claim);
  EXPECT_STREQ(claim.error().what(),
               "prdist[config.invalid] launcher: the log folder '/dev/null/log' cannot be used, Not a directory: give "
               "another one with --log_dir");
}

TEST(LogFolder, PutsAwayAllLogsOfTheRunBefore) {
  TempFolder folder;
  for (auto const* const name : {"serverlog.0", "workerlog.0", "workerlog.3", "workerlog.3.prev", "workerlog.12.prev",
                                 "progress.3", "report.json", "workerlog.x", "mylog.0", "workerlog.1.gz"}) {
    launch_test::write_file(folder / name, name);
  }
  std::filesystem::create_directory(folder / "workerlog.7");
  auto const names = [&] {
    std::set<std::string> found;
    for (auto const& entry : std::filesystem::directory_iterator(folder.path())) {
      found.insert(entry.path().filename().string());
    }
    return found;
  };
  std::set<std::string> const others{"report.json", "workerlog.x", "mylog.0", "workerlog.1.gz", "workerlog.7"};
  auto expected = others;
  expected.insert({"serverlog.0.prev", "workerlog.0.prev", "workerlog.3.prev"});
  retire_logs(folder.path());
  EXPECT_EQ(names(), expected);
  EXPECT_EQ(launch_test::read_file(folder / "workerlog.3.prev"), "workerlog.3");
  launch_test::write_file(folder / "workerlog.1", "");
  retire_logs(folder.path(), false);
  EXPECT_EQ(names(), others);
  retire_logs(folder / "nowhere");
}

TEST(LogFile, IsFreshAndKeepsTheOneBefore) {
  TempFolder folder;
  auto const path = folder / "workerlog.0";
  for (auto const* text : {"first\n", "second\n", "third\n"}) {
    auto const log = open_log(path).value();
    ASSERT_EQ(::write(log.get(), text, std::string_view(text).size()),
              static_cast<ssize_t>(std::string_view(text).size()));
  }
  EXPECT_EQ(launch_test::read_file(path), "third\n");
  EXPECT_EQ(launch_test::read_file(path.string() + ".prev"), "second\n");
}

TEST(LogFile, ThatCannotBeWrittenIsNamed) {
  TempFolder folder;
  std::filesystem::create_directory(folder / "workerlog.0");
  auto const log = open_log(folder / "workerlog.0");
  ASSERT_FALSE(log);
  EXPECT_EQ(std::string(log.error().what()),
            concat("prdist[config.invalid] launcher: the log file '", (folder / "workerlog.0").string(),
                   "' cannot be written, it is a folder: give another folder with --log_dir"));
}

TEST(LastLines, AreTheLastOnesWhole) {
  TempFolder folder;
  auto const path = folder / "log";
  using Lines = std::vector<std::string>;
  EXPECT_EQ(last_lines(path, 3), Lines{});
  launch_test::write_file(path, "");
  EXPECT_EQ(last_lines(path, 3), Lines{});
  launch_test::write_file(path, "one\ntwo\n\nfour");
  EXPECT_EQ(last_lines(path, 3), (Lines{"two", "", "four"}));
  EXPECT_EQ(last_lines(path, 9), (Lines{"one", "two", "", "four"}));
  launch_test::write_file(path, "only\n");
  EXPECT_EQ(last_lines(path, 3), Lines{"only"});
}

TEST(LastLines, OfALongLogCostLittle) {
  TempFolder folder;
  auto const path = folder / "log";
  launch_test::write_file(path, std::string(5 << 20, 'x') + "\nlast\n");
  auto const lines = last_lines(path, 10);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), 404U);
  EXPECT_EQ(lines[1], "last");
}

TEST(LogFolder, MayBeSharedByNodesOfOneJob) {
  TempFolder folder;
  auto const first = claim_log_dir(folder.path(), true);
  ASSERT_TRUE(first);
  EXPECT_TRUE(claim_log_dir(folder.path(), true));
  EXPECT_FALSE(claim_log_dir(folder.path()));
}
