#include <prdist/fleet/model_tables.hpp>

#include <gtest/gtest.h>

#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

struct Shape {
  std::size_t dim = 2;
  std::size_t dense = 3;
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", dim, {}}}; }
  std::vector<DensePart> dense_parts() const {
    return dense == 0 ? std::vector<DensePart>{} : std::vector<DensePart>{{"w", dense, {}}};
  }
};

TEST(ModelTables, AreDeclaredOnTheServersWithRuleAndBound) {
  spawn<Transport<Memory>>(1, 1, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    Optimizers const rules{Adagrad{}, Adam{}};
    auto const tables = ModelTables::declare(client, Shape{}, rules, ApplyRule::immediate, 1, {.most = 4});
    EXPECT_EQ(tables.sparse.at(0).dim, 2U);
    EXPECT_EQ(tables.dense_size(), 3U);
    // The same again is known, another is refused.
    SparseSpec spec{.name = "rows", .dim = 2, .optimizer = Adagrad{}, .seed = 1, .staleness = {.most = 4}};
    (void)client.declare(spec);
    spec.staleness = {};
    EXPECT_EQ(thrown([&] { (void)client.declare(spec); }).code(), Errc::table_mismatch);
    fleet.stop_worker();
  });
}

TEST(ModelTables, ThatAddHaveNoRuleOfTheirOwn) {
  spawn<Transport<Memory>>(1, 1, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const tables = ModelTables::declare(client, Shape{.dense = 0}, {Adam{}, Adam{}}, ApplyRule::add, 1, {});
    EXPECT_FALSE(tables.dense);
    (void)client.declare(SparseSpec{.name = "rows", .dim = 2, .optimizer = adding, .apply = ApplyRule::add, .seed = 1});
    fleet.stop_worker();
  });
}

TEST(ModelTables, KnowAnotherModelWhenTheySeeOne) {
  ModelTables tables;
  tables.sparse.push_back({1, 2, "rows"});
  tables.dense = DenseRef{2, 3, "dense"};
  tables.check_same(Shape{});
  for (auto const& other : {Shape{.dim = 3}, Shape{.dense = 4}, Shape{.dense = 0}}) {
    EXPECT_TRUE(holds(thrown([&] { tables.check_same(other); }).what(), "has begun with another model"));
  }
}

}  // namespace
}  // namespace prdist::test
