#include <prdist/nn/local_trainer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <prdist/data/counter_random.hpp>
#include <prdist/data/metrics.hpp>
#include <prdist/data/planted.hpp>
#include <prdist/nn.hpp>
#include <prdist/table/dense_table.hpp>

#include "../optim/every_optimizer.hpp"
#include "../support/thrown.hpp"
#include "allocation_count.hpp"

using namespace prdist;
using nn::LocalTrainer;

namespace {

/// One pass over `train`, then the AUC on `test`.
template <class Model>
double trained_auc(LocalTrainer<Model> trainer, std::vector<Batch> const& train, Batch const& test) {
  for (auto const& batch : train) trainer.step(batch);
  std::vector<float> predicted(test.size());
  trainer.predict(test, predicted);
  return auc(test.labels, predicted);
}

Optimizer embedding_rule() {
  return Adagrad{.rate = 0.05F, .initial = 1e-4F};
}

}  // namespace

TEST(LocalTrainer, BeginsAsServersBegin) {
  LocalTrainer const trainer(nn::CtrDnn{.dim = 4, .hidden = {8}, .table = "user"}, Sgd{}, Sgd{}, 99, "net");
  std::vector<float> wanted(4), row(4);
  fill_first(trainer.model().init, stream_of(99, hash_name("user")), 12345, wanted);
  trainer.table().pull(std::vector<Key>{12345}, row);
  EXPECT_EQ(row, wanted);

  std::size_t first = 0;
  for (auto const& part : trainer.model().dense_parts()) {
    std::vector<float> values(part.size);
    fill_first(part.init, stream_of(99, hash_name("net/" + part.name)), 0, values);
    EXPECT_TRUE(std::equal(values.begin(), values.end(), trainer.dense().begin() + static_cast<std::ptrdiff_t>(first)))
        << part.name;
    first += part.size;
  }
  EXPECT_EQ(first, trainer.dense().size());
}

TEST(LocalTrainer, AStepWithoutAFiniteLossChangesNothing) {
  LocalTrainer trainer(nn::LogisticRegression{}, Sgd{}, Sgd{}, 1);
  Planted const planted;
  trainer.step(planted.batch(PlantedSet::train, 0, 10));
  std::vector<float> const before(trainer.dense().begin(), trainer.dense().end());
  auto batch = planted.batch(PlantedSet::train, 10, 10);
  batch.dense[3] = std::numeric_limits<float>::quiet_NaN();
  auto const error = test::thrown([&] { trainer.step(batch); });
  EXPECT_EQ(error.code(), Errc::job_diverged);
  EXPECT_TRUE(test::holds(error.what(), "this process, step 2: the loss is "));
  EXPECT_TRUE(std::ranges::equal(trainer.dense(), before));
}

TEST(LocalTrainer, AStepFollowsTheGradientOfTheMeanLoss) {
  // With SGD a step is known in closed form: at zero weights every slope is (1/2 - label) / size.
  Batch batch;
  batch.slots = 1;
  batch.dense_dim = 1;
  batch.labels = {1, 0};
  batch.dense = {2, 4};
  batch.keys = {7, 7};
  batch.offsets = {0, 1, 2};
  LocalTrainer trainer(nn::LogisticRegression{.slots = 1, .dense = 1}, Sgd{.rate = 1}, Sgd{.rate = 0.1F}, 1);
  EXPECT_NEAR(trainer.step(batch), std::log(2.0), 1e-7);
  std::vector<float> row(1);
  trainer.table().pull(std::vector<Key>{7}, row);
  EXPECT_EQ(row[0], 0.0F) << "the two examples pull in opposite directions";
  EXPECT_FLOAT_EQ(trainer.dense()[0], -0.1F * (-0.25F * 2 + 0.25F * 4));
  EXPECT_FLOAT_EQ(trainer.dense()[1], 0.0F);
}

