// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/shown_command_line.hpp>

#include <gtest/gtest.h>

#include "support.hpp"

using namespace prdist;
using launch_test::Mailbox;
using launch_test::parent_of;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::TempFolder;

namespace {

std::string command_line_of(pid_t pid) {
  return read_file(concat("/proc/", pid, "/cmdline"));
}

}  // namespace

TEST(ShownCommandLine, IsReplacedWholeAndComesBack) {
  auto const code = launch_test::in_child([] {
    auto const before = command_line_of(::getpid());
    ShownCommandLine line;
    line.show("a");
    auto const shown = command_line_of(::getpid());
    line.restore();
    bool const replaced =
        shown.starts_with(std::string("a\0", 2)) && shown.find_first_not_of('\0', 1) == std::string::npos;
    return replaced && command_line_of(::getpid()) == before && std::getenv("PATH") != nullptr ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(ShownCommandLine, LeavesTheEnvironmentAloneHoweverLongTheTextIs) {
  auto const code = launch_test::in_child([] {
    std::string const path = std::getenv("PATH");
    auto const before = command_line_of(::getpid());
    ShownCommandLine line;
    line.show(std::string(before.size() + 100, 'x'));
    auto const shown = command_line_of(::getpid());
    return shown == std::string(before.size() - 1, 'x') + '\0' && path == std::getenv("PATH") ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

// Who kills all whose command line has "prrun" in it (pkill -f) leaves the guard, and it has no arguments to show.
TEST(ShownCommandLine, OfTheGuardHasNeitherPrrunNorItsArguments) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, {"--", "sh", "-c", "[ $TRAINING_ROLE = TRAINER ] && echo $PPID >box; exec sleep 1000", "sh",
                       "--password=hunter2"});
  auto const worker = box.pids(1);
  ASSERT_EQ(worker.size(), 1U);
  auto const between = parent_of(worker.front());
  auto const shown = command_line_of(between);
  EXPECT_EQ(std::string(shown.c_str()), "prdist-guard");
  EXPECT_EQ(shown.find_first_not_of('\0', 12), std::string::npos) << shown;
  EXPECT_NE(command_line_of(worker.front()).find("prrun"), std::string::npos) << "the one that supervises is as before";
  EXPECT_EQ(command_line_of(worker.front()), command_line_of(prrun.pid()));
  // What pkill -9 -f prrun does to them.
  ::kill(worker.front(), SIGKILL);
  prrun.signal(SIGKILL);
  EXPECT_EQ(prrun.finish().code(), 137);
  EXPECT_TRUE(launch_test::gone_within(between));
  auto const said = read_file(folder / "stderr");
  EXPECT_NE(said.find("the launcher was killed by SIGKILL after "), std::string::npos) << said;
}
