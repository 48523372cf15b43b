// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <prdist/core/environment.hpp>

using namespace prdist;

namespace {

Environment only(std::string name, std::string value) {
  return [=](std::string_view wanted) { return wanted == name ? std::optional(value) : std::nullopt; };
}

}  // namespace

TEST(Environment, OfTheProcessTellsEmptyFromUnset) {
  ::setenv("PRDIST_TEST_VARIABLE", "", 1);
  EXPECT_EQ(process_environment("PRDIST_TEST_VARIABLE"), "");
  ::unsetenv("PRDIST_TEST_VARIABLE");
  EXPECT_EQ(process_environment("PRDIST_TEST_VARIABLE"), std::nullopt);
}

TEST(Environment, NumbersHaveBounds) {
  EXPECT_EQ(number_in(only("A", "7"), "A", 1, 7), 7U);
  EXPECT_EQ(number_in(only("A", "7"), "B", 1, 7), std::nullopt);
  for (auto const* const wrong : {"", "8", "0", "-1", "7 ", "x", "99999999999999999999"}) {
    try {
      (void)number_in(only("A", wrong), "A", 1, 7);
      ADD_FAILURE() << "'" << wrong << "' was taken";
    } catch (Error const& error) {
      EXPECT_EQ(error.what(), concat("prdist[config.invalid] A='", wrong, "': a number from 1 to 7 is expected"));
    }
  }
}
