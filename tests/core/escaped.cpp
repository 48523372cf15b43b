#include <prdist/core/escaped.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Escaped, LeavesTextAlone) {
  for (std::string const text : {"", "a b", "caf\xc3\xa9", "损失 0.5", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(escaped(text), text);
}

TEST(Escaped, ShowsWhatWouldSteerATerminal) {
  EXPECT_EQ(escaped("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(escaped("\x1b[31m\x07"), "\\x1b[31m\\x07") << "colours, too";
  EXPECT_EQ(escaped(std::string_view("nul\0del\x7f", 8)), "nul\\x00del\\x7f");
  EXPECT_EQ(escaped("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(escaped("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "it turns the direction of writing";
}

TEST(Escaped, WhatIsNoUtf8IsBytes) {
  EXPECT_EQ(escaped("\xd6\xd0"), "\\xd6\\xd0");
  EXPECT_EQ(escaped("\xe8\xa1"), "\\xe8\\xa1") << "cut in the middle";
  EXPECT_EQ(escaped("\xc0\x80"), "\\xc0\\x80");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");
}
