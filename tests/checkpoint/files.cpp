#include <prdist/checkpoint/files.hpp>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <numeric>
#include <string>
#include <vector>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

constexpr auto way_out =
    ": make room, perhaps by keeping fewer checkpoints, or choose another disk; what was saved before is untouched";

TEST(OutputFile, AppendsPiecesInOrderAndOverwrites) {
  TempDir const dir;
  auto const path = (dir.path() / "file").native();
  std::string big(3 << 20, 'x');
  OutputFile file(path);
  file.write({detail::bytes_of_text("abc"), {}, detail::bytes_of_text(big), detail::bytes_of_text("end")});
  file.write_at(1, detail::bytes_of_text("B"));
  EXPECT_EQ(file.size(), big.size() + 6);
  file.close();
  EXPECT_EQ(contents(path), "aBc" + big + "end");
  auto more = OutputFile::append_to(path);
  more.write(detail::bytes_of_text("!"));
  more.close();
  EXPECT_EQ(contents(path), "aBc" + big + "end!");
}

TEST(OutputFile, WhatCannotGoPastTheCacheGoesTheUsualWay) {
  TempDir const dir;
  auto const path = (dir.path() / "file").native();
  OutputFile file(path);
  if (!file.past_cache(true)) GTEST_SKIP() << "the file system knows only the cache";
  file.write(detail::bytes_of_text("no page"));
  file.write(detail::bytes_of_text(", nor this"));
  EXPECT_FALSE(file.past_cache(false));
  file.close();
  EXPECT_EQ(contents(path), "no page, nor this");
}

TEST(OutputFile, AFullDeviceIsAnErrorWithPathByteAndReason) {
  OutputFile file("/dev/full");
  EXPECT_EQ(
      error_of([&] { file.write(detail::bytes_of_text("abc")); }),
      std::string("prdist[checkpoint.file] /dev/full, cannot be written at byte 0, No space left on device") + way_out);
}

TEST(OutputFile, AWriteThatTheSystemCutsShortGoesOnUntilItFails) {
  TempDir const dir;
  auto const path = (dir.path() / "file").native();
  // Beyond the limit the system first writes less than asked for, then fails; without the handler it would kill.
  auto* const before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit const small{.rlim_cur = 1000, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string const text(600, 'x');
  OutputFile file(path);
  auto const said = error_of([&] { file.write({detail::bytes_of_text(text), detail::bytes_of_text(text)}); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(said, "prdist[checkpoint.file] " + path + ", cannot be written at byte 1000, File too large" + way_out);
}

TEST(OutputFile, AFullDiskIsAnErrorAndLeavesOtherFilesAlone) {
  TempDir const dir;
  auto const disk = dir.path() / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "mounting a small disk needs root";
  auto const older = (disk / "older").native();
  auto const path = (disk / "newer").native();
  std::string const text(40000, 'o');
  write_text(older, text);
  auto const said = error_of([&] { write_text(path, text); });
  auto const kept = contents(older);
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
  EXPECT_NE(said.find(path + ", cannot be written at byte"), std::string::npos) << said;
  EXPECT_NE(said.find("No space left on device"), std::string::npos) << said;
  EXPECT_EQ(kept, text);
}

TEST(OutputFile, AFolderThatIsNotThereIsNamed) {
  EXPECT_EQ(
      error_of([] { OutputFile("/nowhere/file"); }),
      "prdist[checkpoint.file] /nowhere/file, cannot be created, No such file or directory: check that its folder "
      "exists and is writable");
}

TEST(InputFile, ReadsByPositionAndSaysHowMuchThereWas) {
  TempDir const dir;
  InputFile const file(dir.file("file", "0123456789"));
  std::string text(4, ' ');
  EXPECT_EQ(file.size(), 10U);
  EXPECT_EQ(file.read_at(3, std::as_writable_bytes(std::span(text))), 4U);
  EXPECT_EQ(text, "3456");
  EXPECT_EQ(file.read_at(8, std::as_writable_bytes(std::span(text))), 2U);
  EXPECT_EQ(text, "8956");
}

TEST(InputFile, WhatIsNoFileIsNamed) {
  EXPECT_EQ(error_of([] { InputFile("/nowhere"); }),
            "prdist[checkpoint.file] /nowhere, cannot be opened, No such file or directory: check the path, its "
            "permissions and the disk");
  EXPECT_EQ(error_of([] { InputFile("/tmp"); }),
            "prdist[checkpoint.file] /tmp, is a folder and not a file: check the path");
}

// A disk that cannot give the bytes back has lost them: whoever knows an older copy takes that.
TEST(InputFile, BytesThatTheDiskHasLostAreDamage) {
  InputFile const file("/proc/self/mem");  // nothing is mapped at 0, and the system says that by EIO
  std::string text(4, ' ');
  EXPECT_EQ(error_of([&] { (void)file.read_at(0, std::as_writable_bytes(std::span(text))); }),
            "prdist[checkpoint.damaged] /proc/self/mem, cannot be read at byte 0, Input/output error: check the disk, "
            "and load an older checkpoint");
}

TEST(OutputFile, AFifoInItsPlaceIsRefusedAndWaitsForNobody) {
  TempDir const dir;
  auto const path = (dir.path() / "fifo").native();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto const said = "prdist[checkpoint.file] " + path + ", is a FIFO and not a file: remove it, or give another name";
  EXPECT_EQ(error_of([&] { OutputFile{path}; }), said);
  Descriptor const reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(error_of([&] { OutputFile{path}; }), said) << "also when somebody reads it";
}

TEST(ReadText, RefusesWhatIsTooLarge) {
  TempDir const dir;
  auto const path = dir.file("file", "12345");
  EXPECT_EQ(read_text(path), "12345");
  EXPECT_EQ(error_of([&] { (void)read_text(path, 4); }),
            "prdist[checkpoint.damaged] " + path + ", has 5 bytes and may have 4: it is no file of a checkpoint");
}

TEST(Publish, GivesTheFinalNameAndReplacesAFile) {
  TempDir const dir;
  auto const from = dir.file("from", "new");
  auto const to = dir.file("to", "old");
  publish(from, to);
  EXPECT_EQ(contents(to), "new");
  EXPECT_FALSE(std::filesystem::exists(from));
  EXPECT_EQ(error_of([&] { publish(from, to); }), "prdist[checkpoint.file] " + to + ", cannot be made from " + from +
                                                      ", No such file or directory: check the folder's permissions");
  EXPECT_EQ(error_of([&] { sync_directory("/nowhere"); }),
            "prdist[checkpoint.file] /nowhere, the folder cannot be written through to the disk, No such file or "
            "directory: check the disk");
}

}  // namespace
}  // namespace prdist
