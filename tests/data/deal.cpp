#include <prdist/data/deal.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include <prdist/checkpoint/text_writer.hpp>
#include <prdist/core/log.hpp>
#include <prdist/data/slot_reader.hpp>
#include <prdist/data/split_files.hpp>

#include "../support/random.hpp"
#include "error_text.hpp"
#include "temp_dir.hpp"

using namespace prdist;

namespace {

using Names = std::vector<std::string>;

std::uint64_t hundred(std::string const&) {
  return 100;
}

/// Of a reader of these files, as SlotReader would say it.
DataPosition at(Names files, std::uint64_t epoch, std::uint64_t file = 0, std::uint64_t offset = 0) {
  DataPosition position{.epoch = epoch, .file = file, .offset = offset, .source = 1};
  if (file > 0) {
    position.name = files[file - 1];
    position.file_size = 100;
  }
  position.files = std::move(files);
  return position;
}

std::string shown(DataPiece const& piece) {
  return concat(piece.epoch, ' ', piece.name, ' ', piece.number, ' ', piece.offset);
}

Names shown(std::vector<DataPiece> const& pieces) {
  Names all;
  for (auto const& piece : pieces) all.push_back(shown(piece));
  return all;
}

}  // namespace

TEST(Deal, WhatIsLeftOfTheLastEpochThatOneHasBegunAndOfThoseBefore) {
  std::vector<DataPosition> const positions{at({"a", "b"}, 1, 2, 30), at({"c", "d"}, 0, 1, 60)};
  auto const left = data_left(positions);
  EXPECT_EQ(left.epoch, 1U);
  EXPECT_EQ(shown(left.pieces), (Names{"0 c 1 60", "0 d 2 0", "1 b 2 30", "1 c 1 0", "1 d 2 0"}));
}

TEST(Deal, AnEpochThatNobodyHasBegunIsLeftToTheNewReaders) {
  // One reader has ended epoch 2 and another one not: what it has left still belongs to epoch 2.
  std::vector<DataPosition> positions{at({"a"}, 3), at({"b"}, 2, 1, 99)};
  auto dealt = deal(positions, 1, hundred);
  EXPECT_EQ(dealt[0].epoch, 2U);
  EXPECT_EQ(shown(*dealt[0].rest), (Names{"2 b 1 99"}));
  // Both have: epoch 3 begins, as an ordinary one.
  positions[1] = at({"b"}, 3);
  dealt = deal(positions, 1, hundred);
  EXPECT_EQ(dealt[0].epoch, 3U);
  EXPECT_FALSE(dealt[0].rest);
  // A job that was stopped before its first step begins.
  positions = {at({"a"}, 0), at({"b"}, 0)};
  dealt = deal(positions, 3, hundred);
  ASSERT_EQ(dealt.size(), 3U);
  EXPECT_EQ(dealt[2].epoch, 0U);
  EXPECT_FALSE(dealt[2].rest);
}

TEST(Deal, ALoopThatHadEndedIsNotBegunAgain) {
  std::vector<DataPosition> const positions{at({"a"}, 0, 1, 100), at({"b"}, 0, 1, 100)};
  for (auto const& each : deal(positions, 3, hundred)) {
    EXPECT_EQ(each.epoch, 0U);
    ASSERT_TRUE(each.rest);
    EXPECT_TRUE(each.rest->empty());
  }
}

TEST(Deal, AReaderWithoutFilesThatRanThroughAllEpochsSaysNothingOfThem) {
  DataPosition none{.epoch = 9, .files = Names{}};
  auto const left = data_left(std::vector{none, at({"a", "b"}, 0, 1, 50)});
  EXPECT_EQ(left.epoch, 0U);
  EXPECT_EQ(shown(left.pieces), (Names{"0 a 1 50", "0 b 2 0"}));
}

TEST(Deal, AFileOfAnotherSizeIsRefusedThoughNobodyHadBegunIt) {
  auto const error = [](std::vector<std::uint64_t> const& sizes) {
    std::vector<DataPosition> positions{at({"a", "b"}, 0, 1, 50), at({"c"}, 0, 1, 50)};
    positions[0].sizes = sizes;
    return error_of([&] { (void)deal(positions, 3, hundred); });
  };
  EXPECT_EQ(error({100, 100}), "no error");
  EXPECT_EQ(error({}), "no error") << "a position from before there were sizes";
  EXPECT_EQ(error({100, 0}), "no error") << "a pipe";
  EXPECT_EQ(
      error({100, 99}),
      "prdist[data.position] b, has 100 bytes and had 99 when the job was saved: bring the old one back, or start "
      "without the positions");
}

TEST(Deal, SharesBytesOutAndNotFiles) {
  auto const size = [](std::string const& name) -> std::uint64_t { return name == "big" ? 400 : 100; };
  std::vector<DataPosition> const positions{at({"big", "s1", "s2", "s3", "s4"}, 0), at({"z"}, 0, 1, 99)};
  auto const dealt = deal(positions, 2, size);
  EXPECT_EQ(shown(*dealt[0].rest), (Names{"0 big 1 0", "0 z 1 99"}));
  EXPECT_EQ(shown(*dealt[1].rest), (Names{"0 s1 2 0", "0 s2 3 0", "0 s3 4 0", "0 s4 5 0"}));
  // More readers than files: some have nothing, which is not the same as a new epoch.
  auto const many = deal(positions, 9, size);
  EXPECT_TRUE(many[8].rest && many[8].rest->empty());
  EXPECT_EQ(deal(positions, 9, size), many);
}

