// minimize() over a cluster against the same model trained by hand in one place.
#include <prdist/fleet/distributed_optimizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

struct Rows {
  std::vector<Key> keys;  // two per example
  std::vector<float> labels;
  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] Rows slice(std::size_t first, std::size_t count) const {
    Rows part;
    for (auto i = first; i < first + count; ++i) {
      part.keys.insert(part.keys.end(), {keys[2 * i], keys[2 * i + 1]});
      part.labels.push_back(labels[i]);
    }
    return part;
  }
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

/// Batches of one worker, for train().
auto batches(std::uint32_t worker, std::size_t count, std::size_t size) {
  return [worker, count, size, step = std::size_t{0}]() mutable -> std::optional<Rows> {
    if (step == count) return std::nullopt;
    return batch_of(step++, worker, size);
  };
}

/// A whole job through train(); worker w has uneven[w] batches.
template <class StrategyChoice>
Weights train_with_threads(StrategyChoice strategy, std::size_t threads, std::vector<std::size_t> const& uneven,
                           Optimizer const& rule, TrainOptions options = {}) {
  Weights result;
  auto fleet_options = quick_options();
  fleet_options.seed = 5;
  auto const workers = static_cast<std::uint32_t>(uneven.size());
  (void)strategy;
  spawn<Strategy<StrategyChoice>, Transport<Memory>>(2, workers, fleet_options, [&](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(rule);
    fleet.init_worker();
    auto const me = fleet.roles().index;
    auto mine = options;
    mine.threads = threads;
    std::size_t told = 0;
    optimizer.train(
        Product{}, batches(me, uneven[me], 13), [&](double, std::size_t size) { told += size; }, mine);
    EXPECT_EQ(told, uneven[me] * 13);
    optimizer.finish();
    fleet.client().barrier("end");
    if (me == 0) {
      result.dense = optimizer.dense_weights();
      auto const keys = all_keys();
      result.rows.resize(keys.size() * Product::dim);
      fleet.client().pull(SparseRef{table_id("rows"), Product::dim, "rows"}, keys, result.rows).wait();
    }
    fleet.client().barrier("read");
    fleet.stop_worker();
  });
  return result;
}

TEST(DistributedOptimizer, SyncGivesTheSameBytesForAnyNumberOfTrainerThreads) {
  auto const one = train_with_threads(Sync{}, 1, {20, 20}, Adam{.rate = 0.01F});
  for (std::size_t const threads : {2U, 3U, 8U}) {
    auto const other = train_with_threads(Sync{}, threads, {20, 20}, Adam{.rate = 0.01F});
    EXPECT_EQ(one.dense, other.dense) << threads;
    EXPECT_EQ(one.rows, other.rows) << threads;
  }
}

TEST(DistributedOptimizer, ABatchInPartsIsTheWholeBatch) {
  TrainOptions whole;
  whole.micro_batches = 1;
  expect_near(train_with_threads(Sync{}, 2, {20, 20}, Sgd{.rate = 0.1F}),
              train_with_threads(Sync{}, 1, {20, 20}, Sgd{.rate = 0.1F}, whole), 1e-4F);
}

template <class StrategyChoice>
class EveryStrategy : public ::testing::Test {};
using AllStrategies = ::testing::Types<Sync, HalfAsync, Async, Geo, Ssp>;
TYPED_TEST_SUITE(EveryStrategy, AllStrategies);

double loss_of(Weights const& weights) {
  auto const keys = all_keys();
  std::map<Key, std::size_t> place;
  for (std::size_t i = 0; i < keys.size(); ++i) place[keys[i]] = i;
  auto const batch = batch_of(1000, 0, 500);
  double loss = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    float z = weights.dense[Product::dim];
    for (std::size_t k = 0; k < Product::dim; ++k) {
      z += weights.dense[k] * weights.rows[place[batch.keys[2 * i]] * Product::dim + k] *
           weights.rows[place[batch.keys[2 * i + 1]] * Product::dim + k];
    }
    loss += 0.5 * std::pow(z - batch.labels[i], 2);
  }
  return loss / static_cast<double>(batch.size());
}

