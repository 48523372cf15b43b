#include <prdist/data/planted_files.hpp>

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/data/slot_reader.hpp>
#include <prdist/data/split_files.hpp>

#include "error_text.hpp"
#include "temp_dir.hpp"

using namespace prdist;

namespace {

std::string training_text(std::filesystem::path const& directory) {
  std::string all;
  auto const files = expand_files((directory / "train").native()).value();
  for (auto const& file : files) all += contents(file);
  return all;
}

}  // namespace

TEST(PlantedFiles, ASeedMeansTheSameBytes) {
  // Pinned: people quote AUCs for a seed, and a cluster's nodes make the set each for itself.
  TempDir const dir;
  (void)write_planted(dir.path(), {.train_rows = 1000, .test_rows = 200, .files = 3, .seed = 1});
  EXPECT_EQ(hash_name(training_text(dir.path())), 10281968081430243143U);
  EXPECT_EQ(hash_name(contents(dir.path() / "test/part-000")), 15636813444713360245U);
}

TEST(PlantedFiles, TheReaderGivesBackTheRows) {
  TempDir const dir;
  (void)write_planted(dir.path(), {.train_rows = 100, .test_rows = 10, .files = 3, .seed = 4});
  SlotReader reader(expand_files((dir.path() / "train").native()).value(), {.batch_size = 1000});
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch, Planted(4).batch(PlantedSet::train, 0, 100));
}

TEST(PlantedFiles, RowsDoNotDependOnTheNumberOfFiles) {
  TempDir const one, seven;
  (void)write_planted(one.path(), {.train_rows = 100, .test_rows = 10, .files = 1});
  (void)write_planted(seven.path(), {.train_rows = 100, .test_rows = 10, .files = 7});
  EXPECT_TRUE(std::filesystem::exists(seven.path() / "train/part-006"));
  EXPECT_EQ(training_text(one.path()), training_text(seven.path()));
}

TEST(PlantedFiles, MetaTellsWhatIsKnown) {
  TempDir const dir;
  std::uint64_t last = 0, total = 0;
  auto const summary = write_planted(dir.path(), {.train_rows = 4000, .test_rows = 2000, .files = 2},
                                     [&](std::uint64_t done, std::uint64_t of) {
                                       EXPECT_GT(done, last);
                                       last = done;
                                       total = of;
                                     });
  EXPECT_EQ(last, 6000U);
  EXPECT_EQ(total, 6000U);
  auto const meta = boost::json::parse(contents(dir.path() / "meta.json")).as_object();
  EXPECT_EQ(meta.at("train_rows").to_number<std::uint64_t>(), 4000U);
  EXPECT_EQ(meta.at("files").to_number<std::uint64_t>(), 2U);
  EXPECT_EQ(meta.at("best_auc").as_double(), summary.best_auc);

  Planted const planted;
  std::vector<float> labels, probabilities;
  for (std::size_t i = 0; i < 2000; ++i) {
    auto const row = planted.row(PlantedSet::test, i);
    labels.push_back(row.click ? 1.0F : 0.0F);
    probabilities.push_back(static_cast<float>(row.probability));
  }
  EXPECT_NEAR(summary.best_auc, auc(labels, probabilities), 1e-6);
  EXPECT_NEAR(summary.best_log_loss, log_loss(labels, probabilities), 1e-6);
  EXPECT_GT(summary.best_auc, 0.83);
  EXPECT_GT(summary.unseen_test_ids, 0.0);
  EXPECT_LT(summary.unseen_test_ids, 1.0);
}

TEST(PlantedFiles, TheDefaultSetHasHalfAMillionDistinctIds) {
  // Counted without writing the files: the rows are a pure function.
  Planted const planted;
  std::vector<bool> seen(1000001);
  std::size_t distinct = 0;
  for (std::uint64_t i = 0; i < PlantedOptions{}.train_rows && distinct < 500000; ++i) {
    for (auto const id : planted.row(PlantedSet::train, i).ids) {
      distinct += seen[id] ? 0 : 1;
      seen[id] = true;
    }
  }
  EXPECT_GE(distinct, 500000U);
}

TEST(PlantedFiles, WritesAgainOverItsOwnFilesButNotBesideOthers) {
  TempDir const dir;
  PlantedOptions const options{.train_rows = 10, .test_rows = 10, .files = 2};
  (void)write_planted(dir.path(), options);
  (void)write_planted(dir.path(), options);
  auto const stale = (dir.path() / "train/part-001").native();
  EXPECT_EQ(error_of([&] { (void)write_planted(dir.path(), {.train_rows = 10, .test_rows = 10, .files = 1}); }),
            "prdist[data.file] " + stale +
                ", is there and not part of the set to be written: remove it or choose another directory");
  EXPECT_TRUE(std::filesystem::exists(stale));
}

TEST(PlantedFiles, RefusesWhatCannotBeMade) {
  TempDir const dir;
  for (auto const& options :
       {PlantedOptions{.train_rows = 0}, PlantedOptions{.test_rows = 0}, PlantedOptions{.files = 0},
        PlantedOptions{.train_rows = 3, .files = 4}, PlantedOptions{.train_rows = 1000000001}}) {
    EXPECT_EQ(error_of([&] { (void)write_planted(dir.path(), options); }),
              concat("prdist[config.invalid] a set of ", options.train_rows, " training rows in ", options.files,
                     " files and ", options.test_rows,
                     " test rows cannot be made: give 1 to 1000000000 rows of each kind and no more files than rows"));
  }
}

TEST(PlantedFiles, NamesThePathThatCannotBeWritten) {
  TempDir const dir;
  auto const blocked = dir.file("blocked", "a file, not a directory");
  EXPECT_EQ(error_of([&] { (void)write_planted(blocked, {.train_rows = 1, .test_rows = 1, .files = 1}); }),
            "prdist[data.file] " + blocked +
                "/train, cannot be made, Not a directory: check the path, its permissions and the free space");
  std::filesystem::create_directories(dir.path() / "set/train/part-000");
  EXPECT_EQ(error_of([&] { (void)write_planted(dir.path() / "set", {.train_rows = 1, .test_rows = 1, .files = 1}); }),
            "prdist[data.file] " + (dir.path() / "set/train/part-000").native() +
                ", cannot be written, Is a directory: check the path, its permissions and the free space");
}
