#include <prdist/table/row_policy.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(RowPolicy, NothingIsAskedForAtFirst) {
  EXPECT_EQ(Admission{}.kind, Admission::Kind::all);
  EXPECT_FALSE(Statistics{}.kept);
  EXPECT_EQ(Precision{}, Precision::fp32);
  EXPECT_EQ(Eviction{}, Eviction::none);
}

TEST(RowPolicy, EveryChoiceHasAName) {
  EXPECT_EQ(name_of(Precision::fp32), "fp32");
  EXPECT_EQ(name_of(Precision::bf16), "bf16");
  EXPECT_EQ(name_of(Precision::fp16), "fp16");
  EXPECT_EQ(name_of(Admission::after(3).kind), "count");
  EXPECT_EQ(name_of(Admission::by_chance(0.5).kind), "probability");
  EXPECT_EQ(name_of(Admission::Kind::bloom), "bloom");
  EXPECT_EQ(name_of(Admission::Kind::all), "all");
  EXPECT_EQ(name_of(Eviction::none), "none");
  EXPECT_EQ(name_of(Eviction::lru), "lru");
  EXPECT_EQ(name_of(Eviction::unseen), "unseen");
  EXPECT_EQ(name_of(Eviction::score), "score");
}