TYPED_TEST(EveryStrategy, LearnsOnUnevenDataWithSeveralThreads) {
  auto const none = loss_of(train_with_threads(TypeParam{}, 1, {1, 0}, Sgd{.rate = 0}));
  auto const trained = loss_of(train_with_threads(TypeParam{}, 3, {60, 25}, Adam{.rate = 0.01F}));
  EXPECT_LT(trained, 0.98 * none);
}

/// At a batch of one example it has diverged, in its loss or in its gradients alone.
struct Diverging : Product {
  double gradients(Rows const& batch, StepView const& view) {
    auto const loss = Product::gradients(batch, view);
    if (batch.size() > 1) return loss;
    view.dense_gradient[0] = view.row_gradients[0][0] = std::numeric_limits<float>::quiet_NaN();
    return loss_too ? std::numeric_limits<double>::infinity() : loss;
  }
  bool loss_too = true;
};

TYPED_TEST(EveryStrategy, AStepWithoutAFiniteLossIsNotPushed) {
  for (std::size_t const threads : {1U, 3U}) {
    auto options = quick_options();
    spawn<Strategy<TypeParam>, Transport<Memory>>(2, 1, options, [&](auto& fleet) {
      auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 0.01F});
      fleet.init_worker();
      TrainOptions train;
      train.threads = threads;
      std::size_t step = 0;
      auto const next = [&]() -> std::optional<Rows> {
        ++step;
        return batch_of(step, 0, step == 20 ? 1 : 8);
      };
      auto const error = thrown([&] {
        optimizer.train(
            Diverging{}, next, [](double, std::size_t) {}, train);
      });
      EXPECT_EQ(error.code(), Errc::job_diverged);
      EXPECT_TRUE(holds(error.what(), threads == 1 || TypeParam::apply == ApplyRule::gather
                                          ? "worker 0, step 20: the loss is inf"
                                          : "worker 0, thread "));
      optimizer.settle();
      for (auto const weight : optimizer.dense_weights()) EXPECT_TRUE(std::isfinite(weight));
      std::vector<float> rows(all_keys().size() * Product::dim);
      fleet.client().pull(SparseRef{table_id("rows"), Product::dim, "rows"}, all_keys(), rows).wait();
      for (auto const weight : rows) EXPECT_TRUE(std::isfinite(weight));
      fleet.stop_worker();
    });
  }
}

TYPED_TEST(EveryStrategy, GradientsThatAreNoNumbersAreRefusedByTheServers) {
  auto options = quick_options();
  spawn<Strategy<TypeParam>, Transport<Memory>>(2, 1, options, [&](auto& fleet) {
    fleet.init_worker();
    {
      auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 0.01F});
      Diverging model;
      model.loss_too = false;
      optimizer.minimize(model, batch_of(0, 0, 8));
      auto const error = thrown([&] {
        optimizer.minimize(model, batch_of(1, 0, 1));
        optimizer.settle();
      });
      EXPECT_EQ(error.code(), Errc::job_diverged) << error.what();
      EXPECT_TRUE(holds(error.what(), "a push of trainer 0 to table '"));
    }
    std::vector<float> weights(Product::dim + 1), rows(all_keys().size() * Product::dim);
    fleet.client().pull(DenseRef{table_id("dense"), weights.size(), "dense"}, weights).wait();
    fleet.client().pull(SparseRef{table_id("rows"), Product::dim, "rows"}, all_keys(), rows).wait();
    rows.insert(rows.end(), weights.begin(), weights.end());
    for (auto const weight : rows) EXPECT_TRUE(std::isfinite(weight));
    fleet.stop_worker();
  });
}