// A rule that measures a whole row must see the rows that servers have: ranges, not the table in one piece.
TEST(LocalTrainer, TrainsDenseWeightsAsServersDo) {
  std::size_t const features = range_floats + 1000;
  nn::LogisticRegression const model{.slots = 1, .dense = features};
  Batch batch;
  batch.slots = 1;
  batch.dense_dim = features;
  batch.labels = {1};
  CounterRandom const random(4);
  for (std::size_t i = 0; i < features; ++i) batch.dense.push_back(static_cast<float>(random.bits(i) % 1000) / 500 - 1);
  batch.keys = {7};
  batch.offsets = {0, 1};
  // At zero weights a whole rate of SGD writes the gradient down.
  LocalTrainer writer(model, Sgd{}, Sgd{.rate = -1}, 1);
  writer.step(batch);
  auto const gradient = writer.dense();
  for (auto const& rule : test::every_optimizer_and_adjusted()) {
    LocalTrainer trainer(model, Sgd{}, rule, 1);
    trainer.step(batch);
    DenseSpec const spec{.name = "dense", .parts = model.dense_parts(), .optimizer = rule, .seed = 1};
    Arena arena;
    DenseTable table(arena, spec, {0, 1}, std::bitset<shard_count>().set());
    table.push(0, 2, gradient);
    std::vector<float> weights(spec.size());
    table.pull(0, 2, weights);
    EXPECT_TRUE(std::equal(weights.begin(), weights.end(), trainer.dense().begin())) << name_of(rule);
  }
}

TEST(LocalTrainer, PredictTrainsNothing) {
  Planted const planted;
  LocalTrainer trainer(nn::CtrDnn{.dim = 4, .hidden = {8}}, Sgd{}, Sgd{}, 1);
  auto const batch = planted.batch(PlantedSet::train, 0, 32);
  std::vector<float> first(32), second(32);
  trainer.predict(batch, first);
  trainer.predict(batch, second);
  EXPECT_EQ(first, second);
  EXPECT_EQ(trainer.table().size(), 0U);
}

TEST(LocalTrainer, EqualRunsGiveEqualBytes) {
  Planted const planted;
  auto const run = [&] {
    LocalTrainer trainer(nn::DeepFm{.dim = 4, .hidden = {16, 8}}, Adagrad{}, Adam{}, 5);
    for (std::size_t i = 0; i < 20; ++i) trainer.step(planted.batch(PlantedSet::train, i * 64, 64));
    std::vector<float> weights(trainer.dense().begin(), trainer.dense().end());
    return weights;
  };
  auto const first = run(), second = run();
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

TEST(LocalTrainer, AllocatesNothingForKeysItKnows) {
  Planted const planted;
  LocalTrainer trainer(nn::DeepFm{.dim = 4, .hidden = {16, 8}}, Adagrad{}, Adam{}, 5);
  auto const batch = planted.batch(PlantedSet::train, 0, 64);
  std::vector<float> out(64);
  trainer.step(batch);
  trainer.predict(batch, out);
  auto const before = allocations_so_far();
  for (int i = 0; i < 5; ++i) trainer.step(batch);
  trainer.predict(batch, out);
  EXPECT_EQ(allocations_so_far(), before);
}

TEST(Convergence, NetworksLearnWhatALogisticRegressionCannot) {
  Planted const planted;
  std::vector<Batch> train;
  for (std::size_t i = 0; i < 400; ++i) train.push_back(planted.batch(PlantedSet::train, i * 125, 125));
  auto const test = planted.batch(PlantedSet::test, 0, 10000);
  std::vector<float> truth;
  for (std::size_t i = 0; i < test.size(); ++i) {
    truth.push_back(static_cast<float>(planted.row(PlantedSet::test, i).probability));
  }
  auto const possible = auc(test.labels, truth);
  auto const regression = trained_auc(LocalTrainer(nn::LogisticRegression{}, Adagrad{}, Adam{}, 1), train, test);
  auto const network =
      trained_auc(LocalTrainer(nn::CtrDnn{.dim = 8, .hidden = {64, 32}}, embedding_rule(), Adam{}, 1), train, test);
  auto const deep_fm =
      trained_auc(LocalTrainer(nn::DeepFm{.dim = 8, .hidden = {64, 32}}, embedding_rule(), Adam{}, 1), train, test);
  EXPECT_GT(regression, 0.68);
  EXPECT_GT(network, regression + 0.03);
  EXPECT_GT(deep_fm, regression + 0.03);
  EXPECT_LT(network, possible);
  EXPECT_LT(deep_fm, possible);
}
