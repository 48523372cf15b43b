#include <prdist/server/versions.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Versions, CountPushesBetweenPullAndApply) {
  Versions versions;
  auto const first = versions.now();
  EXPECT_NE(first, 0U);
  EXPECT_EQ(versions.applied(first), 0U);
  EXPECT_EQ(versions.applied(first), 1U);
  auto const later = versions.now();
  EXPECT_EQ(versions.applied(first), 2U);
  EXPECT_EQ(versions.since(later), 1U);
  EXPECT_EQ(versions.staleness().count(), 3U);
  EXPECT_EQ(versions.staleness().most(), 2U);
  EXPECT_EQ(versions.pushes(), 3U);
}

TEST(Versions, APushThatDoesNotSayWhereItIsFromIsCountedAndNotMeasured) {
  Versions versions;
  EXPECT_EQ(versions.applied(0), 0U);
  EXPECT_EQ(versions.since(0), 0U);
  EXPECT_EQ(versions.pushes(), 1U);
  EXPECT_EQ(versions.staleness().count(), 0U);
}

TEST(Versions, TheTrainersOfAStepAreOneVersion) {
  Versions versions;
  for (int step = 0; step < 3; ++step) {
    auto const pulled = versions.now();
    EXPECT_EQ(versions.applied_in_step(0, pulled), 0U);
    EXPECT_EQ(versions.applied_in_step(1, pulled), 0U);
  }
  EXPECT_EQ(versions.pushes(), 3U);
  EXPECT_EQ(versions.staleness().most(), 0U);
}