TYPED_TEST(EveryStrategy, PausesWithEverythingOnTheServers) {
  // While a worker is paused, what its pushes add up to does not change: nothing is held back or under way.
  auto options = quick_options();
  spawn<Strategy<TypeParam>, Transport<Memory>>(2, 1, options, [](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 0.01F});
    fleet.init_worker();
    std::size_t given = 0;
    int paused = 0;
    TrainOptions train;
    train.threads = 3;
    auto next = batches(0, 40, 8);
    train.pause_due = [&] { return given >= 20 && paused == 0; };
    train.pause = [&] {
      ++paused;
      auto const before = optimizer.dense_weights();
      optimizer.settle();
      EXPECT_EQ(optimizer.dense_weights(), before);
    };
    optimizer.train(
        Product{}, [&] { return ++given, next(); }, [](double, std::size_t) {}, train);
    EXPECT_EQ(paused, 1);
    optimizer.finish();
    fleet.stop_worker();
  });
}

/// One weight, which each step moves by 1.
struct StepCounter {
  static std::vector<SparseInput> sparse_inputs() { return {}; }
  static std::vector<DensePart> dense_parts() { return {{"steps", 1, Initializer::zeros()}}; }
  static std::span<Key const> keys(Rows const&, std::size_t) { return {}; }
  static double gradients(Rows const&, StepView const& view) {
    view.dense_gradient[0] = -1;
    return 0;
  }
};

// The ten lines of README call neither settle() nor finish().
TYPED_TEST(EveryStrategy, WhatAWorkerStillHoldsArrivesBeforeItsGoodbye) {
  float applied = 0;
  TypeParam strategy;
  if constexpr (std::is_same_v<TypeParam, Async>) strategy.max_merge_var_num = strategy.send_queue_size = 4;
  spawn<Strategy<TypeParam>, Transport<Memory>>(2, 2, quick_options(), strategy, [&](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 1});
    fleet.init_worker();
    StepCounter model;
    optimizer.prepare(model);
    if (fleet.is_first_worker()) {
      optimizer.finish();
    } else {
      for (std::uint64_t step = 0; step < 3; ++step) (void)optimizer.minimize(model, batch_of(step, 1, 4));
    }
    if (fleet.is_first_worker()) {
      fleet.barrier("the other one has left");
      applied = optimizer.dense_weights()[0];
    }
    fleet.stop_worker();
  });
  EXPECT_NEAR(applied, 3.0F, 1e-6F);
}

// A pause may become due at any moment, also between a thread's look and its taking of a batch.
TYPED_TEST(EveryStrategy, APauseAtAnyMomentCostsNoBatch) {
  for (int moment = 1; moment <= 12; ++moment) {
    spawn<Strategy<TypeParam>, Transport<Memory>>(1, 1, quick_options(), [moment](auto& fleet) {
      auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 0.01F});
      fleet.init_worker();
      int asked = 0, paused = 0;
      std::size_t trained = 0;
      TrainOptions train;
      train.pause_due = [&] { return ++asked == moment; };
      train.pause = [&] { ++paused; };
      optimizer.train(
          Product{}, batches(0, 6, 8), [&](double, std::size_t) { ++trained; }, train);
      EXPECT_EQ(trained, 6U) << "due at question " << moment;
      EXPECT_LE(paused, 1);
      optimizer.finish();
      fleet.stop_worker();
    });
  }
}

TYPED_TEST(EveryStrategy, WhatAReaderThrowsEndsTheTrainingOfAllThreads) {
  spawn<Strategy<TypeParam>, Transport<Memory>>(1, 1, quick_options(), [](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 0.01F});
    fleet.init_worker();
    TrainOptions train;
    train.threads = 3;
    std::size_t given = 0;
    auto const next = [&]() -> std::optional<Rows> {
      if (given == 10) throw Error(Errc::data_line, "line 11");
      return batch_of(given++, 0, 8);
    };
    auto const error = thrown([&] {
      optimizer.train(
          Product{}, next, [](double, std::size_t) {}, train);
    });
    EXPECT_EQ(error.code(), Errc::data_line);
    EXPECT_EQ(given, 10U);
    optimizer.finish();
    fleet.stop_worker();
  });
}

