#include <prdist/core/stop_signal.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

using namespace prdist;

TEST(StopSignal, MarksTheFirstSignalOnly) {
  EXPECT_FALSE(StopSignal::requested());
  EXPECT_EQ(StopSignal::exit_code(), 143);
  {
    StopSignal const stop;
    EXPECT_FALSE(StopSignal::requested());
    ::raise(SIGTERM);
    EXPECT_TRUE(StopSignal::requested());
    EXPECT_EQ(StopSignal::exit_code(), 143);
    EXPECT_EQ(StopSignal::name(), "SIGTERM");
    EXPECT_TRUE(StopSignal::is_new());
    EXPECT_FALSE(StopSignal::is_new()) << "said once";
  }
  EXPECT_FALSE(StopSignal::is_new());
  EXPECT_FALSE(StopSignal::requested());
}

TEST(StopSignal, ASecondSignalEndsTheProcess) {
  auto const child = ::fork();
  if (child == 0) {
    StopSignal const stop;
    ::raise(SIGINT);
    if (!StopSignal::requested() || StopSignal::exit_code() != 130 || StopSignal::name() != "SIGINT") ::_exit(1);
    for (;;) ::raise(SIGINT);  // until the echo of the first is over
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
}

TEST(StopSignal, AnotherSignalEndsTheProcessAtOnce) {
  auto const child = ::fork();
  if (child == 0) {
    StopSignal const stop;
    ::raise(SIGINT);
    ::raise(SIGTERM);
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

// As timeout(1) sends it.
TEST(StopSignal, TheSameOneTwiceInAMomentIsOne) {
  StopSignal const stop;
  ::raise(SIGTERM);
  ::raise(SIGTERM);
  EXPECT_TRUE(StopSignal::requested());
}

TEST(StopSignal, WhatWasIgnoredStaysIgnored) {
  auto const before = ::signal(SIGINT, SIG_IGN);
  {
    StopSignal const stop;
    ::raise(SIGINT);
    EXPECT_FALSE(StopSignal::requested());
  }
  ::signal(SIGINT, before);
}
