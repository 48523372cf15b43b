#include <prdist/checkpoint/directory.hpp>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "../support/caught_log.hpp"
#include "sample.hpp"

namespace prdist {
namespace {

namespace fs = std::filesystem;

class CheckpointDirectory : public testing::Test {
 protected:
  Checkpoint full(std::uint64_t pass) { return save(path_, pass, {{rows_of(0, {1}, static_cast<float>(pass))}}); }
  Checkpoint changed(std::uint64_t pass, Checkpoint const& base) {
    return save(path_, pass, {{rows_of(0, {pass + 100}, static_cast<float>(pass))}},
                CheckpointBase{base.manifest.pass, base.id});
  }
  [[nodiscard]] std::string folder(std::uint64_t pass) const { return concat(path_, '/', pass_name(pass)); }

  TempDir dir_;
  std::string path_ = (dir_.path() / "model").native();
  CaughtLog log_;
};

TEST_F(CheckpointDirectory, NamesHaveFiveDigitsAndGrow) {
  EXPECT_EQ(pass_name(7), "pass-00007");
  EXPECT_EQ(pass_name(123456), "pass-123456");
  EXPECT_EQ(detail::pass_of("pass-00007"), 7U);
  EXPECT_EQ(detail::pass_of("pass-123456"), 123456U);
  for (auto const* const other : {"pass-7", "pass-0000007", "pass-", "pass-00007.tmp-x", "pass-0000x", "part-00007"}) {
    EXPECT_FALSE(detail::pass_of(other)) << other;
  }
  EXPECT_TRUE(detail::is_temporary("pass-00007.tmp-x"));
  EXPECT_FALSE(detail::is_temporary("mine.tmp-x"));
}

TEST_F(CheckpointDirectory, LatestIsTheNewestAndNoneIsNoError) {
  EXPECT_FALSE(latest(path_));
  full(9);
  full(10);
  full(99998);
  full(100000);
  EXPECT_EQ(latest(path_)->manifest.pass, 100000U);
  EXPECT_EQ(latest(path_)->manifest.step, 10000000U);
  EXPECT_EQ(latest(path_, 99998)->manifest.pass, 10U);
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{9, 10, 99998, 100000}));
  EXPECT_TRUE(log_.lines().empty());
}

TEST_F(CheckpointDirectory, FallsBackPastWhatIsNotCompleteOrDamagedAndSaysWhy) {
  for (std::uint64_t pass = 1; pass <= 5; ++pass) full(pass);
  fs::remove(folder(5) + "/done");
  flip_bit(folder(4) + "/manifest.json", 30);
  fs::resize_file(folder(3) + "/part-000", 100);
  fs::remove(folder(2) + "/part-000");
  EXPECT_EQ(latest(path_)->manifest.pass, 1U);
  ASSERT_EQ(log_.lines().size(), 4U);
  EXPECT_EQ(log_.lines()[0], "checkpoint pass-00005 is passed over: prdist[checkpoint.missing] " + folder(5) +
                                 ", has no file 'done', so it is not a complete checkpoint: load another");
  EXPECT_TRUE(log_.lines()[1].starts_with("checkpoint pass-00004 is passed over: prdist[checkpoint.damaged] " +
                                          folder(4) + "/manifest.json, its checksum "));
  EXPECT_NE(log_.lines()[2].find(folder(3) + "/part-000, at byte 100, ends here, before its closing record"),
            std::string::npos)
      << log_.lines()[2];
  EXPECT_NE(log_.lines()[3].find(folder(2) + "/part-000, cannot be opened"), std::string::npos) << log_.lines()[3];
}

TEST_F(CheckpointDirectory, AFifoInPlaceOfAnyFileIsPassedOverAndHangsNobody) {
  full(1);
  for (std::string const name : {"part-000", "manifest.json", "done"}) {
    full(2);
    auto const file = concat(folder(2), '/', name);
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    log_.clear();
    EXPECT_EQ(latest(path_)->manifest.pass, 1U) << name;
    EXPECT_EQ(log_.lines(), (std::vector<std::string>{"checkpoint pass-00002 is passed over: prdist[checkpoint.file] " +
                                                      file + ", is a FIFO and not a file: check the path"}));
    fs::remove_all(folder(2));
  }
}

TEST_F(CheckpointDirectory, ARenamedOneIsPassedOverAndNeitherCountedNorRemoved) {
  full(1);
  full(2);
  full(3);
  auto const error = [&](std::uint64_t named, std::uint64_t pass) {
    return concat("prdist[checkpoint.damaged] ", folder(named), ", is named ", pass_name(named),
                  " and its manifest says ", pass_name(pass),
                  ": give the folder its name back, or load another checkpoint");
  };
  fs::rename(folder(2), folder(9));
  EXPECT_EQ(error_of([&] { (void)open_checkpoint(folder(9)); }), error(9, 2));
  EXPECT_NE(error_of([&] { (void)open_checkpoint(folder(9) + "/"); }).find("is named pass-00009"), std::string::npos);
  EXPECT_EQ(latest(path_)->manifest.pass, 3U);
  EXPECT_EQ(log_.lines().at(0), "checkpoint pass-00009 is passed over: " + error(9, 2));
  // An older number than its own: what stands below it is still below.
  fs::rename(folder(3), folder(0));
  EXPECT_EQ(latest(path_)->manifest.pass, 1U);
  EXPECT_FALSE(latest(path_, 1));
  log_.clear();
  full(4);
  prune(path_, 2);
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{0, 1, 4, 9}));
  EXPECT_EQ(log_.lines().at(0), "checkpoint pass-00000 is not counted and not removed: " + error(0, 3));
  // Any other name is a copy that somebody made.
  fs::rename(folder(9), path_ + "/copy");
  EXPECT_EQ(open_checkpoint(path_ + "/copy").manifest.pass, 2U);
}

