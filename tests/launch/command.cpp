// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/command.hpp>

#include "support.hpp"

using launch_test::Mailbox;
using launch_test::TempFolder;
using prdist::CommandRequest;
using prdist::Errc;
using prdist::run_command;

namespace {

CommandRequest shell(std::string const& script, std::vector<std::string> words = {}) {
  CommandRequest request;
  request.program = "/bin/sh";
  request.arguments = {"-c", script, "sh"};
  request.arguments.insert(request.arguments.end(), words.begin(), words.end());
  request.environment = {"PATH=/usr/bin:/bin"};
  request.patience = launch_test::patience;
  return request;
}

}  // namespace

TEST(Command, StreamsAreApartAndTheCodeIsItsOwn) {
  auto const result = run_command(shell("echo out; echo errors >&2; exit 7")).value();
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.errors, "errors\n");
  EXPECT_EQ(result.code(), 7);
  EXPECT_EQ(run_command(shell("kill -KILL $$")).value().code(), 137);
}

TEST(Command, WordsAreNoShellsBusiness) {
  auto const result = run_command(shell(R"(printf '%s|' "$@")", {"$(id)", "a b", "'", ";", ""})).value();
  EXPECT_EQ(result.out, "$(id)|a b|'|;||");
}

TEST(Command, InputIsReadWhole) {
  auto request = shell("cat");
  request.input.assign(3'000'000, 'x');
  EXPECT_EQ(run_command(request).value().out, request.input);
  EXPECT_EQ(run_command(shell("cat")).value().out, "");  // none is an empty one, not a terminal
}

TEST(Command, InputThatNobodyReadsIsNoSignal) {
  auto request = shell("exec <&-; echo done");
  request.input.assign(3'000'000, 'x');
  EXPECT_EQ(run_command(request).value().out, "done\n");
}

TEST(Command, BothStreamsFullAtOnceDoNotHang) {
  auto const result =
      run_command(shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero")).value();
  EXPECT_EQ(result.out.size(), 2'000'000U);
  EXPECT_EQ(result.errors.size(), 1'000'000U);
}

TEST(Command, TimeIsBoundedForItsChildrenToo) {
  TempFolder folder;
  Mailbox mailbox(folder / "mail");
  auto request = shell(R"(sleep 1000 & echo $! >"$1"; wait)", {(folder / "mail").string()});
  request.patience = std::chrono::milliseconds(500);
  auto const result = run_command(request);
  ASSERT_FALSE(result);
  EXPECT_STREQ(result.error().what(),
               "prdist[job.deadline] launcher: '/bin/sh' did not end within 0.5 s: see what it waits for by hand");
  EXPECT_EQ(exit_code(result.error().code()), 75);
  for (auto const pid : mailbox.pids(1)) EXPECT_TRUE(launch_test::gone_within(pid));
}

TEST(Command, WhatItLeavesRunningIsNotWaitedFor) {
  TempFolder folder;
  Mailbox mailbox(folder / "mail");
  auto const result =
      run_command(shell(R"(sleep 1000 & echo $! >"$1"; echo here)", {(folder / "mail").string()})).value();
  EXPECT_EQ(result.out, "here\n");
  for (auto const pid : mailbox.pids(1)) ::kill(pid, SIGKILL);
}

TEST(Command, OutputIsBounded) {
  auto request = shell("exec cat /dev/zero");
  request.most = 100'000;
  auto const result = run_command(request);
  ASSERT_FALSE(result);
  EXPECT_STREQ(result.error().what(),
               "prdist[wire.too_large] launcher: '/bin/sh' wrote more than 100000 bytes: see what it does when it is "
               "called by hand");
}

TEST(Command, AProgramThatIsNotThereIsAnError) {
  CommandRequest request;
  request.program = "/nonexistent";
  auto const result = run_command(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Errc::config_invalid);
  EXPECT_NE(std::string(result.error().what()).find("cannot run '/nonexistent'"), std::string::npos);
}
