// minimize() over a cluster against the same model trained by hand in one place.
#include <prdist/fleet/distributed_optimizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>

#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

struct Rows {
  std::vector<Key> keys;  // two per example
  std::vector<float> labels;
  [[nodiscard]] std::size_t size() const { return labels.size(); }
};

/// A small model with everything in it: two rows per example, a dense part, and products of the three.
struct Product {
  static constexpr std::size_t dim = 3;
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", dim, Initializer::uniform(-0.5F, 0.5F)}}; }
  std::vector<DensePart> dense_parts() const {
    return {{"scale", dim, Initializer::constant(1)}, {"bias", 1, Initializer::zeros()}};
  }
  std::span<Key const> keys(Rows const& batch, std::size_t) const { return batch.keys; }
  double gradients(Rows const& batch, StepView const& view) {
    double loss = 0;
    auto const n = static_cast<float>(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto const* const a = &view.rows[0][(2 * i) * dim];
      auto const* const b = &view.rows[0][(2 * i + 1) * dim];
      float z = view.dense[dim];
      for (std::size_t k = 0; k < dim; ++k) z += view.dense[k] * a[k] * b[k];
      float const slope = (z - batch.labels[i]) / n;
      loss += 0.5 * std::pow(z - batch.labels[i], 2) / n;
      view.dense_gradient[dim] += slope;
      for (std::size_t k = 0; k < dim; ++k) {
        view.dense_gradient[k] += slope * a[k] * b[k];
        view.row_gradients[0][2 * i * dim + k] += slope * view.dense[k] * b[k];
        view.row_gradients[0][(2 * i + 1) * dim + k] += slope * view.dense[k] * a[k];
      }
    }
    return loss;
  }
};

Rows batch_of(std::uint64_t step, std::uint32_t part, std::size_t size) {
  Rows batch;
  for (std::size_t i = 0; i < size; ++i) {
    auto const bits = mix(step * 1000003 + part * 1009 + i);
    batch.keys.push_back(bits % 40);
    batch.keys.push_back(100 + bits / 64 % 40);
    batch.labels.push_back(static_cast<float>(bits >> 60) / 8 - 1);
  }
  return batch;
}

struct Weights {
  std::vector<float> dense;
  std::vector<float> rows;
};

constexpr std::size_t steps = 60;

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  for (Key key = 0; key < 40; ++key) keys.insert(keys.end(), {key, 100 + key});
  return keys;
}

/// Worker w of N takes part w of each step's rows; parts may differ in size.
template <class StrategyChoice>
Weights train(std::uint32_t servers, std::uint32_t workers, std::vector<std::size_t> const& sizes, Optimizer rule,
              unsigned threads = 1) {
  Weights result;
  auto options = quick_options();
  options.seed = 5;
  options.server_threads = threads;
  spawn<Strategy<StrategyChoice>, Transport<Memory>>(servers, workers, options, [&](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(rule);
    fleet.init_worker();
    Product model;
    for (std::size_t step = 0; step < steps; ++step) {
      Rows batch;
      // One worker takes all parts when it is alone.
      for (std::uint32_t part = 0; part < sizes.size(); ++part) {
        if (workers > 1 && part != fleet.roles().index) continue;
        auto const rows = batch_of(step, part, sizes[part]);
        batch.keys.insert(batch.keys.end(), rows.keys.begin(), rows.keys.end());
        batch.labels.insert(batch.labels.end(), rows.labels.begin(), rows.labels.end());
      }
      optimizer.minimize(model, batch);
    }
    optimizer.finish();
    fleet.client().barrier("end");
    if (fleet.roles().index == 0) {
      result.dense = optimizer.dense_weights();
      auto const keys = all_keys();
      result.rows.resize(keys.size() * Product::dim);
      fleet.client().pull(SparseRef{table_id("rows"), Product::dim, "rows"}, keys, result.rows).wait();
    }
    fleet.stop_worker();
  });
  return result;
}

void expect_near(Weights const& a, Weights const& b, float tolerance) {
  ASSERT_EQ(a.dense.size(), b.dense.size());
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t i = 0; i < a.dense.size(); ++i) EXPECT_NEAR(a.dense[i], b.dense[i], tolerance) << "dense " << i;
  for (std::size_t i = 0; i < a.rows.size(); ++i) EXPECT_NEAR(a.rows[i], b.rows[i], tolerance) << "row element " << i;
}

TEST(DistributedOptimizer, SyncOfNWorkersEqualsOneProcessWithNTimesTheBatch) {
  for (Optimizer const& rule : {Optimizer(Sgd{.rate = 0.1F}), Optimizer(Adagrad{.rate = 0.1F})}) {
    auto const one = train<Sync>(1, 1, {8, 8, 8}, rule);
    expect_near(train<Sync>(2, 3, {8, 8, 8}, rule), one, 1e-5F);
  }
}

TEST(DistributedOptimizer, SyncWeighsGradientsByExamples) {
  auto const one = train<Sync>(1, 1, {1, 20}, Sgd{.rate = 0.1F});
  expect_near(train<Sync>(2, 2, {1, 20}, Sgd{.rate = 0.1F}), one, 1e-5F);
}

TEST(DistributedOptimizer, SyncGivesTheSameBytesWhateverTheNumberOfServersAndThreads) {
  auto const one = train<Sync>(1, 3, {8, 8, 8}, Adam{.rate = 0.01F});
  for (auto const& [servers, threads] : {std::pair(1U, 4U), std::pair(3U, 1U), std::pair(2U, 2U)}) {
    auto const other = train<Sync>(servers, 3, {8, 8, 8}, Adam{.rate = 0.01F}, threads);
    EXPECT_EQ(one.dense, other.dense);
    EXPECT_EQ(one.rows, other.rows);
  }
}

TEST(DistributedOptimizer, AsyncOfOneWorkerLearnsAsSyncDoes) {
  auto const sync = train<Sync>(1, 1, {32}, Sgd{.rate = 0.05F});
  auto const async = train<Async>(1, 1, {32}, Sgd{.rate = 0.05F});
  // Up to two steps stale: near, not equal.
  expect_near(sync, async, 0.05F);
}

TEST(DistributedOptimizer, MinimizeBeforeInitWorkerSaysWhatToCall) {
  Memory const memory(std::make_shared<MemoryHub>());
  Fleet<Transport<Memory>> fleet{Roles{Role::worker, 0, {{"s", 1}}, 1}, memory, quick_options()};
  auto optimizer = fleet.distributed_optimizer(Sgd{});
  Product model;
  try {
    optimizer.minimize(model, batch_of(0, 0, 2));
    FAIL();
  } catch (Error const& error) {
    EXPECT_STREQ(error.what(), "prdist[job.state] minimize() before init_worker(): call fleet.init_worker() first");
  }
}

/// Another size of the same tables.
struct Wider : Product {
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", dim + 1, {}}}; }
};

TEST(DistributedOptimizer, IsOfOneModel) {
  spawn<Transport<Memory>>(1, 1, quick_options(), [](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(Sgd{});
    fleet.init_worker();
    Product model;
    optimizer.minimize(model, batch_of(0, 0, 2));
    Wider wider;
    EXPECT_STREQ(thrown([&] { optimizer.minimize(wider, batch_of(0, 0, 2)); }).what(),
                 "prdist[job.state] this optimizer has begun with another model, of other tables or sizes: make one "
                 "optimizer for each");
    optimizer.minimize(model, batch_of(1, 0, 2));
    optimizer.settle();
    fleet.stop_worker();
  });
}

}  // namespace
}  // namespace prdist::test
