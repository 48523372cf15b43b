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

// Each worker of Geo learns by itself, and all of them by one rule.
TEST(ModelTables, ThatAddSayByWhichRuleWorkersLearn) {
  spawn<Transport<Memory>>(1, 2, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const declared = [&](Optimizer const& sparse, Optimizer const& dense) {
      (void)ModelTables::declare(client, Shape{}, {sparse, dense}, ApplyRule::add, 1, {});
    };
    EXPECT_TRUE(holds(thrown([&] { declared(Adam{.beta1 = 2}, Adam{}); }).what(), "beta1 is 2: it must be"));
    EXPECT_TRUE(holds(thrown([&] { declared(Adam{}, Ftrl{}); }).what(), "ftrl computes weights from its own state"));
    declared(Adam{}, Adam{.rate = 0.5F});
    fleet.client().barrier("declared");
    if (fleet.roles().index == 1) {
      auto const error = thrown([&] { declared(Adam{}, Adam{.rate = 0.25F}); });
      EXPECT_EQ(error.code(), Errc::table_mismatch);
      EXPECT_TRUE(holds(error.what(), "learned_by.rate is 2.5E-1 here and 5E-1 on the server")) << error.what();
    }
    fleet.client().barrier("compared");
    fleet.stop_worker();
  });
}

TEST(ModelTables, ThatAddHaveNoRuleOfTheirOwn) {
  spawn<Transport<Memory>>(1, 1, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const tables = ModelTables::declare(client, Shape{.dense = 0}, {Adam{}, Adam{}}, ApplyRule::add, 1, {});
    EXPECT_FALSE(tables.dense);
    SparseSpec const spec{.name = "rows",
                          .dim = 2,
                          .optimizer = adding,
                          .apply = ApplyRule::add,
                          .seed = 1,
                          .learned_by = Optimizer(Adam{})};
    (void)client.declare(spec);
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
