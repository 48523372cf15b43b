#include <prdist/launch/descendants.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

TEST(Descendants, ListsLivingChildrenOnly) {
  auto const code = launch_test::in_child([] {
    if (!living_children().empty()) return 1;
    auto const pid = spawn({"/bin/sleep", {"1000"}, {}, STDERR_FILENO, -1}).value();
    if (living_children() != std::vector<pid_t>{pid}) return 2;
    ::kill(pid, SIGKILL);
    if (!launch_test::gone_within(pid)) return 3;
    return living_children().empty() ? 0 : 4;  // it is a zombie now
  });
  EXPECT_EQ(code, 0);
}

TEST(Descendants, OrphansInSessionsOfTheirOwnAreAdoptedAndKilled) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "box");
  auto const code = launch_test::in_child([&] {
    adopt_orphans();
    auto const pid = spawn({"/bin/sh",
                            {"-c", "setsid sh -c 'echo $$ >\"$0\"; setsid sleep 1000 & echo $! >\"$0\"; wait' \"$0\" &",
                             (folder / "box").string()},
                            {"PATH=/usr/bin:/bin"},
                            STDERR_FILENO,
                            -1});
    if (!pid) return 1;
    auto const orphans = mailbox.pids(2);
    if (orphans.size() != 2) return 2;
    if (!kill_children(launch_test::patience)) return 3;
    for (auto const orphan : orphans) {
      if (!launch_test::gone_within(orphan, std::chrono::milliseconds(0))) return 4;
    }
    return living_children().empty() ? 0 : 5;
  });
  EXPECT_EQ(code, 0);
}
