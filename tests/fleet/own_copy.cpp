// Checkpoints of jobs whose workers train copies of their own: what their optimizers know goes on too.
#include <prdist/fleet/own_copy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/fleet/checkpointer.hpp>
#include <prdist/strategy/geo.hpp>

#include "../data/temp_dir.hpp"
#include "../support/caught_log.hpp"
#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

namespace fs = std::filesystem;

struct Some {
  std::vector<Key> keys;
  std::uint64_t step = 0;
  [[nodiscard]] std::size_t size() const { return 1; }
};

/// Gradients that depend on the weights and on the step.
struct Drifting {
  std::vector<SparseInput> sparse_inputs() const { return {{"rows", 2, Initializer::constant(1)}}; }
  std::vector<DensePart> dense_parts() const { return {{"w", 5, Initializer::constant(2)}}; }
  std::span<Key const> keys(Some const& batch, std::size_t) const { return batch.keys; }
  double gradients(Some const& batch, StepView const& view) {
    auto const wave = static_cast<float>(batch.step % 5) - 2;
    for (std::size_t i = 0; i < view.rows[0].size(); ++i) view.row_gradients[0][i] = view.rows[0][i] - 4 + wave;
    for (std::size_t i = 0; i < view.dense.size(); ++i) view.dense_gradient[i] = view.dense[i] + 3 - wave;
    return 0;
  }
};

class OwnCopies : public ::testing::Test {
 protected:
  TempDir const folder{};
  std::string const directory = (folder.path() / "ckpt").native();

  struct Job {
    std::uint32_t servers = 2;
    std::uint32_t workers = 1;
    std::uint64_t steps = 40;
    std::uint64_t stop_at = ~std::uint64_t{0};
    std::uint64_t every = 0;
    std::uint64_t full_every = 1;
    Optimizer rule = Adam{.rate = 0.05F};
    std::map<std::uint32_t, std::uint64_t> fewer{};  ///< steps of workers that have less data
    bool last_one = false;                           ///< save() at the end
    bool forgets = false;                            ///< goes on without the copies
    bool places = true;                              ///< workers say where they stand, and go on there
    std::function<void()> meanwhile = [] {};         ///< done by worker 0 after its first step
  };

