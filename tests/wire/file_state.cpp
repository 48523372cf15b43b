#include <prdist/wire/file_state.hpp>

#include <gtest/gtest.h>

#include "../support/thrown.hpp"

using namespace prdist;

TEST(FileState, ReadsBackWhatItWrote) {
  FileState const state{{.files = 5, .source = 0xfedcba9876543210, .epochs = 2}, 7, {1, 4, 6}, 123};
  EXPECT_EQ(file_state_from_json(to_json(state), "server 0"), state);
  EXPECT_EQ(file_state_from_json(to_json(FileState{}), "server 0"), FileState{});
}

TEST(FileState, WhatDoesNotFitIsRefused) {
  for (auto const* text : {"", "[]", "{}", R"({"files":2,"source":1,"epochs":1,"next":1})",
                           R"({"files":2,"source":1,"epochs":1,"next":3,"open":[]})",
                           R"({"files":2,"source":1,"epochs":1,"next":1,"open":[1]})",
                           R"({"files":2,"source":1,"epochs":1,"next":2,"open":[1,0]})",
                           R"({"files":2,"source":1,"epochs":1,"next":2,"open":[0,0]})",
                           R"({"files":-2,"source":1,"epochs":1,"next":0,"open":[]})",
                           R"({"files":18446744073709551615,"source":1,"epochs":2,"next":0,"open":[]})"}) {
    EXPECT_STREQ(test::thrown([&] { (void)file_state_from_json(text, "server 0"); }).what(),
                 "prdist[wire.message] server 0 does not say which files are done")
        << text;
  }
}
