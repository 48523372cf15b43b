#include <prdist/data/slot_reader.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../support/caught_log.hpp"
#include "error_text.hpp"
#include "temp_dir.hpp"

using namespace prdist;

namespace {

/// One slot, no dense features: `click:<i % 2> a:<i>`.
SlotReaderOptions numbers(std::size_t batch_size) {
  return {.format = {.label = "click", .dense = {}, .sparse = {"a"}}, .batch_size = batch_size};
}

std::string rows(std::size_t first, std::size_t end) {
  std::string text;
  for (auto i = first; i < end; ++i) text += concat("click:", i % 2, " a:", i, '\n');
  return text;
}

struct Epoch {
  std::vector<Key> keys;
  std::vector<std::size_t> sizes;
};

Epoch read_epoch(SlotReader& reader) {
  Epoch epoch;
  for (auto const& batch : reader) {
    epoch.keys.insert(epoch.keys.end(), batch.keys.begin(), batch.keys.end());
    epoch.sizes.push_back(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      EXPECT_EQ(batch.labels[i], static_cast<float>(batch.keys_of(i, 0)[0] % 2));
    }
  }
  return epoch;
}

std::vector<Key> counting(std::size_t count) {
  std::vector<Key> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = i;
  return keys;
}

constexpr auto criteo_line =
    "click:1 dense_feature:0.0 dense_feature:0.00497512437811 dense_feature:0.05 dense_feature:0.08 "
    "dense_feature:0.207421875 dense_feature:0.028 dense_feature:0.35 dense_feature:0.08 dense_feature:0.082 "
    "dense_feature:0.0 dense_feature:0.4 dense_feature:0.0 dense_feature:0.08 1:737395 2:210498 3:903564 4:286224 "
    "5:286835 6:906818 7:906116 8:67180 9:27346 10:51086 11:142177 12:95024 13:157883 14:873363 15:600281 16:812592 "
    "17:228085 18:35900 19:880474 20:984402 21:100885 22:26235 23:410878 24:798162 25:499868 26:306163";

}  // namespace

TEST(SlotReader, ReadsCriteoByDefault) {
  TempDir const dir;
  SlotReader reader({dir.file("part-000", criteo_line)});
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch.slots, 26U);
  EXPECT_EQ(batch.dense_dim, 13U);
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch.labels[0], 1.0F);
  EXPECT_EQ(batch.dense[1], 0.00497512437811F);
  EXPECT_EQ(batch.dense[12], 0.08F);
  ASSERT_EQ(batch.keys.size(), 26U);
  EXPECT_EQ(batch.keys.front(), 737395U);
  EXPECT_EQ(batch.keys.back(), 306163U);
  EXPECT_FALSE(reader.next(batch));
  EXPECT_TRUE(batch.empty());
}

TEST(SlotReader, BatchesRunOverFileEndsAndTheLastIsShort) {
  TempDir const dir;
  SlotReader reader({dir.file("a", rows(0, 5)), dir.file("b", ""), dir.file("c", rows(5, 11))}, numbers(4));
  auto const epoch = read_epoch(reader);
  EXPECT_EQ(epoch.keys, counting(11));
  EXPECT_EQ(epoch.sizes, (std::vector<std::size_t>{4, 4, 3}));
  EXPECT_EQ(reader.counts().rows, 11U);
  EXPECT_EQ(read_epoch(reader).keys, counting(11)) << "the second epoch";
}

TEST(SlotReader, ANewEpochDropsWhatWasUnread) {
  TempDir const dir;
  SlotReader reader({dir.file("a", rows(0, 100))}, numbers(4));
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(read_epoch(reader).keys, counting(100));
}

TEST(SlotReader, ReusesTheMemoryOfABatch) {
  TempDir const dir;
  SlotReader reader({dir.file("a", rows(0, 64))}, numbers(16));
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  auto const* const keys = batch.keys.data();
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch.keys.data(), keys);
  EXPECT_EQ(batch.keys.front(), 16U);
}

