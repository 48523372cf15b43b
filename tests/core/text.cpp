#include <prdist/core/text.hpp>

#include <gtest/gtest.h>

#include <cstdint>

using prdist::concat;
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