TEST(Deal, EmptyFilesAreSharedOutAsWell) {
  auto const dealt = deal(std::vector{at({"a", "b"}, 0), at({"c"}, 0, 1, 5)}, 3, [](auto const&) { return 100U; });
  std::size_t most = 0;
  for (auto const& each : dealt) most = std::max(most, each.rest->size());
  EXPECT_EQ(most, 1U);
  auto const empty = deal(std::vector{at({"a", "b"}, 1), at({"c"}, 0)}, 3, [](auto const&) { return 0U; });
  for (auto const& each : empty) EXPECT_LE(each.rest->size(), 1U);
}

TEST(Deal, SaysWhatItCannotDo) {
  auto const error = [](std::vector<DataPosition> const& positions) {
    return error_of([&] { (void)deal(positions, 3, hundred); });
  };
  auto bare = at({"a"}, 0, 1, 50);
  bare.files.reset();
  EXPECT_EQ(error({bare}),
            "prdist[data.position] a position in 'a' does not say which files its reader had, so nobody else can go on "
            "for it: start as many readers as there were, or all without a position");
  auto seeded = at({"b"}, 0);
  seeded.shuffle = 1;
  EXPECT_EQ(error({at({"a"}, 0), seeded}),
            "prdist[data.position] positions of readers that shuffled with different seeds cannot be dealt out: start "
            "as many readers as there were, or all without a position");
  auto unread = at({"a"}, 0);
  unread.source = 0;
  EXPECT_TRUE(error({unread}).starts_with("prdist[data.position] a position was dealt out and no reader has resumed"));
  auto damaged = at({"a"}, 0, 1, 50);
  damaged.name = "x";
  EXPECT_EQ(error({damaged}),
            "prdist[data.position] file 1 of the data is not 'x': the position is damaged, start without it");
  auto changed = at({"a"}, 0, 1, 50);
  changed.file_size = 99;
  EXPECT_EQ(error({changed}),
            "prdist[data.position] a, has 100 bytes and had 99 when the position in it was taken: bring the old one "
            "back, or start without the position");
}

namespace {

/// Jobs of real readers that are stopped and go on with other numbers of readers.
class DealtReaders : public testing::Test {
 protected:
  void SetUp() override { prdist::set_log({}); }
  void TearDown() override { prdist::set_log(prdist::detail::log_to_stderr); }

  /// Files of very different sizes, some empty, some packed, with broken lines and gaps.
  void plant(test::Random& random) {
    auto const count = 1 + random.below(9);
    for (std::size_t i = 0; i < count; ++i) {
      std::string text;
      auto const rows = random.below(4) == 0 ? random.below(3) : random.below(40);
      for (std::size_t row = 0; row < rows; ++row) {
        if (random.below(9) == 0) text += "broken\n";
        if (random.below(9) == 0) text += "\n";
        text += concat("click:0 a:", total_++, '\n');
      }
      if (!text.empty() && random.below(4) == 0) text.pop_back();
      if (random.below(4) == 0) {
        files_.push_back((dir_.path() / concat("part-", i, ".gz")).native());
        TextWriter packed(files_.back());
        packed.write(text);
        packed.close();
      } else {
        files_.push_back(dir_.file(concat("part-", i), text));
      }
    }
  }

  struct Worker {
    SlotReader reader;
    std::uint64_t epoch = 0;
    bool ended = false;
  };

  std::vector<Worker> start(std::size_t count) {
    std::vector<Worker> workers;
    for (std::size_t i = 0; i < count; ++i) {
      workers.push_back({SlotReader(split_files(files_, count, i).value(), options_)});
    }
    return workers;
  }

  /// The next batch of a worker, epoch after epoch.
  void step(Worker& worker, std::uint64_t epochs) {
    for (Batch batch; worker.epoch < epochs; worker.reader.start_epoch(++worker.epoch)) {
      if (!worker.reader.next(batch)) continue;
      for (auto const key : batch.keys) ++seen_[key];
      return;
    }
    worker.ended = true;
  }

  static std::vector<DataPosition> positions(std::vector<Worker> const& workers) {
    std::vector<DataPosition> all;
    for (auto const& worker : workers) all.push_back(worker.reader.position());
    return all;
  }

  TempDir dir_;
  Names files_;
  SlotReaderOptions options_{
      .format = {.label = "click", .dense = {}, .sparse = {"a"}}, .batch_size = 3, .skip_broken_lines = true};
  std::size_t total_ = 0;
  std::map<Key, std::uint64_t> seen_;
};

std::uint64_t size_on_disk(std::string const& name) {
  return std::filesystem::file_size(name);
}

}  // namespace