  /// The weights at the end: of ten rows, then the dense ones.
  std::vector<float> run(Job const& job) const {
    std::vector<float> weights;
    std::mutex mutex;
    spawn<Strategy<Geo>, Transport<Memory>>(job.servers, job.workers, quick_options(), [&](auto& fleet) {
      fleet.init_worker();
      auto& client = fleet.client();
      auto optimizer = fleet.distributed_optimizer(Optimizers{job.rule, job.rule});
      Drifting model;
      optimizer.prepare(model);
      CheckpointOptions const options{
          .directory = directory, .every = job.every, .keep = 10, .full_every = job.full_every};
      std::unique_ptr<Checkpointer> const checkpoints(
          job.forgets ? new Checkpointer(client, options, "geo", false, [&] { optimizer.settle(); })
                      : new Checkpointer(fleet.checkpointer(optimizer, options)));
      std::uint64_t step = 0;
      if (auto const state = checkpoints->resume()) step = state->position.rows;
      auto const own = fleet.roles().index;
      auto const state = [&] { return job.places ? WorkerState{.position = {.rows = step}} : WorkerState{}; };
      auto const few = job.fewer.find(own);
      auto const last = few == job.fewer.end() ? job.steps : few->second;
      client.barrier("start");
      bool stopped = false, asked = false;
      while (step < last && !stopped) {
        if (step >= job.stop_at && !std::exchange(asked, true)) client.ask_cut(0, true);
        (void)optimizer.minimize(model, Some{{step % 10, (step + own + 3) % 10}, step});
        ++step;
        if (own == 0 && step == 1) job.meanwhile();
        stopped = checkpoints->between_steps(state) == Next::stop;
      }
      if (!stopped) checkpoints->finish(state());
      client.barrier("end");
      if (!stopped && job.last_one) checkpoints->save(state());
      if (own == 0) {
        std::lock_guard const lock(mutex);
        auto const table = client.declare(std::get<SparseSpec>(client.declared().front()));
        std::vector<Key> const keys{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        weights.resize(20);
        client.pull(table, keys, weights).wait();
        for (auto const each : optimizer.dense_weights()) weights.push_back(each);
      }
      fleet.stop_worker();
    });
    return weights;
  }

  static float largest_difference(std::vector<float> const& a, std::vector<float> const& b) {
    EXPECT_EQ(a.size(), b.size());
    float most = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
  }

  static std::string error_of_verify(Checkpoint const& checkpoint) {
    return thrown([&] { verify(checkpoint); }).what();
  }

  static bool said(CaughtLog const& log, std::string const& text) {
    return std::ranges::any_of(log.lines(), [&](auto const& line) { return line.find(text) != line.npos; });
  }
};

// Differences go to the servers at other steps, which costs roundings and no more.
TEST_F(OwnCopies, AJobThatWasStoppedGoesOnAsIfItHadNot) {
  auto const alone = run({});
  fs::remove_all(directory);
  auto const stopped = run({.stop_at = 17});
  EXPECT_GT(largest_difference(stopped, alone), 0.1F);
  auto const saved = latest(directory).value();
  ASSERT_TRUE(saved.manifest.trainers.at(0).copy);
  fs::copy(directory, directory + "-again", fs::copy_options::recursive);
  CaughtLog const log;
  EXPECT_LT(largest_difference(run({.servers = 3}), alone), 1e-5F);
  EXPECT_FALSE(said(log, "the optimizer begins anew"));

  // Without what its optimizer knew it ends elsewhere.
  fs::remove_all(directory);
  fs::rename(directory + "-again", directory);
  EXPECT_GT(largest_difference(run({.forgets = true}), alone), 1e-3F);
}

TEST_F(OwnCopies, AnotherNumberOfWorkersSharesThem) {
  auto const taken = [](std::size_t worker, std::size_t before, std::size_t now) {
    std::vector<std::size_t> copies;
    for (std::size_t copy = 0; copy < before; ++copy) {
      if (takes_over(worker, copy, before, now)) copies.push_back(copy);
    }
    return copies;
  };
  using Copies = std::vector<std::size_t>;
  for (std::size_t worker = 0; worker < 3; ++worker) EXPECT_EQ(taken(worker, 3, 3), Copies{worker});
  EXPECT_EQ(taken(0, 5, 2), (Copies{0, 2, 4}));
  EXPECT_EQ(taken(1, 5, 2), (Copies{1, 3}));
  EXPECT_EQ(taken(4, 2, 5), Copies{0});
  EXPECT_EQ(taken(3, 2, 5), Copies{1});

  (void)run({.workers = 2, .stop_at = 9, .places = false});
  EXPECT_TRUE(fs::exists(latest(directory)->path + "/copy-001"));
  CaughtLog const log;
  (void)run({.workers = 3, .stop_at = 9, .places = false});
  EXPECT_TRUE(fs::exists(latest(directory)->path + "/copy-002"));
  (void)run({.workers = 1, .places = false});
  EXPECT_FALSE(said(log, "the optimizer begins anew"));
}

TEST_F(OwnCopies, ADamagedOneIsPassedOverWithItsCheckpoint) {
  (void)run({.stop_at = 20, .every = 10});
  auto const newest = latest(directory).value();
  auto const& copy = newest.manifest.trainers.at(0).copy.value();
  auto const reader = newest.read(copy);
  {
    std::fstream file(newest.part_path(copy), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(reader.blocks().back().offset + sizeof(PartBlock) + sizeof(Key)));
    file.put('\x55').put('\x55');
  }
  CaughtLog log;
  (void)run({});
  EXPECT_TRUE(said(log, concat("checkpoint ", pass_name(newest.manifest.pass), " is passed over: ")));
  EXPECT_TRUE(said(log, "/copy-000, at byte "));
  EXPECT_TRUE(said(log, concat("resumed from ", directory, "/", pass_name(newest.manifest.pass - 1))));

  // So is one that is gone, or another's. The weights are there without: whoever wants them alone may have them.
  log.clear();
  (void)run({.steps = 60, .stop_at = 45});
  auto const last = latest(directory).value();
  ASSERT_GT(last.manifest.pass, newest.manifest.pass);
  fs::rename(last.path + "/copy-000", last.path + "/aside");
  fs::copy(directory + "/pass-00000/copy-000", last.path + "/copy-000");
  EXPECT_EQ(latest(directory)->id, last.id);
  EXPECT_TRUE(holds(error_of_verify(last), "/copy-000, has "));
  log.clear();
  (void)run({.steps = 60, .stop_at = 1});
  EXPECT_TRUE(said(log, concat("checkpoint ", pass_name(last.manifest.pass), " is passed over: ")));
  for (auto const pass : passes_in(directory)) fs::remove(concat(directory, "/", pass_name(pass), "/copy-000"));
  auto const whole = latest(directory).value();
  log.clear();
  (void)run({.steps = 80});
  EXPECT_TRUE(said(log, "/copy-000, cannot be opened"));
  EXPECT_TRUE(said(log, concat("no checkpoint has all of its workers' copies, see above: the weights go on from ",
                               pass_name(whole.manifest.pass), ", and the optimizer begins anew")));
}

// What a checkpoint of changes builds on has copies of its own, which nobody needs any more.
TEST_F(OwnCopies, StandWholeInCheckpointsOfChanges) {
  auto const alone = run({});
  fs::remove_all(directory);
  (void)run({.stop_at = 25, .every = 6, .full_every = 3});
  auto const newest = latest(directory).value();
  auto const chain = chain_of(newest);
  ASSERT_GT(chain.size(), 1U);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) fs::remove(chain[i].path + "/copy-000");
  EXPECT_LT(largest_difference(run({.servers = 3, .full_every = 3}), alone), 1e-5F);
}

