#include <prdist/optim/field.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string_view>

using namespace prdist;

TEST(Field, LimitsTakeWhatTheirTextSays) {
  struct Case {
    Limit limit;
    bool minus, zero, half, one;
  };
  for (auto const& it :
       {Case{Limit::finite, true, true, true, true}, Case{Limit::positive, false, false, true, true},
        Case{Limit::not_negative, false, true, true, true}, Case{Limit::fraction, false, true, true, false}}) {
    EXPECT_EQ(within(it.limit, -1), it.minus) << text_of(it.limit);
    EXPECT_EQ(within(it.limit, 0), it.zero) << text_of(it.limit);
    EXPECT_EQ(within(it.limit, 0.5), it.half) << text_of(it.limit);
    EXPECT_EQ(within(it.limit, 1), it.one) << text_of(it.limit);
    for (auto const bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_FALSE(within(it.limit, bad)) << text_of(it.limit);
    }
  }
}

TEST(Field, EveryLimitHasAText) {
  std::set<std::string_view> const texts{text_of(Limit::finite), text_of(Limit::positive), text_of(Limit::not_negative),
                                         text_of(Limit::fraction)};
  EXPECT_EQ(texts.size(), 4U);
  EXPECT_FALSE(texts.contains(""));
}
