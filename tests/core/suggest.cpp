#include <prdist/core/suggest.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Suggest, FindsTheCloseWordAndNoFarOne) {
  std::vector<std::string> const known{"server_num", "trainer_num", "memory", "storage"};
  EXPECT_EQ(did_you_mean("mermory", known), "memory");
  EXPECT_EQ(did_you_mean("trianer_num", known), "trainer_num");
  EXPECT_EQ(did_you_mean("MEMORY", known), "memory");
  EXPECT_EQ(did_you_mean("elephant", known), "");
  EXPECT_EQ(did_you_mean(std::string(101, 'm'), known), "");
}

TEST(Suggest, NeighboursThatChangedPlacesAreOneSlip) {
  EXPECT_EQ(edit_distance("statsu", "status"), 1U);
  EXPECT_EQ(edit_distance("", "logs"), 4U);
  EXPECT_EQ(edit_distance("logs", "logs"), 0U);
}
