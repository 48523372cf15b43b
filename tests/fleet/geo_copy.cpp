#include <prdist/fleet/geo_copy.hpp>

#include <gtest/gtest.h>

#include "../support/cluster.hpp"

namespace prdist::test {
namespace {

struct Shape {
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", 1, Initializer::constant(1)}}; }
  std::vector<DensePart> dense_parts() const { return {{"w", 2, Initializer::constant(5)}}; }
};

/// What a copy sees of a thread: keys, room for rows, gradients.
struct Hand {
  std::vector<Key> names{1, 2};
  std::vector<float> row = std::vector<float>(2), weights = std::vector<float>(2);
  std::vector<float> row_slope{-1, -1}, slope{-2, 0};
  std::span<Key const> keys(std::size_t) const { return names; }
  std::span<float> rows(std::size_t) { return row; }
  std::span<float> dense() { return weights; }
  std::span<float const> row_gradients(std::size_t) { return row_slope; }
  std::span<float const> dense_gradient() { return slope; }
};

TEST(GeoCopy, LearnsBesideTheServersAndExchanges) {
  spawn<Transport<Memory>>(2, 2, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    Optimizers const rules{Sgd{.rate = 1}, Sgd{.rate = 1}};
    auto const tables = ModelTables::declare(client, Shape{}, rules, ApplyRule::add, 0, {});
    GeoCopy copy(client, tables, rules);
    Hand hand;
    copy.read(hand);
    EXPECT_EQ(hand.row, (std::vector<float>{1, 1}));
    EXPECT_EQ(hand.weights, (std::vector<float>{5, 5}));
    client.barrier("read");
    std::vector<float> rows(2), dense(2);
    if (fleet.roles().index == 0) {
      copy.learn(hand);
      copy.step(2);  // not yet
      client.pull(tables.sparse[0], hand.names, rows).wait();
      EXPECT_EQ(rows, (std::vector<float>{1, 1}));
      copy.learn(hand);
      copy.step(2);  // half of what it has learned
      client.pull(tables.sparse[0], hand.names, rows).wait();
      client.pull(*tables.dense, dense).wait();
      EXPECT_EQ(rows, (std::vector<float>{2, 2}));
      EXPECT_EQ(dense, (std::vector<float>{7, 5}));
      copy.read(hand);
      EXPECT_EQ(hand.row, (std::vector<float>{3, 3}));
    }
    client.barrier("half");
    if (fleet.roles().index == 1) {
      copy.settle();  // it has nothing to give, and takes in the other's half
      copy.read(hand);
      EXPECT_EQ(hand.row, (std::vector<float>{2, 2}));
      EXPECT_EQ(hand.weights, (std::vector<float>{7, 5}));
    }
    client.barrier("taken");
    if (fleet.roles().index == 0) {
      copy.settle();  // the other half
      client.pull(tables.sparse[0], hand.names, rows).wait();
      client.pull(*tables.dense, dense).wait();
      EXPECT_EQ(rows, (std::vector<float>{3, 3}));
      EXPECT_EQ(dense, (std::vector<float>{9, 5}));
    }
    client.barrier("end");
    fleet.stop_worker();
  });
}

}  // namespace
}  // namespace prdist::test