TEST(SlotReader, TakesWindowsLineEndsGapsMarksAndAnOpenEnd) {
  TempDir const dir;
  SlotReader reader({dir.file("a",
                              "\xef\xbb\xbf"
                              "click:0 a:0\r\n\r\n  \r\nclick:1 a:1\r\n\nclick:0 a:2")},
                    numbers(8));
  EXPECT_EQ(read_epoch(reader).keys, counting(3));
}

TEST(SlotReader, ABrokenLineIsNamedByFileLineFieldAndValue) {
  TempDir const dir;
  auto const path = dir.file("part-000", rows(0, 16) + "click:0 a:abc\n");
  SlotReader reader({path}, numbers(8));
  EXPECT_EQ(error_of([&] { (void)read_epoch(reader); }),
            "prdist[data.line] " + path +
                ":17, field 2 'a:abc': not an id, a whole number from 0 to 2^64 - 1: mend the line, or set "
                "skip_broken_lines");
}

TEST(SlotReader, AFaultOfTheWholeLineNamesNoField) {
  TempDir const dir;
  auto const path = dir.file("part-000", "a:3\n");
  SlotReader reader({path}, numbers(8));
  EXPECT_EQ(error_of([&] { (void)read_epoch(reader); }),
            "prdist[data.line] " + path + ":1: no label 'click': mend the line, or set skip_broken_lines");
}

TEST(SlotReader, AMessageShowsNoControlCharactersAndNoEndlessValue) {
  TempDir const dir;
  auto const path = dir.file("part-000", "click:0 a:\x1b[31m" + std::string(1000, 'x') + '\n');
  SlotReader reader({path}, numbers(8));
  EXPECT_EQ(error_of([&] { (void)read_epoch(reader); }),
            "prdist[data.line] " + path + ":1, field 2 'a:\\x1b[31m" + std::string(41, 'x') +
                "...': not an id, a whole number from 0 to 2^64 - 1: mend the line, or set skip_broken_lines");
}

TEST(SlotReader, SkipsAndCountsBrokenLinesWhenTold) {
  TempDir const dir;
  auto const path = dir.file("part-000", "click:0 a:0\nclick:5 a:9\nclick:1 a:1\n\ngarbage\nclick:0 a:2\n");
  auto options = numbers(2);
  options.skip_broken_lines = true;
  CaughtLog log;
  SlotReader reader({path}, options);
  EXPECT_EQ(read_epoch(reader).keys, counting(3));
  EXPECT_EQ(reader.counts().rows, 3U);
  EXPECT_EQ(reader.counts().skipped, 2U);
  auto const first =
      "prdist[data.line] " + path + ":2, field 1 'click:5': a label is 0 or 1: mend the line, or set skip_broken_lines";
  EXPECT_EQ(reader.counts().first_skipped, first);
  EXPECT_EQ(log.lines(), std::vector<std::string>{"2 broken lines skipped beside 3 rows; the first: " + first});
}

TEST(SlotReader, NulBytesAndEndlessLinesAreBrokenLines) {
  TempDir const dir;
  auto options = numbers(8);
  options.longest_line = 64;
  auto const nul = dir.file("nul", std::string("click:0 a:0\0\n", 13));
  SlotReader damaged({nul}, options);
  EXPECT_EQ(error_of([&] { (void)read_epoch(damaged); }),
            "prdist[data.line] " + nul +
                ":1: holds a NUL byte, so the file is binary or damaged: mend the line, or set skip_broken_lines");
  auto const endless = dir.file("endless", "click:0 a:0\nclick:0 a:" + std::string(2 << 20, '1') + "\nclick:1 a:1\n");
  SlotReader too_long({endless}, options);
  EXPECT_EQ(error_of([&] { (void)read_epoch(too_long); }),
            "prdist[data.line] " + endless + ":2: longer than 64 bytes: mend the line, or set skip_broken_lines");
  options.skip_broken_lines = true;
  CaughtLog const log;
  SlotReader both({nul, endless}, options);
  EXPECT_EQ(read_epoch(both).keys, counting(2));
  EXPECT_EQ(both.counts().skipped, 2U);
}

