#include <prdist/core/port_layout.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(PortLayout, RowsGoToThePortsBehindTheDenseOnes) {
  PortLayout const ports{.dense = 2, .sparse = 3};
  EXPECT_EQ(ports.total(), 5U);
  EXPECT_FALSE(ports.is_sparse(1));
  EXPECT_TRUE(ports.is_sparse(2));
  for (std::uint32_t table = 0; table < 12; ++table) {
    EXPECT_EQ(ports.of_dense(table), table % 2);
    EXPECT_EQ(ports.of_sparse(table), 2 + table % 3);
  }
  EXPECT_EQ(to_string(ports), "2 dense and 3 sparse ports");
}

TEST(PortLayout, WithoutSparsePortsRowsGoWhereEverythingGoes) {
  PortLayout const one;
  EXPECT_EQ(one.total(), 1U);
  EXPECT_EQ(one.of_sparse(7), 0U);
  EXPECT_EQ((PortLayout{.dense = 2, .sparse = 0}.of_sparse(7)), 1U);
}