TEST_F(DealtReaders, DeliverEveryRowOncePerEpochHoweverOftenTheirNumberChanges) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    files_.clear();
    seen_.clear();
    total_ = 0;
    plant(random);
    options_.batch_size = 1 + random.below(12);
    options_.shuffle.reset();
    if (random.below(2) == 0) options_.shuffle = seed;
    auto const epochs = 1 + random.below(4);
    auto workers = start(1 + random.below(5));
    for (auto lives = random.below(5); lives > 0; --lives) {
      for (auto steps = random.below(2 + total_ / options_.batch_size); steps > 0; --steps) {
        step(workers[random.below(random.below(2) == 0 ? 1 : workers.size())], epochs);  // some are much slower
      }
      auto const count = 1 + random.below(5);
      auto const before = positions(workers);
      auto const after = count == workers.size() ? before : deal(before, count, size_on_disk);
      workers = start(count);
      for (std::size_t i = 0; i < count; ++i) {
        workers[i].reader.resume(after[i]);
        workers[i].epoch = after[i].epoch;
        if (count == before.size()) {
          EXPECT_EQ(workers[i].reader.position(), before[i]);
        }
      }
    }
    for (auto& worker : workers) {
      while (!worker.ended) step(worker, epochs);
    }
    ASSERT_EQ(seen_.size(), total_);
    for (auto const& [key, times] : seen_) ASSERT_EQ(times, epochs) << "row " << key;
    // And nothing is left for anybody.
    for (auto const& each : deal(positions(workers), workers.size() + 1, size_on_disk)) {
      EXPECT_TRUE(each.epoch == epochs && !each.rest) << each.epoch;
    }
  }
}

TEST_F(DealtReaders, StandWithinWhatTheyWereDealt) {
  for (char const* name : {"a", "b", "c"}) files_.push_back(dir_.file(name, "click:0 a:1\nclick:0 a:2\nclick:0 a:3\n"));
  options_.batch_size = 2;
  auto two = start(2);
  for (auto& each : two) step(each, 1);
  auto one = start(1);
  one[0].reader.resume(deal(positions(two), 1, size_on_disk)[0]);
  auto const position = one[0].reader.position();
  EXPECT_EQ(position.file, 0U);
  ASSERT_TRUE(position.rest && position.rest->size() == 3);
  EXPECT_EQ(position.rest->front().name, files_[0]);
  EXPECT_EQ(position.rest->front().offset, 24U);
  EXPECT_EQ(*position.files, files_);
  // The loop that begins next reads them, and the one behind it a whole epoch.
  std::size_t rows = 0;
  for (auto const& batch : one[0].reader) {
    rows += batch.size();
    SlotReader again(files_, options_);
    again.resume(one[0].reader.position());
    EXPECT_EQ(again.position(), one[0].reader.position());
  }
  EXPECT_EQ(rows, 5U);
  EXPECT_TRUE(one[0].reader.position().rest->empty());
  rows = 0;
  for (auto const& batch : one[0].reader) rows += batch.size();
  EXPECT_EQ(rows, 9U);
  EXPECT_FALSE(one[0].reader.position().rest);
  EXPECT_EQ(one[0].reader.position().epoch, 1U);
}

TEST(Deal, ReadersThatStandThousandsOfEpochsApartAreRefused) {
  std::vector<DataPosition> const positions{at({"a", "b"}, 0, 1, 30), at({"c"}, 50000, 1, 30)};
  EXPECT_EQ(error_of([&] { (void)deal(positions, 3, hundred); }),
            "prdist[data.position] what is left of the data is in more than 20000 pieces, of epochs 0 to 50000: the "
            "readers stand too far apart to be dealt out anew: start as many as there were");
}

TEST_F(DealtReaders, RefuseOtherFilesAndSeeds) {
  for (char const* name : {"a", "b"}) files_.push_back(dir_.file(name, "click:0 a:1\n"));
  auto const dealt = deal(positions(start(1)), 2, size_on_disk)[0];
  auto const other = dir_.file("c", "click:0 a:1\n");
  SlotReader strange({files_[0], other}, options_);
  EXPECT_EQ(error_of([&] { strange.resume(dealt); }),
            "prdist[data.position] " + other +
                " is not one of the 2 files of the job that was stopped: give the same files, or start without the "
                "position");
  options_.shuffle = 3;
  SlotReader shuffled({files_[0]}, options_);
  EXPECT_NE(error_of([&] { shuffled.resume(dealt); }).find("have another shuffle seed"), std::string::npos);
}

TEST_F(DealtReaders, NoticeAFileThatHasChangedOrGone) {
  for (char const* name : {"a", "b"}) files_.push_back(dir_.file(name, "click:0 a:1\nclick:0 a:2\n"));
  options_.batch_size = 1;
  auto workers = start(2);
  for (auto& each : workers) step(each, 1);
  auto const dealt = deal(positions(workers), 1, size_on_disk)[0];
  dir_.file("b", "click:0 a:1\n");
  SlotReader reader(files_, options_);
  reader.resume(dealt);
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(error_of([&] { (void)reader.next(batch); }),
            "prdist[data.position] " + files_[1] +
                ", has 12 bytes and had 24 when the position in it was taken: bring the old one back, or start without "
                "the position");
}
