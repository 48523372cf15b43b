#include <prdist/fleet/trainer_lane.hpp>

#include <gtest/gtest.h>

#include "../support/cluster.hpp"

namespace prdist::test {
namespace {

struct Pair {
  std::vector<Key> keys;
  [[nodiscard]] std::size_t size() const { return keys.size(); }
};

/// The gradient of every row is one, of the dense weight two.
struct Ones {
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", 1, Initializer::constant(10)}}; }
  std::vector<DensePart> dense_parts() const { return {{"w", 1, Initializer::constant(5)}}; }
  std::span<Key const> keys(Pair const& batch, std::size_t) const { return batch.keys; }
  double gradients(Pair const&, StepView const& view) {
    for (auto& each : view.row_gradients[0]) each = 1;
    view.dense_gradient[0] = 2;
    return view.rows[0][0];
  }
};

/// As Ones, and every even key was clicked.
struct Clicked : Ones {
  void clicks(Pair const& batch, std::size_t, std::span<float> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = batch.keys[i] % 2 == 0 ? 1 : 0;
  }
};
static_assert(can_tell_clicks<Clicked, Pair> && !can_tell_clicks<Ones, Pair>);

template <class Work>
void with_lane(Optimizer const& rule, Work const& work, RowPolicy const& policy = {}) {
  spawn<Transport<Memory>>(2, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const tables = ModelTables::declare(client, Ones{}, {rule, rule, policy}, ApplyRule::immediate, 0, {});
    {
      TrainerLane<Cpu> lane(client, tables, MergeRules::of({rule, rule}), Cpu{});
      work(lane, client, tables);
    }
    fleet.stop_worker();
  });
}

TEST(TrainerLane, PullsComputesAndPushesEqualKeysAsOneRow) {
  with_lane(Sgd{.rate = 1}, [](auto& lane, Client& client, ModelTables const& tables) {
    Ones model;
    Pair const batch{{3, 4, 3}};
    lane.open(model, batch);
    lane.pull();
    EXPECT_EQ(lane.compute(model, batch, lane.dense_view()), 10);
    lane.push(1);
    lane.settle(0);
    std::vector<float> rows(3);
    client.pull(tables.sparse[0], batch.keys, rows).wait();
    EXPECT_EQ(rows, (std::vector<float>{8, 9, 8}));
    EXPECT_EQ(client.staleness(tables.sparse[0].id)->most(), 0U);
    EXPECT_GT(client.staleness(tables.sparse[0].id)->count(), 0U);
  });
}

TEST(TrainerLane, CountsShowsAndClicksOfTablesThatKeepThem) {
  auto const counts = [](auto model, bool kept) {
    std::vector<float> found;
    with_lane(Sgd{.rate = 1},
              [&](auto& lane, Client&, ModelTables const&) {
                lane.open(model, Pair{{3, 4, 3, 4, 4}});
                found = lane.gradients().show_click[0];
              },
              {.statistics = {.kept = kept}});
    return found;
  };
  EXPECT_EQ(counts(Ones{}, true), (std::vector<float>{2, 0, 3, 0}));
  EXPECT_EQ(counts(Clicked{}, true), (std::vector<float>{2, 0, 3, 3}));
  EXPECT_TRUE(counts(Clicked{}, false).empty());
}

TEST(TrainerLane, WhatIsAskedAheadComesWithoutTheStepsBetween) {
  with_lane(Sgd{.rate = 1}, [](auto& lane, Client& client, ModelTables const& tables) {
    Ones model;
    Pair const one{{3, 4}}, two{{4, 5, 6}};
    lane.open(model, one);
    lane.pull();
    EXPECT_FALSE(lane.has_ahead());
    lane.ask_ahead(model, two);
    EXPECT_TRUE(lane.has_ahead());
    lane.compute(model, one, lane.dense_view());
    lane.push(1);
    lane.settle(0);
    lane.take_ahead();
    EXPECT_FALSE(lane.has_ahead());
    EXPECT_EQ(lane.compute(model, two, lane.dense_view()), 10) << "key 4 before the push";
    EXPECT_EQ(lane.dense()[0], 5);
    lane.push(1);
    lane.settle(0);
    std::vector<Key> const keys{3, 4, 5, 6};
    std::vector<float> rows(4);
    client.pull(tables.sparse[0], keys, rows).wait();
    EXPECT_EQ(rows, (std::vector<float>{9, 8, 9, 9}));
    EXPECT_EQ(client.staleness(tables.sparse[0].id)->most(), 1U) << "and that is measured";
    lane.ask_ahead(model, one);
    lane.drop_ahead();
    EXPECT_FALSE(lane.has_ahead());
  });
}

TEST(TrainerLane, HoldsGradientsBackUntilThereAreEnoughOrSettleWantsThem) {
  with_lane(Sgd{.rate = 1}, [](auto& lane, Client& client, ModelTables const& tables) {
    Ones model;
    Pair const batch{{3}};
    std::vector<float> rows(1), dense(1);
    auto const step = [&] {
      lane.open(model, batch);
      lane.pull();
      (void)lane.compute(model, batch, lane.dense_view());
      lane.push(3);
      client.pull(tables.sparse[0], batch.keys, rows).wait();
    };
    step();
    EXPECT_EQ(rows[0], 10);
    step();
    EXPECT_EQ(rows[0], 10);
    step();
    EXPECT_EQ(rows[0], 7);
    step();
    EXPECT_EQ(rows[0], 7);
    lane.settle(1);
    step();
    EXPECT_EQ(rows[0], 7);
    lane.settle(0);
    client.pull(tables.sparse[0], batch.keys, rows).wait();
    client.pull(*tables.dense, dense).wait();
    EXPECT_EQ(rows[0], 5);
    EXPECT_EQ(dense[0], 5 - 5 * 2);
  });
}

}  // namespace
}  // namespace prdist::test
