#include <prdist/fleet/run_main.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

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
