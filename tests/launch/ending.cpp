#include <prdist/launch/ending.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

using namespace prdist;

namespace {

Ending ending_of_child(int (*work)()) {
  auto const pid = ::fork();
  if (pid == 0) ::_exit(work());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return ending_of(status);
}

}  // namespace

TEST(Ending, TellsAnExitCodeFromASignal) {
  auto const seven = ending_of_child([] { return 7; });
  EXPECT_EQ(seven, (Ending{7, 0, false}));
  EXPECT_EQ(exit_code(seven), 7);
  EXPECT_EQ(to_string(seven), "exit 7");
  EXPECT_FALSE(seven.ok());

  auto const killed = ending_of_child([] { return ::raise(SIGKILL); });
  EXPECT_EQ(killed, (Ending{0, SIGKILL, false}));
  EXPECT_EQ(exit_code(killed), 137);
  EXPECT_EQ(to_string(killed), "SIGKILL");
  EXPECT_FALSE(killed.ok());

  EXPECT_TRUE(ending_of_child([] { return 0; }).ok());
}

TEST(Ending, NamesSignalsAndCoreDumps) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGRTMIN + 6), concat("signal ", SIGRTMIN + 6));
  EXPECT_EQ(to_string(Ending{0, SIGABRT, true}), "SIGABRT, core dumped");
  EXPECT_EQ(to_string(Ending{0, SIGKILL, false, true}), "SIGKILL, out of memory");
  EXPECT_EQ(to_string(Ending{137, 0, false, true}), "exit 137, out of memory");
}

// docs/launch_contract.md
TEST(Ending, TellsWhatMayBeTriedAgain) {
  for (int const code : {1, 70, 75, 128 + SIGKILL, 128 + SIGTERM}) EXPECT_TRUE(may_try_again(code)) << code;
  for (int const code : {0, 64, 78, 124}) EXPECT_FALSE(may_try_again(code)) << code;
}
