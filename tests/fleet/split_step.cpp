#include <prdist/fleet/split_step.hpp>

#include <gtest/gtest.h>

#include <array>

#include "../support/cluster.hpp"

namespace prdist::test {
namespace {

struct Labels {
  std::vector<Key> keys;
  [[nodiscard]] std::size_t size() const { return keys.size(); }
  [[nodiscard]] Labels slice(std::size_t first, std::size_t count) const {
    auto const begin = keys.begin() + static_cast<std::ptrdiff_t>(first);
    return {{begin, begin + static_cast<std::ptrdiff_t>(count)}};
  }
};

/// The mean over the batch of the keys' own numbers is both the loss and the gradient of the dense weight.
struct Mean {
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", 1, Initializer::constant(1)}}; }
  std::vector<DensePart> dense_parts() const { return {{"w", 1, Initializer::zeros()}}; }
  std::span<Key const> keys(Labels const& batch, std::size_t) const { return batch.keys; }
  double gradients(Labels const& batch, StepView const& view) {
    for (auto const key : batch.keys) {
      view.dense_gradient[0] += static_cast<float>(key) / static_cast<float>(batch.size());
    }
    return view.dense_gradient[0];
  }
};

struct Seen {
  double loss = 0, checked = -1;
  float weight = 0;
};

Seen step_of(std::size_t parts, std::size_t threads, Labels const& batch) {
  Seen seen;
  spawn<Transport<Memory>>(1, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    Optimizers const rules{Sgd{.rate = 1}, Sgd{.rate = 1}};
    auto const tables = ModelTables::declare(client, Mean{}, rules, ApplyRule::immediate, 0, {});
    {
      std::vector<std::unique_ptr<TrainerLane<Cpu>>> lanes;
      for (std::size_t i = 0; i < parts; ++i) {
        lanes.push_back(std::make_unique<TrainerLane<Cpu>>(client, tables, MergeRules::of(rules), Cpu{}));
      }
      Team team(threads);
      std::vector<Mean> models(threads);
      SplitStep<Cpu, Mean, Labels> step(lanes, team, models, batch, [&](double loss) { seen.checked = loss; });
      step.pull();
      step.compute();
      step.push(1);
      step.settle(0);
      seen.loss = step.loss;
      std::array<float, 1> weight{};
      client.pull(*tables.dense, weight).wait();
      seen.weight = weight[0];
    }
    fleet.stop_worker();
  });
  return seen;
}

// Seven examples in four parts: parts of one and of two, each weighted by its size.
TEST(SplitStep, PartsOfAnySizeAddUpToTheBatch) {
  Labels const batch{{1, 2, 3, 4, 5, 6, 7}};
  for (std::size_t const parts : {1U, 2U, 4U, 7U}) {
    auto const seen = step_of(parts, 1, batch);
    EXPECT_DOUBLE_EQ(seen.loss, 4) << parts;
    EXPECT_EQ(seen.checked, seen.loss) << parts;
    EXPECT_FLOAT_EQ(seen.weight, -4) << parts;
  }
}

TEST(SplitStep, ABatchOfNothingHasNoLossAndTeachesNothing) {
  auto const seen = step_of(1, 1, {});
  EXPECT_EQ(seen.checked, 0);
  EXPECT_EQ(seen.weight, 0);
}

TEST(SplitStep, ThreadsDoNotChangeABit) {
  Labels batch;
  for (Key key = 0; key < 50; ++key) batch.keys.push_back(key * key % 37);
  auto const alone = step_of(4, 1, batch);
  for (std::size_t const threads : {2U, 3U, 4U, 6U}) {
    auto const seen = step_of(4, threads, batch);
    EXPECT_EQ(seen.loss, alone.loss) << threads;
    EXPECT_EQ(seen.weight, alone.weight) << threads;
  }
}

}  // namespace
}  // namespace prdist::test
