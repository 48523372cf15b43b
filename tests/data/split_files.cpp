#include <prdist/data/split_files.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "error_text.hpp"
#include "temp_dir.hpp"

using namespace prdist;

namespace {

using Files = std::vector<std::string>;

Files parts(std::size_t count) {
  Files files;
  for (std::size_t i = 0; i < count; ++i) files.push_back(concat("train/part-", i));
  return files;
}

}  // namespace

TEST(SplitFiles, CutsContiguousBlocksTheFirstOnesLonger) {
  auto const five = parts(5);
  EXPECT_EQ(split_files(five, 2, 0).value(), Files(five.begin(), five.begin() + 3));
  EXPECT_EQ(split_files(five, 2, 1).value(), Files(five.begin() + 3, five.end()));
  auto const two = parts(2);
  EXPECT_EQ(split_files(two, 3, 0).value(), Files{two[0]});
  EXPECT_EQ(split_files(two, 3, 1).value(), Files{two[1]});
  EXPECT_EQ(split_files(two, 3, 2).value(), Files{});
}

TEST(SplitFiles, GivesEveryFileToExactlyOneWorker) {
  for (std::size_t count = 0; count < 20; ++count) {
    for (std::size_t workers = 1; workers < 9; ++workers) {
      Files together;
      for (std::size_t worker = 0; worker < workers; ++worker) {
        auto const mine = split_files(parts(count), workers, worker).value();
        EXPECT_LE(mine.size(), count / workers + 1);
        EXPECT_GE(mine.size(), count / workers);
        together.insert(together.end(), mine.begin(), mine.end());
      }
      EXPECT_EQ(together, parts(count));
    }
  }
}

TEST(SplitFiles, BySuffixTheNumberBehindTheLastDashDecides) {
  Files const files{"a-b/part-000", "a-b/part-001", "a-b/part-007", "x-9"};
  EXPECT_EQ(split_files_by_suffix(files, 2, 0).value(), Files{"a-b/part-000"});
  EXPECT_EQ(split_files_by_suffix(files, 2, 1).value(), (Files{"a-b/part-001", "a-b/part-007", "x-9"}));
  EXPECT_EQ(split_files_by_suffix(files, 4, 3).value(), Files{"a-b/part-007"});
}

TEST(SplitFiles, BySuffixRefusesANameWithoutNumber) {
  for (auto const* const wrong : {"train-1/data.txt", "part-", "part-1.txt", "part"}) {
    EXPECT_EQ(error_of([&] {
                (void)split_files_by_suffix(Files{"part-1", wrong}, 2, 0).value();
              }),
              std::string("prdist[data.file] ") + wrong +
                  ", its name does not end in '-' and a number: rename it as in part-00017, or split by blocks");
  }
}

TEST(SplitFiles, RefusesAWorkerBeyondTheirNumber) {
  auto const text =
      "prdist[config.invalid] worker 2 of 2 has no share of the files: the index runs from 0 to the number of workers "
      "less 1";
  EXPECT_EQ(error_of([] { (void)split_files(parts(3), 2, 2).value(); }), text);
  EXPECT_EQ(error_of([] { (void)split_files_by_suffix(parts(3), 2, 2).value(); }), text);
  EXPECT_NE(error_of([] { (void)split_files(parts(3), 0, 0).value(); }), "no error");
}

TEST(ExpandFiles, TakesAFileADirectoryAndAPattern) {
  TempDir const dir;
  auto const ten = dir.file("train/part-10", "");
  auto const nine = dir.file("train/part-09", "");
  auto const other = dir.file("train/Other", "");
  dir.file("train/.hidden", "");
  dir.file("train/below/part-01", "");
  auto const train = (dir.path() / "train").native();
  EXPECT_EQ(expand_files(nine).value(), Files{nine});
  EXPECT_EQ(expand_files(train).value(), (Files{other, nine, ten})) << "sorted by bytes";
  EXPECT_EQ(expand_files(train + "/part-*").value(), (Files{nine, ten}));
  EXPECT_EQ(expand_files((dir.path() / "*" / "part-?0").native()).value(), Files{ten});
}

TEST(ExpandFiles, AFileWhoseNameLooksLikeAPatternIsAFile) {
  TempDir const dir;
  auto const odd = dir.file("part-[1]", "");
  EXPECT_EQ(expand_files(odd).value(), Files{odd});
}

TEST(ExpandFiles, NothingFoundIsAnError) {
  TempDir const dir;
  auto const here = ": check the path, seen from " + std::filesystem::current_path().native();
  auto const pattern = (dir.path() / "part-*").native();
  EXPECT_EQ(error_of([&] { (void)expand_files(pattern).value(); }),
            "prdist[data.file] " + pattern + ", no file matches" + here);
  EXPECT_EQ(error_of([&] { (void)expand_files(dir.path().native()).value(); }),
            "prdist[data.file] " + dir.path().native() + ", the directory holds no file" + here);
  EXPECT_EQ(error_of([] { (void)expand_files("").value(); }),
            "prdist[config.missing] the path of the data is empty: give a file, a directory or a pattern");
}
