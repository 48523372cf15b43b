#include <prdist/fleet/run_main.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace prdist;

TEST(RunMain, PassesTheCodeOnAndTurnsErrorsIntoTheirs) {
  std::string said;
  set_log([&](Level, std::string_view line) { said = line; });
  EXPECT_EQ(run_main([] { return 7; }), 7);
  EXPECT_EQ(said, "");
  EXPECT_EQ(run_main([]() -> int { throw Error(Errc::config_missing, "X is not set"); }), 78);
  EXPECT_EQ(said, "prdist[config.missing] X is not set");
  EXPECT_EQ(run_main([]() -> int { throw Error(Errc::job_peer_lost, "gone"); }), 75);
  EXPECT_EQ(run_main([]() -> int { throw std::runtime_error("odd"); }), 70);
  EXPECT_EQ(said, "unexpected: odd");
  set_log(detail::log_to_stderr);
}

// Into a pipe, as a launcher's log is no terminal either.
TEST(RunMain, LinesThatWerePrintedOutliveAKilledProcess) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::fflush(stdout);
  auto const child = ::fork();
  if (child == 0) {
    // A stream that nothing was written to yet, as at the start of a program.
    if (std::freopen(("/dev/fd/" + std::to_string(ends[1])).c_str(), "w", stdout) == nullptr) ::_exit(2);
    (void)run_main([] {
      std::printf("epoch 0\n");
      return ::raise(SIGKILL);
    });
    ::_exit(1);
  }
  ::close(ends[1]);
  std::array<char, 64> text{};
  auto const size = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string_view(text.data(), static_cast<std::size_t>(size)), "epoch 0\n");
}
