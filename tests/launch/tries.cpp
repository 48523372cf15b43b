// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/tries.hpp>

#include "support.hpp"

using namespace prdist;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RestartPauses, GrowUntilTheJobHasRunForLong) {
  RestartPauses pauses(milliseconds(1000));
  for (int const expected : {1, 2, 4, 8, 16, 30, 30}) EXPECT_EQ(pauses.after(seconds(59)), seconds(expected));
  EXPECT_EQ(pauses.after(seconds(60)), seconds(1));
  EXPECT_EQ(pauses.after(seconds(1)), seconds(2));
}

TEST(RestartPauses, AreNoneOrLongerWhereThatIsAskedFor) {
  RestartPauses none(milliseconds(0));
  EXPECT_EQ(none.after(seconds(1)), seconds(0));
  EXPECT_EQ(none.after(seconds(1)), seconds(0));
  RestartPauses longer(milliseconds(60'000));
  EXPECT_EQ(longer.after(seconds(1)), seconds(60));
  EXPECT_EQ(longer.after(seconds(1)), seconds(60));
}

TEST(RestartPauses, AreSaid) {
  EXPECT_EQ(pause_text(milliseconds(0)), "at once");
  EXPECT_EQ(pause_text(milliseconds(500)), "in 0.5 s");
  EXPECT_EQ(pause_text(milliseconds(4000)), "in 4 s");
}

TEST(FirstTry, OfARunBeforeIsPutAwayAndNothingElse) {
  launch_test::TempFolder folder;
  for (auto const* name :
       {"workerlog.0.try1", "workerlog.1.try1.prev", "serverlog.0.try1", "notes.try1", "workerlog.0"}) {
    launch_test::write_file(folder / name, name);
  }
  retire_first_tries(folder.path(), true);
  EXPECT_EQ(launch_test::read_file(folder / "workerlog.0.try1.prev"), "workerlog.0.try1");
  EXPECT_EQ(launch_test::read_file(folder / "serverlog.0.try1.prev"), "serverlog.0.try1");
  EXPECT_FALSE(std::filesystem::exists(folder / "workerlog.0.try1"));
  EXPECT_FALSE(std::filesystem::exists(folder / "workerlog.1.try1.prev")) << "it is of a run before that";
  EXPECT_TRUE(std::filesystem::exists(folder / "notes.try1"));
  EXPECT_TRUE(std::filesystem::exists(folder / "workerlog.0"));
  launch_test::write_file(folder / "workerlog.0.try1", "");
  retire_first_tries(folder.path(), false);
  EXPECT_FALSE(std::filesystem::exists(folder / "workerlog.0.try1"));
  EXPECT_FALSE(std::filesystem::exists(folder / "workerlog.0.try1.prev"));
}
