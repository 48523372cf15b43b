#include <prdist/fleet/flight.hpp>

#include <gtest/gtest.h>

#include <prdist/device/cpu.hpp>

namespace prdist::test {
namespace {

using FlightOf = Flight<Cpu>;

ModelTables tables_of(bool statistics = false) {
  ModelTables tables{.statistics = statistics};
  tables.sparse.push_back({1, 2, "rows"});
  tables.dense = DenseRef{2, 1, "dense"};
  return tables;
}

FlightOf flight(std::vector<Key> keys, std::vector<float> rows, float dense, std::uint32_t examples) {
  FlightOf it;
  it.shape(tables_of());
  it.keys[0] = std::move(keys);
  it.row_gradients[0] = std::move(rows);
  it.dense_gradient = {dense};
  it.examples = examples;
  it.seen = {{examples}, {}};
  return it;
}

struct Merged {
  FlightOf into;
  Merged(std::vector<FlightOf*> parts, MergeRules const& rules, bool statistics = false) {
    Cpu cpu;
    KeyIndex index;
    merge<Cpu>(parts, rules, tables_of(statistics), cpu, index, into);
  }
};

TEST(Merge, MeanIsOverAllExamplesAsOneBatchWouldGiveIt) {
  auto a = flight({5, 6}, {4, 4, 8, 8}, 4, 3);
  auto b = flight({6, 7}, {4, 0, 16, 16}, 8, 1);
  Merged const merged({&a, &b}, {});
  EXPECT_EQ(merged.into.keys[0], (std::vector<Key>{5, 6, 7}));
  EXPECT_EQ(merged.into.row_gradients[0], (std::vector<float>{3, 3, 7, 6, 4, 4}));
  EXPECT_EQ(merged.into.dense_gradient, std::vector<float>{5});
  EXPECT_EQ(merged.into.examples, 4U);
  EXPECT_EQ(merged.into.seen[0], Seen{1}) << "as stale as the oldest";
}

TEST(Merge, SumIsWhatPlainSgdWouldHaveDoneStepByStep) {
  auto a = flight({5}, {1, 2}, 4, 3);
  auto b = flight({5}, {10, 20}, 8, 1);
  auto const rules = MergeRules::of({Sgd{}, Adam{}});
  EXPECT_TRUE(rules.sum_rows);
  EXPECT_FALSE(rules.sum_dense);
  Merged const merged({&a, &b}, rules);
  EXPECT_EQ(merged.into.row_gradients[0], (std::vector<float>{11, 22}));
  EXPECT_EQ(merged.into.dense_gradient, std::vector<float>{5});
}

TEST(Merge, ShowsAndClicksAddUpWhateverTheGradientsDo) {
  auto a = flight({5, 6}, {4, 4, 8, 8}, 4, 3);
  auto b = flight({6, 7}, {4, 0, 16, 16}, 8, 1);
  a.show_click[0] = {2, 1, 3, 0};
  b.show_click[0] = {1, 1, 4, 2};
  EXPECT_EQ(Merged({&a, &b}, {}, true).into.show_click[0], (std::vector<float>{2, 1, 4, 1, 4, 2}));
}

// Threads pull when they like, and a part asks only the servers that hold its keys.
TEST(Merge, IsAsStaleAsTheOldestOfItsPartsOnEachServer) {
  auto a = flight({5}, {1, 2}, 4, 1);
  auto b = flight({5}, {1, 2}, 4, 1);
  auto c = flight({5}, {1, 2}, 4, 1);
  a.seen = {{7, 0, 3, 0xfffffffe}, {}};
  b.seen = {{5, 9, 0, 2}, {4, 4}};
  c.seen = {{6, 8, 4, 1}, {3, 5}};
  EXPECT_EQ(Merged({&a, &b, &c}, {}).into.seen, (std::vector<Seen>{{5, 8, 3, 0xfffffffe}, {3, 4}}));
}

TEST(Merge, PartsWithoutRowsAreFine) {
  auto a = flight({}, {}, 4, 1);
  auto b = flight({}, {}, 8, 1);
  Merged const merged({&a, &b}, {});
  EXPECT_TRUE(merged.into.keys[0].empty());
  EXPECT_EQ(merged.into.dense_gradient, std::vector<float>{6});
}

}  // namespace
}  // namespace prdist::test