TEST_F(CheckpointDirectory, ACheckpointCutAtAnyBlockLeavesTheOneBeforeLoadable) {
  full(1);
  auto const second = save(path_, 2, {{rows_of(0, {1, 2}, 1), rows_of(1, {3}, 2), dense_rows(1)}});
  auto const part = second.part_path(second.manifest.parts[0]);
  std::vector<std::uint64_t> cuts{0, second.manifest.parts[0].bytes - 1};
  PartReader const reader(part);
  for (auto const& block : reader.blocks()) {
    for (auto const at :
         {block.offset, block.offset + sizeof block, block.offset + sizeof block + block.body_bytes()}) {
      cuts.push_back(at);
    }
  }
  auto const whole = contents(part);
  for (auto const cut : cuts) {
    fs::resize_file(part, cut);
    EXPECT_EQ(latest(path_)->manifest.pass, 1U) << cut;
    std::ofstream(part, std::ios::binary) << whole;
  }
  EXPECT_EQ(latest(path_)->manifest.pass, 2U);
}

TEST_F(CheckpointDirectory, APartOfAnotherCheckpointIsNoticed) {
  auto const first = full(1), second = full(2);
  fs::copy_file(folder(1) + "/part-000", folder(2) + "/part-000", fs::copy_options::overwrite_existing);
  EXPECT_EQ(error_of([&] { (void)open_checkpoint(folder(2)); }),
            concat("prdist[checkpoint.damaged] ", folder(2), "/part-000, has ", first.manifest.parts[0].bytes,
                   " bytes and checksum ", hex(first.manifest.parts[0].checksum), ", the manifest says ",
                   second.manifest.parts[0].bytes, " and ", hex(second.manifest.parts[0].checksum),
                   ": it belongs to another checkpoint, restore the right one or load an older checkpoint"));
}

TEST_F(CheckpointDirectory, VerifyReadsEveryRow) {
  auto const checkpoint = full(1);
  verify(checkpoint);
  flip_bit(folder(1) + "/part-000", 64 + 64 + 3);
  EXPECT_EQ(latest(path_)->manifest.pass, 1U) << "rows are verified when they are read";
  EXPECT_NE(error_of([&] { verify(checkpoint); }).find("has checksum"), std::string::npos);
}

TEST_F(CheckpointDirectory, AChainIsLoadedFromItsFullOne) {
  auto const a = full(1);
  auto const b = changed(2, a);
  auto const c = changed(5, b);
  auto const chain = chain_of(*latest(path_));
  ASSERT_EQ(chain.size(), 3U);
  EXPECT_EQ(chain[0].manifest.pass, 1U);
  EXPECT_EQ(chain[1].manifest.pass, 2U);
  EXPECT_EQ(chain[2].manifest.pass, 5U);
  EXPECT_EQ(weights_in(chain), (std::map<Key, float>{{1, 1}, {102, 2}, {105, 5}}));
  EXPECT_EQ(c.manifest.base->id, b.id);
}

TEST_F(CheckpointDirectory, AMissingBaseIsAnErrorAndLatestGoesFurtherBack) {
  full(1);
  auto const b = full(2);
  auto const c = changed(3, b);
  fs::remove_all(folder(2));
  EXPECT_EQ(error_of([&] { (void)chain_of(c); }),
            "prdist[checkpoint.missing] " + folder(3) + ", holds what changed since pass-00002, and " + folder(2) +
                " is not there: restore that one, or load an older full checkpoint");
  EXPECT_EQ(latest(path_)->manifest.pass, 1U);
}

TEST_F(CheckpointDirectory, ABaseThatWasSavedAgainIsNotTheBase) {
  auto const a = full(1);
  auto const b = changed(2, a);
  save(path_, 1, {{rows_of(0, {1}, 77)}});
  EXPECT_EQ(error_of([&] { (void)chain_of(b); }),
            "prdist[checkpoint.missing] " + folder(2) + ", holds what changed since pass-00001, and " + folder(1) +
                " was saved again since: restore that one, or load an older full checkpoint");
  auto const own = save(path_, 3, {{rows_of(0, {1}, 1)}}, CheckpointBase{3, "0000000000000000"});
  EXPECT_NE(error_of([&] { (void)chain_of(own); }).find("is not an earlier one"), std::string::npos);
}

