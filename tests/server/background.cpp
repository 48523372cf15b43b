#include <prdist/server/background.hpp>

#include <gtest/gtest.h>

#include <prdist/core/runtime.hpp>

#include "../support/thrown.hpp"

using namespace prdist;

namespace {

WorkState wait_for_end(Background const& background) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!background.state().done && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return background.state();
}

}  // namespace

TEST(Background, TellsHowFarItIsAndThenItsResult) {
  Background background;
  EXPECT_TRUE(background.state().done);
  Gate half, go_on;
  background.start("work", [&](WorkProgress& progress) {
    progress.rows = 7;
    progress.waits_for_disk = true;
    half.open();
    EXPECT_TRUE(go_on.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    progress.rows = 9;
    return std::string("{}");
  });
  ASSERT_TRUE(half.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  EXPECT_FALSE(background.state().done);
  EXPECT_EQ(background.state().rows, 7U);
  EXPECT_TRUE(background.state().waits_for_disk);
  EXPECT_STREQ(test::thrown([&] { background.start("more", [](auto&) { return std::string(); }); }).what(),
               "prdist[job.state] more while work is under way: wait for its end");
  go_on.open();
  auto const state = wait_for_end(background);
  EXPECT_EQ(state.result, "{}");
  EXPECT_EQ(state.rows, 9U);
  EXPECT_EQ(state.what, "work");
}

TEST(Background, KeepsWhatWentWrongUntilTheNextWork) {
  Background background;
  background.start("bad", [](auto&) -> std::string { throw Error(Errc::data_file, "no room"); });
  auto const state = wait_for_end(background);
  ASSERT_TRUE(state.failed);
  EXPECT_STREQ(state.failed->what(), "prdist[data.file] no room");
  background.start("worse", [](auto&) -> std::string { throw std::runtime_error("odd"); });
  EXPECT_STREQ(wait_for_end(background).failed->what(), "prdist[internal.error] odd");
  background.start("good", [](auto&) { return std::string("fine"); });
  EXPECT_FALSE(wait_for_end(background).failed);
}
