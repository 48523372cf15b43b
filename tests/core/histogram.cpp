#include <prdist/core/histogram.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace prdist;

TEST(Histogram, BucketsDouble) {
  for (auto const& [value, label] :
       {std::pair(0UL, "0"), std::pair(1UL, "1"), std::pair(2UL, "2"), std::pair(3UL, "3-4"), std::pair(4UL, "3-4"),
        std::pair(5UL, "5-8"), std::pair(1UL << 31, "1073741825-2147483648"), std::pair(~0UL, "2147483649+")}) {
    EXPECT_EQ(Histogram::label_of(Histogram::bucket_of(value)), label) << value;
  }
}

TEST(Histogram, KnowsCountMeanAndMost) {
  Histogram histogram;
  EXPECT_EQ(histogram.mean(), 0);
  for (std::uint64_t const value : {0U, 1U, 1U, 6U}) histogram.add(value);
  EXPECT_EQ(histogram.count(), 4U);
  EXPECT_EQ(histogram.mean(), 2);
  EXPECT_EQ(histogram.most(), 6U);
  EXPECT_EQ(histogram.in_bucket(1), 2U);
}

TEST(Histogram, ManyThreadsLoseNoCount) {
  Histogram histogram;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&histogram, t] {
      for (std::uint64_t i = 0; i < 1000; ++i) histogram.add(i * 4 + t);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(histogram.count(), 4000U);
  EXPECT_EQ(histogram.most(), 3999U);
}
