#include <prdist/checkpoint/bulk_file.hpp>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "../data/error_text.hpp"
#include "../data/temp_dir.hpp"

namespace prdist {
namespace {

constexpr std::size_t buffer = std::size_t{4} << 20;
constexpr auto way_out =
    ": make room, perhaps by keeping fewer checkpoints, or choose another disk; what was saved before is untouched";

/// So that a page in the wrong place shows.
std::string some_text(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i / 7 + i / 4096) % 26);
  return text;
}

void write_in_pieces(std::string const& path, std::string_view text, std::size_t piece) {
  BulkFile file(path);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    file.write(detail::bytes_of_text(text.substr(at, piece)));
    EXPECT_EQ(file.size(), std::min(at + piece, text.size()));
  }
  file.close();
}

TEST(BulkFile, HoldsWhatWasWrittenWhateverTheSizes) {
  TempDir const dir;
  auto const path = (dir.path() / "file").native();
  for (std::size_t const size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, buffer - 1, buffer, buffer + 1,
                                 2 * buffer, 3 * buffer + 12345}) {
    auto const text = some_text(size);
    write_in_pieces(path, text, 1'000'003);
    EXPECT_TRUE(contents(path) == text) << size;
  }
}

TEST(BulkFile, TakesSeveralPiecesAtOnceAlsoLargerThanItsMemory) {
  TempDir const dir;
  auto const path = (dir.path() / "file").native();
  auto const large = some_text(2 * buffer + 77);
  BulkFile file(path);
  file.write({detail::bytes_of_text("abc"), {}, detail::bytes_of_text(large), detail::bytes_of_text("end")});
  EXPECT_EQ(file.size(), large.size() + 6);
  file.close();
  EXPECT_TRUE(contents(path) == "abc" + large + "end");
}

// Memory file systems of older kernels do not go past the cache.
TEST(BulkFile, AFileSystemThatKnowsOnlyTheCacheDoesAsWell) {
  TempDir const dir;
  auto const disk = dir.path() / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "ramfs", 0, nullptr) != 0) GTEST_SKIP() << "mounting a disk needs root";
  auto const path = (disk / "file").native();
  auto const text = some_text(2 * buffer + 5);
  write_in_pieces(path, text, 100'000);
  auto const kept = contents(path);
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
  EXPECT_TRUE(kept == text);
}

TEST(BulkFile, AFullDeviceIsAnErrorAtTheLatestWhenItIsClosed) {
  BulkFile file("/dev/full");
  file.write(detail::bytes_of_text("abc"));
  EXPECT_EQ(
      error_of([&] { file.close(); }),
      std::string("prdist[checkpoint.file] /dev/full, cannot be written at byte 0, No space left on device") + way_out);
}

TEST(BulkFile, AFullDiskIsAnErrorWhileItIsWritten) {
  TempDir const dir;
  auto const disk = dir.path() / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=6m") != 0) GTEST_SKIP() << "mounting a small disk needs root";
  auto const path = (disk / "file").native();
  BulkFile file(path);
  auto const text = some_text(4 * buffer);
  auto const said = error_of([&] { file.write(detail::bytes_of_text(text)); });
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
  EXPECT_NE(said.find(path + ", cannot be written at byte"), std::string::npos) << said;
  EXPECT_NE(said.find("No space left on device"), std::string::npos) << said;
}

// What the system cuts short in the middle of a page cannot go on past the cache.
TEST(BulkFile, AWriteThatIsCutShortInAPageGoesOnUntilItFails) {
  TempDir const dir;
  auto const path = (dir.path() / "file").native();
  auto* const before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto const text = some_text(2 * buffer);
  BulkFile file(path);
  rlimit const small{.rlim_cur = buffer + 1000, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto const said = error_of([&] { file.write(detail::bytes_of_text(text)); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(said, "prdist[checkpoint.file] " + path + ", cannot be written at byte 4195304, File too large" + way_out);
}

}  // namespace
}  // namespace prdist