TEST(SlotReader, AFileThatCannotBeOpenedIsAnErrorEvenWhenLinesAreSkipped) {
  auto options = numbers(8);
  options.skip_broken_lines = true;
  TempDir const dir;
  auto const missing = (dir.path() / "missing").native();
  SlotReader reader({missing}, options);
  EXPECT_EQ(error_of([&] { (void)read_epoch(reader); }),
            "prdist[data.file] " + missing +
                ", cannot be opened, No such file or directory: check the path and its permissions");
}

// What was taken from a pipe is gone, and what comes out of it next is something else, or all of it again.
TEST(SlotReader, APipeThatWasBegunCannotBeResumed) {
  CaughtLog const log;
  for (auto const shuffle : {std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{7}}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Descriptor const read_end(ends[0]);
    auto const text = rows(0, 9);
    ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
    auto const path = concat("/dev/fd/", read_end.get());
    auto options = numbers(4);
    options.shuffle = shuffle;
    SlotReader reader({path}, options);
    auto const before = reader.position();
    Batch batch;
    ASSERT_TRUE(reader.next(batch));
    SlotReader again({path}, options);
    EXPECT_EQ(error_of([&] { again.resume(reader.position()); }),
              concat("prdist[data.position] ", path,
                     ", was begun and is a pipe, which cannot be read again: give its rows as a file, or start "
                     "without the position"));
    EXPECT_EQ(error_of([&] { again.resume(before); }), "no error");
  }
}

TEST(SlotReader, ABatchSizeOfZeroIsRefused) {
  EXPECT_EQ(error_of([] { SlotReader({}, numbers(0)); }), "prdist[config.invalid] batch_size is 0: give at least 1");
}

TEST(SlotReader, WarnsOnceOfASlotThatNoLineNamesAndOfNoRows) {
  TempDir const dir;
  CaughtLog log;
  auto options = numbers(8);
  options.format.sparse = {"a", "b"};
  SlotReader reader({dir.file("a", rows(0, 3))}, options);
  for ([[maybe_unused]] auto const& batch : reader) {
  }
  for ([[maybe_unused]] auto const& batch : reader) {
  }
  EXPECT_EQ(log.lines(), std::vector<std::string>{"slot 'b' stands in no line: is its name right?"});
  log.clear();
  SlotReader nothing({dir.file("empty", "")}, options);
  Batch batch;
  EXPECT_FALSE(nothing.next(batch));
  EXPECT_FALSE(nothing.next(batch));
  EXPECT_EQ(log.lines(), std::vector<std::string>{"no row in 1 files"});
}

TEST(SlotReader, ShufflesFilesAndRowsByTheSeedAlone) {
  TempDir const dir;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < 5; ++i) files.push_back(dir.file(concat("part-", i), rows(i * 40, i * 40 + 40)));
  auto options = numbers(16);
  options.shuffle = 7;
  SlotReader reader(files, options), same(files, options);
  auto const first = read_epoch(reader);
  auto const second = read_epoch(reader);
  EXPECT_EQ(first.sizes, std::vector<std::size_t>({16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 8}));
  EXPECT_EQ(first.keys, read_epoch(same).keys);
  EXPECT_NE(first.keys, second.keys);
  same.start_epoch(1);
  Batch batch;
  ASSERT_TRUE(same.next(batch));
  EXPECT_TRUE(std::equal(batch.keys.begin(), batch.keys.end(), second.keys.begin()));
  options.shuffle = 8;
  SlotReader other(files, options);
  EXPECT_NE(read_epoch(other).keys, first.keys);

  for (auto keys : {first.keys, second.keys}) {
    EXPECT_FALSE(std::is_sorted(keys.begin(), keys.end()));
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, counting(200)) << "every row once";
  }
}
