#include <prdist/data/position.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <prdist/checkpoint/text_writer.hpp>
#include <prdist/data/slot_reader.hpp>

#include "error_text.hpp"
#include "temp_dir.hpp"

using namespace prdist;

namespace {

SlotReaderOptions numbers(std::size_t batch_size) {
  return {
      .format = {.label = "click", .dense = {}, .sparse = {"a"}}, .batch_size = batch_size, .skip_broken_lines = true};
}

std::vector<Key> rest_of(SlotReader& reader) {
  std::vector<Key> keys;
  for (auto const& batch : reader) keys.insert(keys.end(), batch.keys.begin(), batch.keys.end());
  return keys;
}

/// Four files, one of them empty, one without a last line end, with line ends of both kinds, gaps and broken lines.
class Position : public testing::Test {
 protected:
  Position() {
    std::string text[4];
    for (std::size_t i = 0; i < 60; ++i) {
      text[i / 20 + (i >= 20)] += concat(i % 7 == 0 ? "\n" : "", i % 11 == 0 ? "broken\n" : "", "click:", i % 2,
                                         " a:", i, i % 3 == 0 ? "\r\n" : "\n");
    }
    text[2].pop_back();
    for (std::size_t i = 0; i < 3; ++i) files_.push_back(dir_.file(concat("part-", i), text[i]));
    files_.push_back((dir_.path() / "part-3.gz").native());
    TextWriter packed(files_.back());
    packed.write(text[3]);
    packed.close();
    // Far more than one buffer holds, so that a position lies behind what is read at once.
    std::string many;
    for (std::size_t i = 60; i < 40000; ++i) many += concat("click:0 a:", i, '\n');
    large_ = {dir_.file("large", many), (dir_.path() / "large.gz").native()};
    TextWriter more(large_[1]);
    more.write(many);
    more.close();
  }

  static void expect_exact(std::vector<std::string> const& files, SlotReaderOptions const& options, std::uint64_t epoch,
                           std::size_t every) {
    SlotReader reader(files, options);
    reader.start_epoch(epoch);
    std::vector<DataPosition> positions{reader.position()};
    std::vector<Key> keys;
    std::vector<std::size_t> delivered{0};
    for (Batch batch; reader.next(batch);) {
      keys.insert(keys.end(), batch.keys.begin(), batch.keys.end());
      positions.push_back(reader.position());
      delivered.push_back(keys.size());
      EXPECT_EQ(positions.back().rows, keys.size());
    }
    auto const total = reader.counts();
    for (std::size_t i = 0; i < positions.size(); i += every) {
      SlotReader again(files, options);
      again.resume(positions[i]);
      EXPECT_EQ(again.position(), positions[i]);
      EXPECT_EQ(rest_of(again), std::vector<Key>(keys.begin() + static_cast<std::ptrdiff_t>(delivered[i]), keys.end()))
          << "behind batch " << i;
      EXPECT_EQ(again.counts().rows, total.rows);
      EXPECT_EQ(again.counts().skipped, total.skipped);
      // The epoch after it is a whole one.
      again.resume(positions[i]);
      (void)rest_of(again);
      SlotReader whole(files, options);
      whole.start_epoch(epoch + 1);
      Batch one, other;
      (void)whole.next(one);
      (void)*again.begin();
      again.start_epoch(epoch + 1);
      (void)again.next(other);
      EXPECT_EQ(one, other);
    }
  }

  TempDir dir_;
  std::vector<std::string> files_, large_;
};

}  // namespace

TEST_F(Position, AtEveryBatchTheRestIsExactlyWhatWasNotDelivered) {
  prdist::set_log({});
  for (std::size_t const size : {1, 3, 7, 20, 100}) expect_exact(files_, numbers(size), 0, 1);
  prdist::set_log(prdist::detail::log_to_stderr);
}

TEST_F(Position, AlsoWhenFilesAndRowsAreShuffled) {
  prdist::set_log({});
  for (std::size_t const size : {1, 7}) {
    auto options = numbers(size);
    options.shuffle = 5;
    for (std::uint64_t const epoch : {0, 3}) expect_exact(files_, options, epoch, 1);
  }
  prdist::set_log(prdist::detail::log_to_stderr);
}

TEST_F(Position, AlsoFarInsideLargeFiles) {
  expect_exact(large_, numbers(997), 0, 9);
}

TEST_F(Position, TheSizeOfBatchesMayChange) {
  SlotReader reader(files_, numbers(8));
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  SlotReader other(files_, numbers(5));
  other.resume(reader.position());
  ASSERT_TRUE(other.next(batch));
  EXPECT_EQ(batch.keys, (std::vector<Key>{8, 9, 10, 11, 12}));
}

TEST_F(Position, ALineBehindItIsNamedByItsNumberInTheFile) {
  auto const path = dir_.file("bad", "click:0 a:1\nclick:0 a:2\nclick:0 a:3\nclick:0 a:x\n");
  auto options = numbers(2);
  options.skip_broken_lines = false;
  SlotReader reader({path}, options), again({path}, options);
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  again.resume(reader.position());
  EXPECT_NE(error_of([&] { (void)again.next(batch); }).find(path + ":4, field 2"), std::string::npos);
}

