#include <prdist/server/catalog.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Catalog, TakesTheFirstDeclarationAndRefusesAnother) {
  Catalog catalog;
  Placement const placement(1);
  SparseSpec spec{.name = "emb", .dim = 8};
  EXPECT_TRUE(catalog.add(spec, placement, 0).value());
  EXPECT_FALSE(catalog.add(spec, placement, 0).value());
  spec.dim = 16;
  auto const refused = catalog.add(spec, placement, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::table_mismatch);
  EXPECT_EQ(refused.error().message(),
            "table 'emb': dim is 16 here and 8 on the server: all trainers must run the same program with the same "
            "options");
  EXPECT_EQ(catalog.find(table_id("emb"))->sparse()->dim, 8U);
  EXPECT_EQ(catalog.find(table_id("other")), nullptr);
}

TEST(Catalog, ASparseAndADenseTableOfOneNameDiffer) {
  Catalog catalog;
  Placement const placement(1);
  ASSERT_TRUE(catalog.add(SparseSpec{.name = "t", .dim = 8}, placement, 0));
  EXPECT_FALSE(catalog.add(DenseSpec{.name = "t", .parts = {{"w", 8, {}}}}, placement, 0));
}

TEST(Catalog, KnowsTheRangesOfEachServer) {
  Placement const placement(3);
  DenseSpec const spec{.name = "d", .parts = {{"w", 100000, {}}}};
  std::size_t floats = 0, ranges = 0;
  for (std::size_t server = 0; server < 3; ++server) {
    Catalog catalog;
    ASSERT_TRUE(catalog.add(spec, placement, server));
    auto const info = catalog.find(table_id("d"));
    EXPECT_EQ(info->starts.size(), info->ranges.size() + 1);
    floats += info->starts.back();
    ranges += info->ranges.size();
  }
  EXPECT_EQ(floats, 100000U);
  EXPECT_EQ(ranges, range_count(100000));
}

TEST(Catalog, KnowsToWhichPartAFloatBelongs) {
  Placement const placement(3);
  DenseSpec const spec{.name = "d", .parts = {{"a", range_floats + 7, {}}, {"b", 3 * range_floats, {}}, {"c", 9, {}}}};
  std::map<std::string, std::size_t> counted;
  for (std::size_t server = 0; server < 3; ++server) {
    Catalog catalog;
    ASSERT_TRUE(catalog.add(spec, placement, server));
    auto const info = catalog.find(table_id("d"));
    for (std::size_t at = 0; at < info->starts.back(); ++at) ++counted[info->part_at(at)];
  }
  EXPECT_EQ(counted, (std::map<std::string, std::size_t>{{"a", range_floats + 7}, {"b", 3 * range_floats}, {"c", 9}}));
}

TEST(Catalog, SaysWhetherAnyTableGathers) {
  Catalog catalog;
  Placement const placement(1);
  ASSERT_TRUE(catalog.add(SparseSpec{.name = "a", .dim = 1}, placement, 0));
  EXPECT_FALSE(catalog.any_gathers());
  ASSERT_TRUE(catalog.add(SparseSpec{.name = "b", .dim = 1, .apply = ApplyRule::gather}, placement, 0));
  EXPECT_TRUE(catalog.any_gathers());
}
