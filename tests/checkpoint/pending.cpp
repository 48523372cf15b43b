#include <prdist/checkpoint/pending.hpp>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "../support/caught_log.hpp"
#include "sample.hpp"

namespace prdist {
namespace {

namespace fs = std::filesystem;

TEST(PendingCheckpoint, HasItsNameOnlyWhenItIsComplete) {
  TempDir const dir;
  auto const path = (dir.path() / "a/b").native();
  PendingCheckpoint pending(path, 4, "job-7");
  EXPECT_EQ(pending.path(), path + "/pass-00004.tmp-job-7");
  auto manifest = manifest_of(1);
  add_part(manifest, write_part(pending.path(), 0, {rows_of(0, {1}, 1)}));
  EXPECT_FALSE(latest(path));
  auto const checkpoint = pending.commit(manifest);
  EXPECT_EQ(checkpoint.path, path + "/pass-00004");
  EXPECT_FALSE(fs::exists(pending.path()));
  EXPECT_EQ(latest(path)->id, checkpoint.id);
  EXPECT_EQ(latest(path)->manifest, checkpoint.manifest);
  EXPECT_EQ(checkpoint.manifest.pass, 4U);
  EXPECT_EQ(contents(checkpoint.path + "/done"), concat(version, "\nmanifest ", checkpoint.id, '\n'));
}

TEST(PendingCheckpoint, VanishesWhenItIsGivenUp) {
  TempDir const dir;
  { PendingCheckpoint const pending(dir.path().native(), 4, "job"); }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(PendingCheckpoint, ReplacesACheckpointOfTheSamePass) {
  TempDir const dir;
  auto const path = dir.path().native();
  auto const first = save(path, 1, {{rows_of(0, {1}, 10)}, {rows_of(1, {2}, 20)}});
  auto const second = save(path, 1, {{rows_of(0, {1}, 30)}});
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(weights_in({*latest(path)}), (std::map<Key, float>{{1, 30}}));
  EXPECT_EQ(std::distance(fs::directory_iterator(path), {}), 1) << "the old one is gone";
}

TEST(PendingCheckpoint, TakesTheNameOfADamagedOne) {
  TempDir const dir;
  auto const path = dir.path().native();
  dir.file("pass-00001/part-000", "no checkpoint at all");
  save(path, 1, {{rows_of(0, {1}, 30)}});
  EXPECT_EQ(latest(path)->manifest.pass, 1U);
}

TEST(PendingCheckpoint, TwoWritersNeedTwoTags) {
  TempDir const dir;
  auto const path = dir.path().native();
  PendingCheckpoint const one(path, 1, "a");
  EXPECT_EQ(error_of([&] { PendingCheckpoint(path, 1, "a"); }),
            "prdist[checkpoint.file] " + one.path() + ", another writer is at work in it: give each its own tag");
  EXPECT_TRUE(fs::exists(one.path()));
  PendingCheckpoint const other(path, 1, "b");
}

TEST(PendingCheckpoint, ReplacesItsOwnLeftover) {
  TempDir const dir;
  dir.file("pass-00001.tmp-a/part-009", "left by a crash");
  PendingCheckpoint const again(dir.path().native(), 1, "a");
  EXPECT_TRUE(fs::is_empty(again.path()));
}

TEST(PendingCheckpoint, APartThatIsNotHereShowsThatTheFolderIsNotShared) {
  TempDir const dir, elsewhere;
  PendingCheckpoint pending(dir.path().native(), 1, "a");
  auto manifest = manifest_of(1);
  add_part(manifest, write_part(elsewhere.path().native(), 2, {rows_of(0, {1}, 1)}));
  EXPECT_EQ(error_of([&] { pending.commit(manifest); }),
            "prdist[checkpoint.missing] server 2 has written part-002, and it is not in " + pending.path() +
                " here: save into a folder that all servers and this process share");
}

TEST(PendingCheckpoint, APartThatIsNotWhatItsServerReportedIsNotCommitted) {
  TempDir const dir;
  auto const path = dir.path().native();
  save(path, 0, {{rows_of(0, {1}, 1)}});
  PendingCheckpoint pending(path, 1, "a");
  auto manifest = manifest_of(1);
  add_part(manifest, write_part(pending.path(), 0, {rows_of(0, {1}, 1)}));
  manifest.parts[0].checksum ^= 1;
  EXPECT_NE(error_of([&] { pending.commit(manifest); }).find("the manifest says"), std::string::npos);
  EXPECT_EQ(passes_in(path), std::vector<std::uint64_t>{0});
}

TEST(PendingCheckpoint, AFullDiskLosesNothing) {
  TempDir const dir;
  auto const disk = (dir.path() / "disk").native();
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=256k") != 0) GTEST_SKIP() << "mounting a small disk needs root";
  std::vector<Key> keys(5000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  save(disk, 1, {{rows_of(0, keys, 1)}});
  auto const said = error_of([&] {
    // 100 KB and the rest of the disk: fails in a part first, then, with fewer rows, in whatever comes behind it.
    save(disk, 2, {{rows_of(0, keys, 2), rows_of(1, keys, 3)}});
  });
  for (std::size_t more = 100; more < keys.size(); more += 100) {
    try {
      save(disk, 3, {{rows_of(0, {keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(more)}, 2)}});
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), Errc::checkpoint_file) << error.what();
    }
    EXPECT_EQ(weights_in({open_checkpoint(disk + "/pass-00001")}).size(), keys.size());
  }
  auto const left = std::distance(fs::directory_iterator(disk), {});
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
  EXPECT_TRUE(said.starts_with("prdist[checkpoint.file] " + disk + "/pass-00002.tmp-test/part-000, cannot be written"))
      << said;
  EXPECT_NE(said.find("No space left on device"), std::string::npos) << said;
  EXPECT_LE(left, 2) << "what could not be finished was removed";
}

}  // namespace
}  // namespace prdist
