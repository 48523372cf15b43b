#include <prdist/launch/pid_file.hpp>

#include <gtest/gtest.h>

#include <optional>

#include "support.hpp"

using namespace prdist;
using launch_test::error_of;
using launch_test::read_file;
using launch_test::TempFolder;

TEST(PidFile, HoldsTheProcessIdWhileItLives) {
  TempFolder folder;
  auto const path = folder / "pid";
  {
    PidFile const file(path);
    EXPECT_EQ(read_file(path), concat(::getpid(), '\n'));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  PidFile const none("");
}

TEST(PidFile, OfALivingProcessIsRefusedAndLeftAsItIs) {
  TempFolder folder;
  auto const path = folder / "pid";
  std::optional<PidFile> first(path);
  EXPECT_EQ(error_of([&] { return PidFile(path), 0; }),
            concat("prdist[config.contradiction] --pid_file '", path.string(), "' is held by process ", ::getpid(),
                   ", which runs: end it first, or name another file"));
  EXPECT_EQ(read_file(path), concat(::getpid(), '\n'));
  first.reset();
  PidFile const second(path);
}

TEST(PidFile, OfAKilledProcessIsReplaced) {
  TempFolder folder;
  auto const path = folder / "pid";
  EXPECT_EQ(launch_test::in_child([&] {
              PidFile const file(path);
              return ::kill(::getpid(), SIGKILL);
            }),
            137);
  EXPECT_TRUE(std::filesystem::exists(path));
  PidFile const file(path);
  EXPECT_EQ(read_file(path), concat(::getpid(), '\n'));
}

TEST(PidFile, ThatIsAnothersByNowIsLeftToIt) {
  TempFolder folder;
  auto const path = folder / "pid";
  {
    PidFile const file(path);
    std::filesystem::remove(path);
    launch_test::write_file(path, "7\n");
  }
  EXPECT_EQ(read_file(path), "7\n");
}

TEST(PidFile, ThatCannotBeWrittenIsNamed) {
  EXPECT_EQ(error_of([] { return PidFile("/dev/null/pid"), 0; }),
            "prdist[config.invalid] --pid_file '/dev/null/pid' cannot be written: name a file in a folder that is "
            "there");
}
