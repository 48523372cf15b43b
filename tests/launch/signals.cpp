#include <prdist/launch/signals.hpp>

#include <gtest/gtest.h>

#include "support.hpp"

using namespace prdist;
using std::chrono::milliseconds;

TEST(Signals, AreReadAsData) {
  auto const code = launch_test::in_child([] {
    SignalSource source(hold_signals());
    if (!source.wait(milliseconds(0)).empty()) return 1;
    ::kill(::getpid(), SIGINT);
    ::kill(::getpid(), SIGTERM);
    auto signals = source.wait(launch_test::patience);
    return signals == std::vector<int>{SIGINT, SIGTERM} ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

TEST(Signals, IgnoredAtTheStartStayIgnored) {
  auto const code = launch_test::in_child([] {
    ::signal(SIGHUP, SIG_IGN);
    SignalSource source(hold_signals());
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGTERM);
    return source.wait(launch_test::patience) == std::vector<int>{SIGTERM} ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

// A parent that ignores SIGCHLD passes that on; codes of children would be lost.
TEST(Signals, ChildrenAreHeardEvenWhenTheParentIgnoredThem) {
  auto const code = launch_test::in_child([] {
    ::signal(SIGCHLD, SIG_IGN);
    SignalSource source(hold_signals());
    auto const pid = ::fork();
    if (pid == 0) ::_exit(7);
    if (source.wait(launch_test::patience) != std::vector<int>{SIGCHLD}) return 1;
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7 ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}
