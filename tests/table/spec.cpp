#include <prdist/table/spec.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Spec, SizeOfADenseTableIsTheSumOfItsParts) {
  EXPECT_EQ(DenseSpec{}.size(), 0U);
  EXPECT_EQ((DenseSpec{.name = "d", .parts = {{"w", 100, {}}, {"b", 7, {}}, {"nothing", 0, {}}}}.size()), 107U);
}

TEST(Spec, ApplyRulesHaveNames) {
  EXPECT_EQ(name_of(ApplyRule::immediate), "immediate");
  EXPECT_EQ(name_of(ApplyRule::gather), "gather");
}

TEST(Spec, EveryFieldCountsInAComparison) {
  SparseSpec const sparse{.name = "e", .dim = 8};
  auto const with = [&](auto const& change) {
    auto other = sparse;
    change(other);
    return other;
  };
  EXPECT_EQ(sparse, with([](auto&) {}));
  EXPECT_NE(sparse, with([](auto& it) { it.name = "f"; }));
  EXPECT_NE(sparse, with([](auto& it) { it.dim = 9; }));
  EXPECT_NE(sparse, with([](auto& it) { it.optimizer = Adam{}; }));
  EXPECT_NE(sparse, with([](auto& it) { it.optimizer = Sgd{.rate = 0.5F}; }));
  EXPECT_NE(sparse, with([](auto& it) { it.init = Initializer::constant(1); }));
  EXPECT_NE(sparse, with([](auto& it) { it.apply = ApplyRule::gather; }));
  EXPECT_NE(sparse, with([](auto& it) { it.seed = 1; }));
  DenseSpec const dense{.name = "d", .parts = {{"w", 10, {}}}};
  auto changed = dense;
  EXPECT_EQ(dense, changed);
  changed.parts[0].size = 11;
  EXPECT_NE(dense, changed);
  changed = dense;
  changed = dense;
  changed.parts[0].shape = {2, 5};
  EXPECT_NE(changed, dense);
  changed = dense;
  changed.parts[0].name = "v";
  EXPECT_NE(dense, changed);
}
