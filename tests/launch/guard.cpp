#include <prdist/launch/guard.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

namespace {

/// A process under guard that says its worker's pid and that of a grandchild in a session of its own, and then does
/// nothing until a signal comes; its code is then that signal's number.
struct Guarded {
  TempFolder folder;
  launch_test::Mailbox mailbox{folder / "box"};
  pid_t visible = 0;
  pid_t worker = 0;
  pid_t grandchild = 0;

  Guarded() {
    std::fflush(nullptr);
    visible = ::fork();
    if (visible == 0) {
      ::freopen((folder / "stderr").c_str(), "w", stderr);
      ::_exit(run_guarded([&] {
        (void)spawn({"/bin/sh",
                     {"-c", "setsid sleep 1000 & echo $PPID >\"$0\"; echo $! >\"$0\"", (folder / "box").string()},
                     {"PATH=/usr/bin:/bin"},
                     STDERR_FILENO,
                     -1});
        SignalSource signals(hold_signals());
        for (;;) {
          for (int const signal : signals.wait(launch_test::patience)) {
            if (signal != SIGCHLD) return kill_children(launch_test::patience) ? signal : 99;
          }
        }
      }));
    }
    auto const pids = mailbox.pids(2);
    if (pids.size() != 2) return;
    worker = pids[0];
    grandchild = pids[1];
  }
  ~Guarded() {
    if (visible > 0) (void)launch_test::reap(visible, std::chrono::milliseconds(0));
  }
};

}  // namespace

TEST(Guard, ReturnsTheWorksCode) {
  EXPECT_EQ(launch_test::in_child([] { return run_guarded([] { return 42; }); }), 42);
}

TEST(Guard, PassesASignalOnOnce) {
  Guarded guarded;
  ASSERT_GT(guarded.grandchild, 1);
  ::kill(guarded.visible, SIGINT);
  EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), (Ending{SIGINT, 0, false}));
}

TEST(Guard, KilledItselfLetsTheWorkerEndInOrder) {
  Guarded guarded;
  ASSERT_GT(guarded.grandchild, 1);
  ::kill(guarded.visible, SIGKILL);
  EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), (Ending{0, SIGKILL, false}));
  EXPECT_TRUE(launch_test::gone_within(guarded.worker));
  EXPECT_TRUE(launch_test::gone_within(guarded.grandchild));
}

TEST(Guard, EndsWhatAKilledWorkerLeaves) {
  Guarded guarded;
  ASSERT_GT(guarded.grandchild, 1);
  ::kill(guarded.worker, SIGKILL);
  EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), (Ending{137, 0, false}));
  EXPECT_TRUE(launch_test::gone_within(guarded.grandchild, std::chrono::milliseconds(0)));
  EXPECT_EQ(launch_test::read_file(guarded.folder / "stderr"),
            "prdist[internal.error] launcher: its supervising process was killed by SIGKILL: every process of the job "
            "has been ended\n");
}

TEST(Guard, AnExceptionIsSaidAndCodes70) {
  TempFolder folder;
  auto const code = launch_test::in_child([&] {
    ::freopen((folder / "stderr").c_str(), "w", stderr);
    return run_guarded([]() -> int { throw std::runtime_error("it went wrong"); });
  });
  EXPECT_EQ(code, 70);
  EXPECT_EQ(launch_test::read_file(folder / "stderr"), "it went wrong\n");
}

TEST(Guard, OpensStandardDescriptorsThatWereClosed) {
  auto const code = launch_test::in_child([] {
    ::close(0);
    ::close(1);
    return run_guarded([] { return ::open("/dev/null", O_RDONLY) > 2 ? 0 : 1; });
  });
  EXPECT_EQ(code, 0);
}