TEST_F(OwnCopies, AnotherRuleIsRefusedByName) {
  (void)run({.stop_at = 9, .rule = Adagrad{.rate = 0.05F}});
  for (auto const& [rule, text] : std::vector<std::pair<Optimizer, std::string>>{
           {Momentum{}, "the optimizer is momentum here and adagrad in the checkpoint"},
           {RmsProp{}, "the optimizer is rmsprop here and adagrad in the checkpoint"},
           {Sgd{}, "the optimizer is sgd here and adagrad in the checkpoint"},
           {{Adagrad{}, Schedule::cosine(10)}, "one has a learning-rate schedule and the other none"}}) {
    auto const error = thrown([&] { (void)run({.rule = rule}); });
    EXPECT_EQ(error.code(), Errc::table_mismatch);
    EXPECT_TRUE(holds(error.what(), text));
  }
  (void)run({.rule = Adagrad{.rate = 0.01F}});
}

// Nothing is known of weights that follow their gradients alone.
TEST_F(OwnCopies, ThereAreNoneOfARuleWithoutState) {
  CaughtLog const log;
  (void)run({.stop_at = 9, .rule = Sgd{.rate = 0.01F}});
  EXPECT_FALSE(latest(directory)->manifest.trainers.at(0).copy);
  (void)run({.rule = Sgd{.rate = 0.01F}});
  EXPECT_FALSE(said(log, "the optimizer begins anew"));
}

// Worker 1 has no more batches when the job is stopped: it leaves no copy then, and an empty one when the job has
// been finished. Asked for more epochs it begins without, and says so.
TEST_F(OwnCopies, AWorkerThatHadFinishedBeginsAnewAndSaysSo) {
  (void)run({.workers = 2, .stop_at = 20, .fewer = {{1, 3}}});
  auto const trainers = latest(directory)->manifest.trainers;
  EXPECT_TRUE(trainers.at(0).copy);
  EXPECT_FALSE(trainers.at(1).copy);
  CaughtLog log;
  (void)run({.workers = 2, .fewer = {{1, 3}}, .last_one = true});
  EXPECT_TRUE(latest(directory)->manifest.trainers.at(1).copy);
  log.clear();
  (void)run({.workers = 2, .steps = 60});
  EXPECT_TRUE(said(log, "worker 1: "));
  EXPECT_TRUE(said(log, " does not hold what its optimizer knew"));
  EXPECT_FALSE(said(log, "worker 0: "));
}

TEST_F(OwnCopies, ThatCannotBeWrittenDoNotStopTheTraining) {
  CaughtLog const log;
  auto const alone = run({});
  fs::remove_all(directory);
  auto const job = [&](std::uint64_t stop_at) {
    return Job{.stop_at = stop_at, .every = 10, .meanwhile = [&] {
                 fs::remove_all(directory);
                 std::ofstream(directory) << "a file where the folder should be";
               }};
  };
  EXPECT_LT(largest_difference(run(job(~std::uint64_t{0})), alone), 1e-5F);
  EXPECT_TRUE(said(log, "worker 0 could not write what its optimizer knows: "));
  fs::remove(directory);
  auto const error = thrown([&] { (void)run(job(25)); });
  EXPECT_TRUE(holds(error.what(), "the last checkpoint was not written"));
  EXPECT_TRUE(holds(error.what(), "worker 0 could not write what its optimizer knows"));
}

TEST_F(OwnCopies, ACheckpointWithoutThemSaysSo) {
  (void)run({.stop_at = 9, .forgets = true});
  CaughtLog const log;
  (void)run({});
  EXPECT_TRUE(said(log, " does not hold what its optimizer knew: the weights go on, and the optimizer begins anew"));
}

TEST_F(OwnCopies, NothingIsLeftBesideTheCheckpoints) {
  (void)run({.workers = 2, .every = 7});
  for (auto const& entry : fs::directory_iterator(directory)) {
    EXPECT_TRUE(entry.path().filename().native().find(".tmp-") == std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace prdist::test