TEST_F(Position, OtherFilesOrAnotherSeedAreRefused) {
  auto options = numbers(4);
  SlotReader reader(files_, options);
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  auto const at = reader.position();
  auto const text = concat(" are another list than when the position in '", files_[0],
                           "' was taken: give the same files, by the same paths, or start without the position");
  SlotReader fewer({files_[0], files_[1]}, options);
  EXPECT_EQ(error_of([&] { fewer.resume(at); }), "prdist[data.position] the data, 2 files now," + text);
  std::swap(files_[1], files_[2]);
  SlotReader swapped(files_, options);
  EXPECT_EQ(error_of([&] { swapped.resume(at); }), "prdist[data.position] the data, 4 files now," + text);
  std::swap(files_[1], files_[2]);
  options.shuffle = 1;
  SlotReader shuffled(files_, options);
  EXPECT_EQ(error_of([&] { shuffled.resume(at); }),
            concat("prdist[data.position] the data have another shuffle seed than when the position in '", files_[0],
                   "' was taken: give the same seed, or start without the position"));
  // Before the first batch there is no name to give.
  SlotReader unread(files_, options), few({files_[0]}, options);
  EXPECT_EQ(error_of([&] { few.resume(unread.position()); }),
            "prdist[data.position] the data, 1 files now, are another list than when the position was taken: give the "
            "same files, by the same paths, or start without the position");
}

TEST_F(Position, AChangedOrMissingFileIsRefused) {
  for (bool const shuffled : {false, true}) {
    auto options = numbers(4);
    if (shuffled) options.shuffle = 1;
    auto const path = dir_.file("changing", "click:0 a:1\nclick:0 a:2\nclick:0 a:3\nclick:0 a:4\nclick:0 a:5\n");
    SlotReader reader({path}, options), again({path}, options);
    Batch batch;
    ASSERT_TRUE(reader.next(batch));
    auto const at = reader.position();
    dir_.file("changing", "click:0 a:1\n");
    EXPECT_EQ(
        error_of([&] { again.resume(at); }),
        "prdist[data.position] " + path +
            ", has 12 bytes and had 60 when the position in it was taken: bring the old one back, or start without "
            "the position");
    // As long as before, and not the same.
    dir_.file("changing", "click:0 a:1" + std::string(48, ' ') + '\n');
    EXPECT_EQ(error_of([&] { again.resume(at); }),
              shuffled
                  ? "prdist[data.position] " + path +
                        ", has 1 rows and 4 were taken from it: bring the old one back, or start without the position"
                  : "prdist[data.position] " + path +
                        ", no line ends at byte 48, so the file has changed since: bring the old one back, or start "
                        "without the position");
    std::filesystem::remove(path);
    EXPECT_EQ(error_of([&] { again.resume(at); }),
              "prdist[data.file] " + path +
                  ", cannot be opened, No such file or directory: check the path and its permissions");
  }
}

TEST_F(Position, KnowsTheSizesOfAllFilesAsTheyWereFirst) {
  auto const first = dir_.file("first", "click:0 a:1\n"), second = dir_.file("second", "click:0 a:1\nclick:0 a:2\n");
  auto const missing = (dir_.path() / "missing").native();
  SlotReader const reader({first, second, missing}, numbers(1));
  EXPECT_EQ(reader.position().sizes, (std::vector<std::uint64_t>{12, 24, 0}));
  dir_.file("second", "click:0 a:1\n");
  EXPECT_EQ(reader.position().sizes, (std::vector<std::uint64_t>{12, 24, 0}));
}

// Not only in the file where the reader stands: rows of the others would be missing, or come again.
TEST_F(Position, AFileOfAnotherSizeIsRefusedBegunOrNot) {
  auto const first = dir_.file("first", "click:0 a:1\nclick:1 a:1\n"), second = dir_.file("second", "click:0 a:1\n");
  SlotReader reader({first, second}, numbers(1));
  Batch batch;
  reader.start_epoch(0);
  ASSERT_TRUE(reader.next(batch));
  auto at = reader.position();
  dir_.file("second", "click:0 a:1\nclick:0 a:2\n");
  auto const error = error_of([&] { SlotReader({first, second}, numbers(1)).resume(at); });
  EXPECT_EQ(error, "prdist[data.position] " + second +
                       ", has 24 bytes and had 12 when the job was stopped: bring back what it was, or start without "
                       "the position");
  at.sizes.clear();  // of a checkpoint that did not keep them
  EXPECT_NO_THROW(SlotReader({first, second}, numbers(1)).resume(at));
}

TEST_F(Position, ADamagedOneIsRefused) {
  SlotReader reader(files_, numbers(4));
  auto at = reader.position();
  at.file = 9;
  at.name = "x";
  EXPECT_EQ(error_of([&] { reader.resume(at); }),
            "prdist[data.position] file 9 of the data is not 'x': the position is damaged, start without it");
  at.file = 2;
  EXPECT_NE(error_of([&] { reader.resume(at); }).find("file 2 of the data is not 'x'"), std::string::npos);
}
