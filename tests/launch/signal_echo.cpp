#include <prdist/launch/signal_echo.hpp>

#include <gtest/gtest.h>

#include <csignal>

using namespace prdist;

namespace {

SignalEcho::TimePoint at(int millis) {
  return SignalEcho::TimePoint(std::chrono::hours(1) + std::chrono::milliseconds(millis));
}

}  // namespace

TEST(SignalEcho, TheSameSignalAgainCountsAfterHalfASecond) {
  SignalEcho echo;
  EXPECT_FALSE(echo.heard(SIGTERM, at(0)));
  EXPECT_TRUE(echo.heard(SIGTERM, at(0)));
  EXPECT_TRUE(echo.heard(SIGTERM, at(499)));
  EXPECT_FALSE(echo.heard(SIGTERM, at(500))) << "one that is no echo is where the distance begins";
  EXPECT_TRUE(echo.heard(SIGTERM, at(999)));
  EXPECT_FALSE(echo.heard(SIGTERM, at(1000)));
}

TEST(SignalEcho, AnotherSignalCountsAtOnce) {
  SignalEcho echo;
  EXPECT_FALSE(echo.heard(SIGINT, at(0)));
  EXPECT_FALSE(echo.heard(SIGTERM, at(0)));
  EXPECT_TRUE(echo.heard(SIGTERM, at(1)));
}

TEST(SignalEcho, TheDistanceMayBeAnother) {
  SignalEcho echo(std::chrono::milliseconds(1000));
  EXPECT_FALSE(echo.heard(SIGINT, at(0)));
  EXPECT_TRUE(echo.heard(SIGINT, at(999)));
  EXPECT_FALSE(echo.heard(SIGINT, at(1000)));
}