/// Notes the row it computes with; its gradient is one.
struct Noting {
  std::vector<float>* seen;
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", 1, Initializer::constant(10)}}; }
  std::vector<DensePart> dense_parts() const { return {}; }
  std::span<Key const> keys(Rows const& batch, std::size_t) const { return batch.keys; }
  double gradients(Rows const&, StepView const& view) {
    seen->push_back(view.rows[0][0]);
    for (auto& each : view.row_gradients[0]) each = 1;
    return 0;
  }
  void predict(Rows const&, std::span<float const>, std::vector<std::span<float const>> const&, std::span<float>) {}
};

struct AsyncWithoutQueue {
  static constexpr std::string_view name = "async";
  static constexpr ApplyRule apply = ApplyRule::immediate;
  static constexpr bool asks_ahead = true;
  void step(Step& it) const { Async{.send_queue_size = 0}.step(it); }
};

template <class StrategyChoice>
std::vector<float> rows_seen_by(std::size_t count) {
  std::vector<float> seen;
  spawn<Strategy<StrategyChoice>, Transport<Memory>>(1, 1, quick_options(), [&](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 1});
    fleet.init_worker();
    std::size_t given = 0;
    auto const next = [&] { return given++ < count ? std::optional(Rows{{7}, {0}}) : std::nullopt; };
    optimizer.train(Noting{&seen}, next, [](double, std::size_t) {}, {});
    optimizer.finish();
    fleet.stop_worker();
  });
  return seen;
}

// In Async the rows of the next batch come while this one computes, so they miss its push and have the one before.
// Who allows no push to be under way sees every one.
TEST(DistributedOptimizer, AsyncReceivesBesideTheCompute) {
  EXPECT_EQ(rows_seen_by<Async>(5), (std::vector<float>{10, 10, 9, 8, 7}));
  EXPECT_EQ(rows_seen_by<AsyncWithoutQueue>(5), (std::vector<float>{10, 9, 8, 7, 6}));
}

// Rows that were asked for ahead are those of the batch that was named.
TEST(DistributedOptimizer, AnotherBatchThanTheFollowingOneIsRefused) {
  spawn<Strategy<Async>, Transport<Memory>>(1, 1, quick_options(), [](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 0.01F});
    fleet.init_worker();
    Product model;
    auto const first = batch_of(0, 0, 4), named = batch_of(1, 0, 4), shorter = batch_of(1, 0, 3);
    auto other = named;
    std::swap(other.keys[5], other.keys[7]);
    for (auto const* const wrong : {&first, &shorter, static_cast<Rows const*>(&other)}) {
      optimizer.minimize(model, first, 0, &named);
      EXPECT_STREQ(
          thrown([&] { optimizer.minimize(model, *wrong); }).what(),
          "prdist[job.state] minimize() with another batch than its last call named as the following one: name "
          "the batch that comes next, or none");
      optimizer.minimize(model, *wrong);
    }
    optimizer.minimize(model, first, 0, &named);
    auto const copy = named;
    optimizer.minimize(model, copy);  // the same rows, wherever they lie
    optimizer.finish();
    fleet.stop_worker();
  });
}

TEST(DistributedOptimizer, MeasuresTheStalenessOfItsPushes) {
  spawn<Strategy<Async>, Transport<Memory>>(1, 2, quick_options(), [](auto& fleet) {
    auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 0.01F});
    fleet.init_worker();
    EXPECT_EQ(optimizer.staleness()->count(), 0U);
    Product model;
    // One at a time: nothing comes between a pull and its push.
    for (std::uint32_t turn = 0; turn < 4; ++turn) {
      if (turn % 2 == fleet.roles().index) optimizer.minimize(model, batch_of(turn, 0, 2));
      optimizer.settle();
      fleet.client().barrier("turn");
    }
    EXPECT_EQ(optimizer.staleness()->count(), 2U);
    EXPECT_EQ(optimizer.staleness()->most(), 0U);
    fleet.stop_worker();
  });
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
