#include <prdist/table/finite.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace prdist;

TEST(FirstNotFinite, FindsItAnywhereAmongAnyNumber) {
  constexpr auto inf = std::numeric_limits<float>::infinity();
  for (std::size_t size = 0; size < 100; ++size) {
    std::vector<float> values(size, -1.5F);
    EXPECT_EQ(first_not_finite(values), size);
    for (std::size_t at = 0; at < size; ++at) {
      for (auto const bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
        values[at] = bad;
        EXPECT_EQ(first_not_finite(values), at) << bad << " of " << size;
      }
      values[at] = -1.5F;
    }
  }
}

TEST(FirstNotFinite, TwoInfinitiesDoNotHideEachOther) {
  std::vector<float> values(64);
  values[40] = std::numeric_limits<float>::infinity();
  values[8] = -values[40];  // of one place among the sums
  EXPECT_EQ(first_not_finite(values), 8U);
}

TEST(FirstNotFinite, NumbersWhoseSumOverflowsAreFinite) {
  for (auto const sign : {1.0F, -1.0F}) {
    std::vector<float> values(100, sign * std::numeric_limits<float>::max());
    EXPECT_EQ(first_not_finite(values), values.size());
    for (std::size_t i = 0; i < 50; ++i) values[i] = -values[i];
    EXPECT_EQ(first_not_finite(values), values.size());
  }
  EXPECT_EQ(first_not_finite(std::vector<float>(100, std::numeric_limits<float>::denorm_min())), 100U);
}
