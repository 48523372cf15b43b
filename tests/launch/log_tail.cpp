#include <prdist/launch/log_tail.hpp>

#include <gtest/gtest.h>

#include "support.hpp"

using launch_test::TempFolder;
using prdist::LogTail;

namespace {

/// A log under the test's hand and the lines its tail has shown.
struct Followed {
  TempFolder folder;
  std::ofstream log{folder / "log", std::ios::binary};
  LogTail tail{folder / "log"};

  std::vector<std::string> after(std::string_view text) {
    log << text << std::flush;
    std::vector<std::string> lines;
    tail.poll([&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  }
  std::vector<std::string> at_end() {
    std::vector<std::string> lines;
    tail.finish([&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST(LogTail, ShowsEachLineOnceWhenItIsWhole) {
  Followed followed;
  EXPECT_EQ(followed.after(""), Lines{});
  EXPECT_EQ(followed.after("one\ntw"), Lines{"one"});
  EXPECT_EQ(followed.after("o\n\nthree"), (Lines{"two", ""}));
  EXPECT_EQ(followed.at_end(), Lines{"three"});
  EXPECT_EQ(followed.at_end(), Lines{});
}

TEST(LogTail, ShowsTheLastStateOfARewrittenLine) {
  Followed followed;
  EXPECT_EQ(followed.after("10%\r50%\r100%\ndos\r\n"), (Lines{"100%", "dos"}));
}

TEST(LogTail, SkipsAFloodAndSaysSo) {
  Followed followed;
  auto const lines = followed.after(std::string(6 << 20, '\n') + "last\n");
  ASSERT_GT(lines.size(), 2U);
  EXPECT_EQ(lines.front(), prdist::concat("... ", (6 << 20) + 5 - (64 << 10), " bytes not shown: see ",
                                          (followed.folder / "log").string()));
  EXPECT_EQ(lines.back(), "last");
  EXPECT_LT(lines.size(), 70'000U);
}

TEST(LogTail, DoesNotHoardALineWithoutEnd) {
  Followed followed;
  auto const lines = followed.after(std::string(1 << 20, 'x'));
  EXPECT_GT(lines.size(), 10U);
}

TEST(LogTail, OfAMissingFileIsEmpty) {
  LogTail tail("/no/such/log");
  tail.finish([](std::string_view line) { ADD_FAILURE() << line; });
}
