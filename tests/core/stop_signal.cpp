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
  }
  EXPECT_FALSE(StopSignal::requested());
}

TEST(StopSignal, ASecondSignalEndsTheProcess) {
  auto const child = ::fork();
  if (child == 0) {
    StopSignal const stop;
    ::raise(SIGINT);
    if (!StopSignal::requested() || StopSignal::exit_code() != 130) ::_exit(1);
    ::raise(SIGINT);
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
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
