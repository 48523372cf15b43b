#include <prdist/nn/row_store.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include <prdist/data/counter_random.hpp>

#include "../optim/every_optimizer.hpp"

using namespace prdist;
using nn::RowStore;

namespace {

std::vector<float> pull(RowStore const& store, std::vector<Key> const& keys) {
  std::vector<float> rows(keys.size() * store.dim());
  store.pull(keys, rows);
  return rows;
}

}  // namespace

TEST(RowStore, PullGivesTheFirstRowAndInsertsNothing) {
  auto const init = Initializer::uniform(-1, 1);
  RowStore const store("embedding", 3, init, Adam{}, 7);
  auto const rows = pull(store, {5, 6, 5});
  std::vector<float> wanted(3);
  fill_first(init, stream_of(7, hash_name("embedding")), 5, wanted);
  EXPECT_EQ(std::vector<float>(rows.begin(), rows.begin() + 3), wanted);
  EXPECT_EQ(std::vector<float>(rows.begin() + 6, rows.end()), wanted);
  EXPECT_NE(std::vector<float>(rows.begin() + 3, rows.begin() + 6), wanted);
  EXPECT_EQ(store.size(), 0U);
}

TEST(RowStore, PushAddsUpEqualKeysBeforeOneStep) {
  // Adagrad is not linear: one step of g1 + g2 differs from two steps.
  Adagrad const rule{.rate = 0.5F, .initial = 0, .epsilon = 0};
  RowStore store("t", 2, Initializer::zeros(), rule, 1);
  store.push(std::vector<Key>{9, 4, 9}, std::vector<float>{1, 2, 10, 20, 3, -1});
  EXPECT_EQ(store.size(), 2U);
  EXPECT_EQ(pull(store, {9, 4}), (std::vector<float>{-0.5F, -0.5F, -0.5F, -0.5F}));
  store.push(std::vector<Key>{9}, std::vector<float>{3, 1});
  auto const row = pull(store, {9});
  EXPECT_FLOAT_EQ(row[0], -0.5F - 0.5F * 3 / std::sqrt(16.0F + 9.0F));
  EXPECT_FLOAT_EQ(row[1], -0.5F - 0.5F * 1 / std::sqrt(1.0F + 1.0F));
}

TEST(RowStore, EveryRuleKeepsItsStatePerRow) {
  // Two rows with equal gradients at different times end equal: neither has seen the other's state.
  for (auto const& rule : test::every_optimizer()) {
    RowStore store("t", 2, Initializer::constant(1), rule, 1);
    std::vector<float> const gradient{0.5F, -0.25F};
    for (int i = 0; i < 3; ++i) store.push(std::vector<Key>{1}, gradient);
    auto const early = pull(store, {1});
    for (int i = 0; i < 3; ++i) store.push(std::vector<Key>{2}, gradient);
    EXPECT_EQ(pull(store, {2}), early) << name_of(rule);
    EXPECT_EQ(pull(store, {1}), early) << name_of(rule);
    EXPECT_LT(early[0], 1.0F);
    EXPECT_GT(early[1], 1.0F);
  }
}

TEST(RowStore, HoldsManyKeysOfAnyValue) {
  RowStore store("t", 1, Initializer::zeros(), Sgd{.rate = 1}, 1);
  CounterRandom const random(3);
  std::map<Key, float> wanted;
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::vector<Key> keys{0, ~Key{0}};
    for (std::uint64_t k = 0; k < 100; ++k) keys.push_back(random.bits(i * 60 + k));
    std::vector<float> const gradients(keys.size(), -1);
    store.push(keys, gradients);
    for (auto const key : keys) wanted[key] += 1;
  }
  EXPECT_EQ(store.size(), wanted.size());
  EXPECT_GT(store.size(), 8192U) << "more than two chunks";
  for (auto const& [key, count] : wanted) ASSERT_EQ(pull(store, {key})[0], count);
}