TEST_F(CheckpointDirectory, PruneKeepsTheNewest) {
  for (std::uint64_t pass = 1; pass <= 5; ++pass) full(pass);
  fs::create_directories(dir_.path() / "model/pass-of-mine");
  prune(path_, 2);
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_TRUE(fs::exists(dir_.path() / "model/pass-of-mine"));
  EXPECT_EQ(std::distance(fs::directory_iterator(path_), {}), 3) << "nothing is left over";
}

TEST_F(CheckpointDirectory, PruneKeepsWhatAKeptOneBuildsOn) {
  full(1);
  auto const b = full(2);
  auto const c = changed(3, b);
  changed(4, c);
  changed(5, b);
  prune(path_, 1);
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{2, 5}));
  EXPECT_EQ(chain_of(*latest(path_)).size(), 2U);
}

TEST_F(CheckpointDirectory, APruneThatIsCutShortLeavesNoneWithoutItsBase) {
  changed(3, changed(2, full(1)));
  full(4);
  auto const aside = folder(2) + ".tmp-removed";  // where it goes first
  fs::create_directory(aside);
  if (::mount("none", aside.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "a mount needs root";
  auto const error = error_of([&] { prune(path_, 1); });
  EXPECT_EQ(::umount2(aside.c_str(), MNT_DETACH), 0);
  EXPECT_TRUE(error.starts_with("prdist[checkpoint.file] ")) << error;
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{1, 2, 4}));
  prune(path_, 1);
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{4}));
}

TEST_F(CheckpointDirectory, PruneCountsOnlyWhatCanBeLoaded) {
  for (std::uint64_t pass = 1; pass <= 4; ++pass) full(pass);
  fs::remove(folder(4) + "/done");
  fs::resize_file(folder(3) + "/part-000", 10);
  prune(path_, 1);
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(log_.lines().size(), 2U);
  EXPECT_TRUE(log_.lines()[0].starts_with("checkpoint pass-00003 is not counted and not removed: "));
  EXPECT_TRUE(log_.lines()[1].starts_with("checkpoint pass-00004 is not counted and not removed: "));
}

TEST_F(CheckpointDirectory, PruneDoesNotCountWhatALoadFoundDamaged) {
  for (std::uint64_t pass = 1; pass <= 4; ++pass) full(pass);
  flip_bit(folder(4) + "/part-000", 64 + 64 + 3);
  changed(5, full(3));
  auto const id = [&](std::uint64_t pass) { return open_checkpoint(folder(pass)).id; };
  prune(path_, 2, {id(4)});
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{3, 4, 5}));
  prune(path_, 1, {id(3), id(4)});
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{3, 4, 5})) << "what builds on a damaged one is no better";
}

TEST_F(CheckpointDirectory, PruneKeepsWhatADamagedOneBuildsOn) {
  auto const b = changed(2, full(1));
  changed(3, b);  // a load has found damage in its rows
  auto const d = full(4);
  changed(5, d);
  fs::resize_file(folder(5) + "/part-000", 10);  // anybody sees that
  full(6);
  save(path_, 7, {{rows_of(0, {1}, 1)}}, CheckpointBase{6, "0000000000000000"});  // 6 was saved again since
  full(8);
  prune(path_, 1, {open_checkpoint(folder(3)).id});
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 7, 8}));
  EXPECT_EQ(chain_of(open_checkpoint(folder(3))).size(), 3U) << "mended, it can be loaded";
  fs::remove_all(folder(3));
  fs::remove_all(folder(5));
  prune(path_, 1);
  EXPECT_EQ(passes_in(path_), (std::vector<std::uint64_t>{7, 8})) << "who removes it has the room of its bases too";
}

TEST_F(CheckpointDirectory, LeftoversOfCrashesAreIgnoredAndRemoved) {
  full(1);
  dir_.file("model/pass-00002.tmp-job/part-000", "half a part");
  dir_.file("model/pass-00001.tmp-removed/part-000", "half removed");
  dir_.file("model/other.tmp-file/kept", "not ours");
  EXPECT_EQ(latest(path_)->manifest.pass, 1U);
  EXPECT_EQ(remove_leftovers(path_), 2U);
  EXPECT_TRUE(fs::exists(dir_.path() / "model/other.tmp-file/kept"));
  EXPECT_EQ(std::distance(fs::directory_iterator(path_), {}), 2);
  EXPECT_EQ(log_.lines()[0], path_ + "/pass-00001.tmp-removed was left by a save that did not end: removed");
}

TEST_F(CheckpointDirectory, ALivingWriterIsLeftAlone) {
  PendingCheckpoint const pending(path_, 3, "job");
  EXPECT_EQ(remove_leftovers(path_), 0U);
  EXPECT_TRUE(fs::exists(pending.path()));
  EXPECT_TRUE(log_.lines().at(0).starts_with(pending.path() + " is left alone: ")) << log_.lines().at(0);
}

TEST_F(CheckpointDirectory, WhatIsNoFolderIsAnError) {
  auto const file = dir_.file("file", "");
  EXPECT_EQ(error_of([&] { (void)latest(file); }),
            "prdist[checkpoint.file] " + file + ", cannot be listed, Not a directory: check the path");
}

}  // namespace
}  // namespace prdist
