#include <prdist/wire/work_state.hpp>

#include <gtest/gtest.h>

#include <string>

#include "../support/thrown.hpp"

using namespace prdist;

TEST(WorkState, ReadsBackWhatWasWritten) {
  auto const going = work_state_from_json(to_json({"loading", false, 7}), "server 1");
  EXPECT_EQ(going.what, "loading");
  EXPECT_FALSE(going.done);
  EXPECT_EQ(going.rows, 7U);
  EXPECT_FALSE(going.failed);
  EXPECT_FALSE(going.waits_for_disk);
  WorkState synced{"its part", false, 7};
  synced.waits_for_disk = true;
  EXPECT_TRUE(work_state_from_json(to_json(synced), "server 1").waits_for_disk);
  auto const done = work_state_from_json(to_json({"its part", true, 9, R"({"name":"part"})"}), "server 1");
  EXPECT_TRUE(done.done);
  EXPECT_EQ(done.result, R"({"name":"part"})");
  auto const failed = work_state_from_json(to_json({"x", true, 0, {}, Error(Errc::checkpoint_file, "no room")}), "s");
  ASSERT_TRUE(failed.failed);
  EXPECT_STREQ(failed.failed->what(), "prdist[checkpoint.file] no room");
}

TEST(WorkState, NamesInItAreBytes) {
  auto const state =
      work_state_from_json(to_json({"loading d/\xff", true, 0, {}, Error(Errc::checkpoint_file, "d/\xfe")}), "s");
  EXPECT_EQ(state.what, "loading d/\xff");
  EXPECT_EQ(state.failed.value().message(), "d/\xfe");
}

TEST(WorkState, AnErrorOfALaterReleaseKeepsItsText) {
  auto const state =
      work_state_from_json(R"({"what":"x","done":true,"rows":0,"error":{"code":60000,"text":"new"}})", "server 0");
  ASSERT_TRUE(state.failed);
  EXPECT_EQ(state.failed->code(), Errc::internal);
  EXPECT_EQ(state.failed->message(), "new");
}

TEST(WorkState, WhatIsWrongIsSaidWithItsSender) {
  for (auto const* const text :
       {"", "[]", "{}", R"({"what":1,"done":true,"rows":0})", R"({"what":"x","done":true,"rows":-1})",
        R"({"what":"x","done":true,"rows":0,"error":1})"}) {
    EXPECT_STREQ(test::thrown([&] { (void)work_state_from_json(text, "server 1"); }).what(),
                 "prdist[wire.message] server 1 did not say how far its work is")
        << text;
  }
}
