#include <prdist/core/text.hpp>

#include <gtest/gtest.h>

#include <cstdint>

using prdist::concat;
using prdist::is_printable_utf8;
using prdist::parse_number;

TEST(Concat, JoinsTextsNumbersAndBools) {
  EXPECT_EQ(concat("a", std::string("b"), 'c', 7, ' ', true, ' ', 0.5F), "abc7 true 0.5");
}

TEST(ParseNumber, TakesOnlyWholeNumbersInRange) {
  std::uint16_t port = 0;
  EXPECT_TRUE(parse_number("65535", port));
  EXPECT_EQ(port, 65535);
  for (auto const* wrong : {"", " 1", "1 ", "-1", "+1", "65536", "1x", "0x1"}) {
    EXPECT_FALSE(parse_number(wrong, port)) << wrong;
  }
}

TEST(Text, PrintableUtf8IsToldFromTheRest) {
  for (std::string_view const fine : {"", "plain text ~", "\xc3\xa9", "\xe8\xa1\xa8", "\xf0\x9f\x98\x80", "\xc2\xa0"}) {
    EXPECT_TRUE(is_printable_utf8(fine)) << fine;
  }
  for (std::string_view const wrong :
       {"a\nb", "\x7f", "\x1b[1m", "\xff", "\xc3", "\xc3(", "\xc0\x80", "\xc2\x85", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe8\xa1"}) {
    EXPECT_FALSE(is_printable_utf8(wrong)) << wrong;
  }
  EXPECT_FALSE(is_printable_utf8(std::string_view("a\0b", 3)));
}
