#include <prdist/core/elastic.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Elastic, IsTwoNumbersAndAColon) {
  EXPECT_EQ(elastic_from_text("2:4").value(), (Elastic{2, 4}));
  EXPECT_EQ(elastic_from_text("1:65536").value(), (Elastic{1, 65536}));
  EXPECT_EQ(elastic_from_text("3:3").value(), (Elastic{3, 3}));
  EXPECT_EQ(to_string(Elastic{2, 4}), "2:4");
}

TEST(Elastic, AnythingElseIsNamed) {
  for (auto const* text : {"", "2", ":", "2:", ":4", "0:4", "2:65537", "2:4:6", " 2:4", "2:4x", "-1:4", "2-4"}) {
    auto const range = elastic_from_text(text);
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error().message(), concat("'", text, "': two numbers from 1 to 65536 are expected, as in 2:4"));
    EXPECT_EQ(range.error().code(), Errc::config_invalid);
  }
  EXPECT_EQ(elastic_from_text("4:2").error().message(), "'4:2': the first number is the smaller one, as in 2:4");
}
