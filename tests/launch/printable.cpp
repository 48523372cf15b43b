#include <prdist/launch/printable.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Printable, LeavesTextAlone) {
  for (std::string const text : {"", "loss 0.5\tauc 0.8", "损失 0.5", "caf\xc3\xa9", "\xd6\xd0\xce\xc4 in GBK"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ShowsWhatATerminalWouldDo) {
  EXPECT_EQ(printable("a\nb\rc"), "a\\nb\\rc");
  EXPECT_EQ(printable("\x1b[2J\x1b[H"), "\\x1b[2J\\x1b[H");
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable(std::string_view("nul\0del\x7f", 8)), "nul\\x00del\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J");  // CSI in one character
  EXPECT_EQ(printable("\x1b"), "\\x1b");
  EXPECT_EQ(printable("\x1b["), "\\x1b[");
  EXPECT_EQ(printable("\x1b[31"), "\\x1b[31");
  EXPECT_EQ(printable("\x1b[?25l"), "\\x1b[?25l");
}

TEST(Printable, ColoursStayAndEndWithTheLine) {
  EXPECT_EQ(printable("\x1b[1;31mred\x1b[0m plain"), "\x1b[1;31mred\x1b[0m plain");
  EXPECT_EQ(printable("\x1b[38;5;196mred\x1b[m"), "\x1b[38;5;196mred\x1b[m");
  EXPECT_EQ(printable("\x1b[31mred"), "\x1b[31mred\x1b[0m");
}
