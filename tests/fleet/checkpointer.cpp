// Jobs that are stopped and resumed, against the same jobs left alone.
#include <prdist/fleet/checkpointer.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/strategy/sync.hpp>

#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public ::testing::Test {
 protected:
  fs::path const folder =
      fs::temp_directory_path() /
      concat("prdist-checkpointer-", ::getpid(), '-', ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string directory = (folder / "ckpt").native();

  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  struct Job {
    std::uint32_t servers = 2;
    std::uint32_t workers = 2;
    std::uint64_t steps = 20;
    std::optional<std::uint64_t> stop_at{};  ///< the step before which worker `stopper` asks for the end
    std::uint32_t stopper = 1;
    CheckpointOptions options{};
    std::map<std::uint32_t, std::uint64_t> fewer{};  ///< steps of workers that have less data
    Optimizer rule = Sgd{.rate = 1};
    RowPolicy policy{};
    std::function<void()> meanwhile = [] {};  ///< done by worker 0 after its first step
  };

  struct Outcome {
    std::vector<float> dense;
    std::vector<float> rows;
    std::map<std::uint32_t, std::uint64_t> steps;  ///< taken in this life
    bool stopped = false;
    std::string said;
  };

  static std::vector<Key> keys() {
    std::vector<Key> keys;
    for (Key key = 0; key < 200; ++key) keys.push_back(key);
    return keys;
  }

  /// Every worker takes `steps` steps; in each it pushes a gradient that depends on the step, the worker and, in
  /// step, on the weights as they are.
  template <class StrategyChoice>
  Outcome run(Job const& job) {
    constexpr bool in_step = StrategyChoice::apply == ApplyRule::gather;
    Outcome outcome;
    std::mutex mutex;
    auto const options = quick_options();
    auto checkpoint_options = job.options;
    checkpoint_options.directory = directory;
    spawn<Strategy<StrategyChoice>, Transport<Memory>>(job.servers, job.workers, options, [&](auto& fleet) {
      fleet.init_worker();
      auto& client = fleet.client();
      auto const own = fleet.roles().index;
      auto const sparse = client.declare(SparseSpec{.name = "rows",
                                                    .dim = 4,
                                                    .optimizer = job.rule,
                                                    .init = Initializer::uniform(-1, 1),
                                                    .apply = StrategyChoice::apply,
                                                    .precision = job.policy.precision,
                                                    .admission = job.policy.admission,
                                                    .statistics = job.policy.statistics});
      auto const dense = client.declare(DenseSpec{.name = "dense",
                                                  .parts = {{"w", 3000, Initializer::zeros()}},
                                                  .optimizer = job.rule,
                                                  .apply = StrategyChoice::apply});
      Checkpointer checkpoints(client, checkpoint_options, StrategyChoice::name, in_step, [] {});
      std::uint64_t step = 0;
      if (auto const state = checkpoints.resume()) step = state->position.rows;
      auto const state = [&] { return WorkerState{.position = {.rows = step}, .program = concat('"', own, '"')}; };
      auto const few = job.fewer.find(own);
      auto const last = few == job.fewer.end() ? job.steps : few->second;
      client.barrier("start");
      bool stopped = false, asked = false;
      std::uint64_t taken = 0;
      while (step < last && !stopped) {
        // A stopper that lags must not let the others reach the end.
        if (job.stop_at && !asked && step >= *job.stop_at + (own == job.stopper ? 0 : 8)) {
          asked = true;
          client.ask_cut(in_step ? checkpoints.step() + 1 : 0, true);
        }
        std::vector<Key> const touched = {own, 100 + step % 50, 150 + own};
        std::vector<float> rows(12), weights(3000);
        client.pull(sparse, touched, rows).wait();
        client.pull(dense, weights).wait();
        // In an asynchronous job every worker has rows of its own and pushes constants: sums tell what was applied.
        std::vector<float> gradients(12, -1), slopes(3000, -1);
        if (in_step) {
          for (std::size_t i = 0; i < 12; ++i) gradients[i] = rows[i] * 0.1F + static_cast<float>(step % 3);
          for (std::size_t i = 0; i < 3000; ++i) slopes[i] = weights[i] * 0.2F + static_cast<float>((step + i) % 5) - 1;
        }
        auto first = client.push(sparse, touched, gradients);
        auto second = client.push(dense, slopes);
        first.wait();
        second.wait();
        if (own == 0 && taken == 0) job.meanwhile();
        ++step;
        ++taken;
        stopped = checkpoints.between_steps(state) == Next::stop;
      }
      if (!stopped) checkpoints.finish(state());
      client.barrier("end");
      {
        std::lock_guard const lock(mutex);
        outcome.steps[own] = taken;
        outcome.stopped = outcome.stopped || stopped;
        if (own == 0) {
          outcome.rows.resize(keys().size() * 4);
          outcome.dense.resize(3000);
          client.pull(sparse, keys(), outcome.rows).wait();
          client.pull(dense, outcome.dense).wait();
        }
      }
      fleet.stop_worker();
    });
    return outcome;
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (auto const& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename().native());
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(Checkpoints, ASynchronousJobThatWasStoppedEndsAtTheSameBits) {
  Job job;
  job.rule = Adam{.rate = 0.05F};
  auto const alone = run<Sync>(job);
  EXPECT_FALSE(alone.stopped);
  fs::remove_all(directory);

  job.stop_at = 8;
  auto const first = run<Sync>(job);
  EXPECT_TRUE(first.stopped);
  EXPECT_EQ(first.steps.at(0), first.steps.at(1));
  EXPECT_LT(first.steps.at(0), 20U);
  EXPECT_NE(first.dense, alone.dense);

  job.stop_at.reset();
  job.servers = 3;
  auto const second = run<Sync>(job);
  EXPECT_EQ(first.steps.at(0) + second.steps.at(0), 20U);
  EXPECT_EQ(second.dense, alone.dense);
  EXPECT_EQ(second.rows, alone.rows);
}

// The noise of roundings, draws and counts of keys that have no row yet: all of it goes on on other servers, and from
// checkpoints of changes too.
TEST_F(Checkpoints, AJobWithHalfRowsAndAdmissionEndsAtTheSameBits) {
  using Admit = Admission::Kind;
  for (auto const precision : {Precision::bf16, Precision::fp16}) {
    // Some keys are pushed in every step: they are half-way in when the job is stopped.
    for (auto const kind : {Admit::all, Admit::count, Admit::probability, Admit::bloom}) {
      SCOPED_TRACE(concat(name_of(precision), ", ", name_of(kind)));
      Job job;
      job.rule = Adam{.rate = 0.05F};
      job.policy = {.precision = precision,
                    .admission = {.kind = kind, .pushes = 14, .probability = 0.1},
                    .statistics = {.kept = kind == Admit::bloom}};
      job.options.every = 3;
      job.options.full_every = 2;
      fs::remove_all(directory);
      auto const alone = run<Sync>(job);
      fs::remove_all(directory);
      job.stop_at = 8;
      auto const first = run<Sync>(job);
      EXPECT_TRUE(first.stopped);
      EXPECT_LT(first.steps.at(0), 14U);
      job.stop_at.reset();
      job.servers = 3;
      auto const second = run<Sync>(job);
      EXPECT_EQ(second.dense, alone.dense);
      EXPECT_EQ(second.rows, alone.rows);
      EXPECT_NE(second.rows, first.rows);
    }
  }
}

TEST_F(Checkpoints, AnAsynchronousJobAppliesEveryBatchOnceOverItsLives) {
  Job job;
  job.workers = 3;
  job.steps = 40;
  job.rule = Sgd{.rate = 1};
  auto const alone = run<Async>(job);
  fs::remove_all(directory);
  for (std::uint32_t life = 0; life < 3; ++life) {
    job.stop_at = 5 + life * 11;
    job.stopper = life;
    job.servers = 1 + life;
    EXPECT_TRUE(run<Async>(job).stopped);
  }
  job.stop_at.reset();
  auto const last = run<Async>(job);
  // Constants were added, so the order does not matter and every sum is exact.
  EXPECT_EQ(last.dense, alone.dense);
  EXPECT_EQ(last.dense[0], 120.0F);
  for (std::size_t i = 0; i < last.rows.size(); ++i) EXPECT_NEAR(last.rows[i], alone.rows[i], 1e-4) << i;
}

TEST_F(Checkpoints, AreTakenOnTheWayAndOldOnesGo) {
  Job job;
  job.steps = 60;
  job.options.every = 10;
  job.options.keep = 2;
  auto const outcome = run<Async>(job);
  EXPECT_EQ(outcome.dense[0], 120.0F);
  auto const left = names();
  EXPECT_LE(left.size(), 2U);
  ASSERT_FALSE(left.empty());
  auto const newest = latest(directory);
  ASSERT_TRUE(newest);
  verify(*newest);
  EXPECT_EQ(newest->manifest.trainers.size(), 2U);
  EXPECT_EQ(newest->manifest.trainers[1].program, "\"1\"");
  EXPECT_EQ(newest->manifest.strategy, "async");
  EXPECT_EQ(newest->manifest.servers, 2U);
}

TEST_F(Checkpoints, OfChangesAloneResumeLikeFullOnes) {
  Job job;
  job.options.every = 3;
  job.options.full_every = 4;
  job.options.keep = 1;
  job.rule = Adagrad{.rate = 0.1F};
  auto const alone = run<Sync>(job);
  fs::remove_all(directory);
  job.stop_at = 10;
  EXPECT_TRUE(run<Sync>(job).stopped);
  auto const newest = latest(directory);
  ASSERT_TRUE(newest);
  EXPECT_TRUE(newest->manifest.base);  // else this test is the one above
  job.stop_at.reset();
  job.servers = 1;
  auto const last = run<Sync>(job);
  EXPECT_EQ(last.dense, alone.dense);
  EXPECT_EQ(last.rows, alone.rows);
}

TEST_F(Checkpoints, RememberAWorkerThatHadFinished) {
  Job job;
  job.fewer[0] = 4;
  job.stop_at = 12;
  EXPECT_TRUE(run<Sync>(job).stopped);
  job.stop_at.reset();
  auto const second = run<Sync>(job);
  EXPECT_EQ(second.steps.at(0), 0U);
  EXPECT_GT(second.steps.at(1), 0U);
  fs::remove_all(directory);
  auto const alone = run<Sync>(job);
  EXPECT_EQ(second.dense, alone.dense);
  EXPECT_EQ(second.rows, alone.rows);
}

// The damage is in the last block, so that rows of the damaged checkpoint are in the tables before it shows.
void damage_last_block(Checkpoint const& checkpoint) {
  auto const path = checkpoint.part_path(checkpoint.manifest.parts.back());
  PartReader const part(path);
  auto const at = part.blocks().back().offset + sizeof(PartBlock);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  auto const byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
  ASSERT_TRUE(file.flush());
}

TEST_F(Checkpoints, WithADamagedBlockArePassedOverForTheOneBefore) {
  Job job;
  job.rule = Adagrad{.rate = 0.1F};
  auto const alone = run<Sync>(job);
  fs::remove_all(directory);
  job.options.every = 5;
  job.stop_at = 12;
  EXPECT_TRUE(run<Sync>(job).stopped);
  auto const newest = latest(directory);
  ASSERT_TRUE(newest);
  auto const before = latest(directory, newest->manifest.pass);
  ASSERT_TRUE(before);
  ASSERT_LT(before->manifest.step, newest->manifest.step);
  damage_last_block(*newest);
  job.stop_at.reset();
  job.servers = 3;
  job.options.every = 6;
  job.options.keep = 2;
  auto const last = run<Sync>(job);
  // What was found to be damaged is left, and is none of the two.
  EXPECT_TRUE(fs::exists(newest->path));
  auto const left = passes_in(directory);
  EXPECT_EQ(left.size(), 3U) << left.front();
  EXPECT_GE(latest(directory)->manifest.pass, newest->manifest.pass + 1);
  EXPECT_EQ(last.steps.at(0), 20 - before->manifest.step);
  EXPECT_EQ(last.dense, alone.dense);
  EXPECT_EQ(last.rows, alone.rows);
}

TEST_F(Checkpoints, AllDamagedAreAnErrorAndNoNewBeginning) {
  Job job;
  job.workers = 1;
  job.stopper = 0;
  job.stop_at = 3;
  EXPECT_TRUE(run<Sync>(job).stopped);
  damage_last_block(latest(directory).value());
  job.stop_at.reset();
  auto const error = thrown([&] { run<Sync>(job); });
  EXPECT_EQ(error.code(), Errc::checkpoint_missing);
  EXPECT_TRUE(holds(error.what(), "has checkpoints and none of them can be loaded"));
}

TEST_F(Checkpoints, AnotherNumberOfWorkersIsRefused) {
  Job job;
  job.stop_at = 3;
  EXPECT_TRUE(run<Async>(job).stopped);
  job.stop_at.reset();
  job.workers = 1;
  EXPECT_TRUE(holds(thrown([&] { run<Async>(job); }).what(), "had 2 workers, this one has 1"));
}

TEST_F(Checkpoints, ThatCannotBeWrittenDoNotStopTheTraining) {
  Job job;
  job.options.every = 5;
  job.meanwhile = [&] {
    fs::remove_all(directory);
    std::ofstream(directory) << "a file where the folder should be";
  };
  EXPECT_EQ(run<Async>(job).dense[0], 40.0F);
  job.workers = 1;
  EXPECT_TRUE(holds(thrown([&] { run<Async>(job); }).what(), "cannot be written"));  // better now than after a day
  job.workers = 2;
  fs::remove(directory);
  job.stop_at = 7;
  auto const error = thrown([&] { run<Async>(job); });
  EXPECT_TRUE(holds(error.what(), "the last checkpoint")) << error.what();
}

TEST_F(Checkpoints, OfTwoJobsDoNotMeetInOneFolder) {
  Job job;
  job.workers = 1;
  std::string said;
  job.meanwhile = [&] {
    Job other;
    other.workers = 1;
    said = thrown([&] { run<Async>(other); }).what();
  };
  (void)run<Async>(job);
  EXPECT_TRUE(holds(said, "another job is saving there: give each its own folder"));
}

TEST_F(Checkpoints, OfAnotherProgramAreRefusedByName) {
  Job job;
  job.stop_at = 3;
  EXPECT_TRUE(run<Async>(job).stopped);
  job.rule = Adam{};
  auto const error = thrown([&] { run<Async>(job); });
  EXPECT_TRUE(holds(error.what(), "cannot be loaded: ")) << error.what();
  EXPECT_TRUE(holds(error.what(), "sgd")) << error.what();
}

}  // namespace
}  // namespace prdist::test
