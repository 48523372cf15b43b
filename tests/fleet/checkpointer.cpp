// Jobs that are stopped and resumed, against the same jobs left alone.
#include <prdist/fleet/checkpointer.hpp>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/data/slot_reader.hpp>
#include <prdist/strategy/ssp.hpp>
#include <prdist/strategy/sync.hpp>

#include "../support/caught_log.hpp"
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
    bool anew = false;                        ///< without looking for what is there
    bool last_one = false;                    ///< save() at the end
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
      if (!job.anew) {
        if (auto const state = checkpoints.resume()) step = state->position.rows;
      }
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
      if (!stopped && job.last_one) checkpoints.save(state());
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

// Somebody removes a damaged one while the job runs: the next has its number, and is not taken for it.
TEST_F(Checkpoints, OneWithTheNumberOfADamagedOneIsCounted) {
  Job job;
  job.workers = 1;
  job.stopper = 0;
  job.options.every = 2;
  job.stop_at = 4;
  EXPECT_TRUE(run<Sync>(job).stopped);
  auto const damaged = latest(directory).value();
  damage_last_block(damaged);
  job.stop_at.reset();
  job.options.keep = 1;
  job.steps = 16;
  job.meanwhile = [&] { fs::remove_all(damaged.path); };
  job.last_one = true;
  (void)run<Sync>(job);
  EXPECT_EQ(passes_in(directory).size(), 1U);
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

TEST_F(Checkpoints, AnotherNumberOfWorkersIsRefusedWhenTheirProgramsKeptSomething) {
  Job job;
  job.stop_at = 3;
  EXPECT_TRUE(run<Async>(job).stopped);
  job.stop_at.reset();
  job.workers = 1;
  EXPECT_EQ(
      thrown([&] { run<Async>(job); }).what(),
      concat("prdist[config.contradiction] ", directory,
             ": the job that saved pass-00000 had 2 workers, this one has 1, and what the program of worker 0 kept "
             "for itself cannot be dealt out: start as many, or load the weights alone with Fleet::load()"));
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

// The others push on behind it: with Sync they would wait for its part, and at a slow disk their calls' deadline is
// near.
TEST_F(Checkpoints, AWorkerThatHasFinishedIsNotWaitedForWhileItsCheckpointIsWritten) {
  Gate write;
  set_log([&](Level, std::string_view text) {
    if (text.starts_with("checkpoint ")) {
      EXPECT_TRUE(write.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
    }
  });
  spawn<Strategy<Sync>, Transport<Memory>>(1, 2, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const own = fleet.roles().index;
    auto const dense = client.declare(DenseSpec{.name = "dense",
                                                .parts = {{"w", 10, Initializer::zeros()}},
                                                .optimizer = Sgd{.rate = 1},
                                                .apply = ApplyRule::gather});
    Checkpointer checkpoints(client, {.directory = directory}, "sync", true, [] {});
    client.barrier("start");
    if (own == 0) client.ask_cut(1, false);
    for (std::uint64_t step = 0; step < (own == 0 ? 1 : 8); ++step) {
      client.push(dense, std::vector<float>(10, -1)).wait();
      EXPECT_EQ(checkpoints.between_steps([] { return WorkerState{}; }), Next::train);
    }
    if (own == 0) {
      EXPECT_TRUE(checkpoints.writing());
    } else {
      write.open();
    }
    checkpoints.finish({});
    fleet.barrier("end");
    fleet.stop_worker();
  });
  set_log(detail::log_to_stderr);
  EXPECT_EQ(names(), std::vector<std::string>{"pass-00000"});
}

// Servers do one thing at a time, and the number of a pass is looked up before it is there.
TEST_F(Checkpoints, SavesOfAllKindsWaitForEachOther) {
  constexpr std::uint64_t each = 4;
  spawn<Strategy<Async>, Transport<Memory>>(2, 3, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const own = fleet.roles().index;
    (void)client.declare(DenseSpec{.name = "dense", .parts = {{"w", 5000, Initializer::zeros()}}});
    Checkpointer checkpoints(client, {.directory = directory, .every = 1, .keep = 100}, "async", false, [] {});
    client.barrier("start");
    std::thread beside([&] {
      for (std::uint64_t i = 0; i < each; ++i) {
        if (own == 2) fleet.save_inference_model((folder / concat("model-", i, ".npz")).native());
        if (own != 2) (void)fleet.save_persistables(directory);
      }
    });
    for (std::uint64_t i = 0; i < each; ++i) (void)checkpoints.between_steps([] { return WorkerState{}; });
    beside.join();
    checkpoints.finish({});
    fleet.barrier("end");
    fleet.stop_worker();
  });
  std::size_t of_job = 0, alone = 0;
  for (auto const& name : names()) {
    auto const checkpoint = open_checkpoint(concat(directory, '/', name));
    verify(checkpoint);
    (checkpoint.manifest.trainers.empty() ? alone : of_job) += 1;
  }
  EXPECT_EQ(alone, 2 * each);
  EXPECT_GT(of_job, 0U);
  for (std::uint64_t i = 0; i < each; ++i) EXPECT_TRUE(fs::exists(folder / concat("model-", i, ".npz")));
}

namespace {

struct OneRow {
  std::vector<Key> keys{7};
  [[nodiscard]] static std::size_t size() { return 1; }
};

/// Tells how many steps have come as far as their gradients.
struct Counting {
  std::atomic<int>* steps;
  static std::vector<SparseInput> sparse_inputs() { return {{"rows", 2, Initializer::zeros()}}; }
  static std::vector<DensePart> dense_parts() { return {{"dense", 4, Initializer::zeros()}}; }
  static std::span<Key const> keys(OneRow const& batch, std::size_t) { return batch.keys; }
  double gradients(OneRow const&, StepView const& view) const {
    ++*steps;
    view.dense_gradient[0] = -1;
    return 0;
  }
};

}  // namespace

// Who is ahead waits within its step for those behind; they are at the meeting, and wait for it.
TEST_F(Checkpoints, WithSspThoseWhoAreAheadComeToo) {
  std::atomic<int> steps[3]{};
  float sum = 0;
  spawn<Strategy<Ssp>, Transport<Memory>>(1, 3, quick_options(), [&](auto& fleet) {
    auto const own = fleet.roles().index;
    fleet.init_worker();
    auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 1});
    Counting model{&steps[own]};
    optimizer.prepare(model);
    auto checkpoints = fleet.checkpointer(optimizer, {.directory = directory, .keep = 9});
    fleet.barrier("start");
    auto const wait_for = [&](int least) {
      auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while ((steps[0] < least || steps[1] < least) && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
    };
    for (int step = 0; step < 8; ++step) {
      if (own == 2 && step < 3) wait_for(4 + step);  // as far as they may go
      (void)optimizer.minimize(model, OneRow{});
      // Two wishes behind each other: behind the first meeting the others still wait for this one.
      for (int wishes = own == 2 && step < 2 ? 2 : 0; wishes > 0; --wishes) {
        fleet.client().ask_cut(0, false);
        EXPECT_EQ(checkpoints.between_steps([] { return WorkerState{}; }), Next::train);
      }
      if (own != 2 || step >= 2) {
        EXPECT_EQ(checkpoints.between_steps([] { return WorkerState{}; }), Next::train);
      }
      EXPECT_LE(steps[0] - steps[2], 4 + 1);
    }
    checkpoints.finish({});
    fleet.barrier("trained");
    if (own == 0) sum = optimizer.dense_weights()[0];
    fleet.stop_worker();
  });
  EXPECT_EQ(sum, 24.0F);
  EXPECT_EQ(names().size(), 4U);
}

// One has no more batches of this epoch; a checkpoint is wanted while it waits for the others, and then the end.
TEST_F(Checkpoints, AreTakenWhileWorkersWaitForEachOtherBetweenEpochs) {
  std::mutex mutex;
  std::vector<std::string> ended;
  Gate waits;
  spawn<Strategy<Async>, Transport<Memory>>(1, 2, quick_options(), [&](auto& fleet) {
    auto const own = fleet.roles().index;
    fleet.init_worker();
    (void)fleet.client().declare(DenseSpec{.name = "dense", .parts = {{"w", 10, Initializer::zeros()}}});
    Checkpointer checkpoints(fleet.client(), {.directory = directory, .keep = 9}, "async", false, [] {});
    auto next = Next::train;
    for (std::uint64_t epoch = 0; epoch < 2 && next == Next::train; ++epoch) {
      auto const state = [&] {
        if (own == 0) waits.open();
        return WorkerState{.position = {.epoch = epoch}};
      };
      if (own == 1) {
        fleet.client().ask_cut(0, false);
        next = checkpoints.between_steps(state);
        EXPECT_TRUE(waits.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
        if (epoch == 1) fleet.client().ask_cut(0, true);
      }
      if (next == Next::train) next = checkpoints.barrier("epoch", state);
      std::lock_guard const lock(mutex);
      ended.push_back(concat(own, next == Next::stop ? " stops in " : " goes on behind ", epoch));
    }
    fleet.stop_worker();
  });
  std::ranges::sort(ended);
  EXPECT_EQ(ended,
            (std::vector<std::string>{"0 goes on behind 0", "0 stops in 1", "1 goes on behind 0", "1 stops in 1"}));
  EXPECT_EQ(names().size(), 3U);
}

// The servers would look for its tables in vain, and the job would go on from its first weights.
TEST_F(Checkpoints, WithoutTablesNothingIsSavedOrLoaded) {
  Job job;
  job.workers = 1;
  job.stop_at = 3;
  job.stopper = 0;
  EXPECT_TRUE(run<Async>(job).stopped);
  std::string const nothing =
      "prdist[job.state] there is no table yet that a checkpoint could be of: call optimizer.prepare(model), or "
      "declare "
      "tables, before";
  spawn<Strategy<Async>, Transport<Memory>>(1, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    {
      Checkpointer checkpoints(client, {.directory = directory}, "async", false, [] {});
      EXPECT_EQ(thrown([&] { (void)checkpoints.resume(); }).what(), nothing);
      EXPECT_TRUE(holds(thrown([&] { checkpoints.save({}); }).what(), "there is no table yet"));
    }
    EXPECT_EQ(thrown([&] { fleet.load(directory); }).what(), nothing);
    EXPECT_EQ(thrown([&] { (void)fleet.save_persistables(directory); }).what(), nothing);
    (void)client.declare(SparseSpec{.name = "renamed", .dim = 4, .optimizer = Sgd{.rate = 1}});
    {
      Checkpointer checkpoints(client, {.directory = directory}, "async", false, [] {});
      EXPECT_EQ(
          thrown([&] { (void)checkpoints.resume(); }).what(),
          concat("prdist[table.mismatch] ", directory,
                 "/pass-00000 has tables 'rows', 'dense', which this program does not declare: resume it with the "
                 "model that it was saved with, or load the tables that both have with Fleet::load()"));
    }
    EXPECT_EQ(thrown([&] { fleet.load(directory); }).what(),
              concat("prdist[table.mismatch] ", directory,
                     "/pass-00000 has tables 'rows', 'dense', which this program does not declare: load what was saved "
                     "with a model of the same table names"));
    (void)client.declare(
        DenseSpec{.name = "dense", .parts = {{"w", 3000, Initializer::zeros()}}, .optimizer = Sgd{.rate = 1}});
    CaughtLog const log;
    fleet.load(directory);
    EXPECT_EQ(std::ranges::count(log.lines(), concat(directory,
                                                     "/pass-00000 has table 'rows', which this program does not "
                                                     "declare: left out")),
              1);
    fleet.stop_worker();
  });
  EXPECT_EQ(names(), std::vector<std::string>{"pass-00000"});
}

TEST_F(Checkpoints, WithSspAWorkerThatDoesNotLookForThemIsTold) {
  std::atomic<int> steps[2]{};
  std::mutex mutex;
  std::string said;
  (void)thrown([&] {
    spawn<Strategy<Ssp>, Transport<Memory>>(1, 2, quick_options(), [&](auto& fleet) {
      auto const own = fleet.roles().index;
      fleet.init_worker();
      auto optimizer = fleet.distributed_optimizer(Sgd{.rate = 1});
      Counting model{&steps[own]};
      optimizer.prepare(model);
      fleet.barrier("start");
      if (own == 1) {
        fleet.client().ask_cut(0, false);
        fleet.barrier("told");
      } else {
        auto const error = thrown([&] {
          for (;;) (void)optimizer.minimize(model, OneRow{});
        });
        std::lock_guard const lock(mutex);
        said = error.what();
        fleet.barrier("told");
      }
      fleet.stop_worker();
    });
    throw Error(Errc::job_state, "fine");
  });
  EXPECT_EQ(said,
            "prdist[job.state] minimize() while a checkpoint is wanted and others are behind: with ssp call "
            "between_steps(), or due() until it says no, between two steps");
}

// As Paddle's users do at the end of an epoch: it is newer, and knows less.
TEST_F(Checkpoints, OfWeightsAloneArePassedOverForOneThatKnowsWhereTheWorkersStood) {
  Job job;
  job.stop_at = 5;
  EXPECT_TRUE(run<Async>(job).stopped);
  spawn<Strategy<Async>, Transport<Memory>>(1, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    (void)fleet.client().declare(
        DenseSpec{.name = "dense", .parts = {{"w", 3000, Initializer::constant(5)}}, .optimizer = Sgd{.rate = 1}});
    EXPECT_EQ(fs::path(fleet.save_persistables(directory)).filename(), "pass-00001");
    fleet.stop_worker();
  });
  job.stop_at.reset();
  CaughtLog const log;
  EXPECT_EQ(run<Async>(job).dense[0], 40.0F) << "every step of both workers, once";
  EXPECT_TRUE(std::ranges::count(log.lines(),
                                 concat(directory,
                                        "/pass-00001 holds weights alone, of a save that no worker stood for: it is "
                                        "passed over for pass-00000, which knows where the workers were in their data; "
                                        "Fleet::load() takes it")));
}

TEST_F(Checkpoints, OfWhichNoneAreToBeKeptAreRefused) {
  Job job;
  job.workers = 1;
  job.options.keep = 0;
  EXPECT_STREQ(thrown([&] { run<Async>(job); }).what(),
               "prdist[config.invalid] checkpoints of which 0 are to be kept would go as soon as they are written: set "
               "keep to 1 or more");
}

// The next one may need the room; and whoever reads the log wants to know now.
TEST_F(Checkpoints, ThatFailLeaveNothingAndSaySoAtOnce) {
  fs::create_directories(directory);
  if (::mount("none", directory.c_str(), "tmpfs", 0, "size=16k") != 0) GTEST_SKIP() << "a mount needs root";
  CaughtLog const log;
  spawn<Strategy<Async>, Transport<Memory>>(1, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    (void)client.declare(DenseSpec{.name = "dense", .parts = {{"w", 30000, Initializer::zeros()}}});
    Checkpointer checkpoints(client, {.directory = directory, .every = 1}, "async", false, [] {});
    EXPECT_EQ(checkpoints.between_steps([] { return WorkerState{}; }), Next::train);
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (checkpoints.writing() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(names().empty());
    EXPECT_TRUE(std::ranges::any_of(log.lines(), [](auto const& line) {
      return line.find("a checkpoint was not written, the ones before are as they were: ") != line.npos;
    }));
    checkpoints.finish({});
    fleet.stop_worker();
  });
  ::umount(directory.c_str());
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

TEST_F(Checkpoints, OfAJobThatWasNotResumedAreNotRemoved) {
  Job job;
  job.stop_at = 3;
  EXPECT_TRUE(run<Async>(job).stopped);
  job.stop_at.reset();
  job.anew = true;
  job.options.every = 4;
  job.options.keep = 1;
  CaughtLog const log;
  (void)run<Async>(job);
  EXPECT_EQ(names().front(), "pass-00000");
  EXPECT_GT(names().size(), 2U);
  auto const said = concat(directory, " holds checkpoints that this job was not resumed from, up to pass-00000");
  EXPECT_EQ(std::ranges::count_if(log.lines(), [&](auto const& line) { return line.starts_with(said); }), 1);
}

// Worker 0 has finished early, and worker 1 writes on: whoever writes, a checkpoint of changes builds on the one that
// was written before it, and the last one holds what the servers hold.
TEST_F(Checkpoints, OfChangesBuildOnTheOneBeforeWhoeverWroteIt) {
  auto const check = [&]<class StrategyChoice>(StrategyChoice, std::size_t keep, bool in_two_lives) {
    SCOPED_TRACE(concat(StrategyChoice::name, ", keep ", keep, in_two_lives ? ", resumed" : ""));
    fs::remove_all(directory);
    Job job;
    job.options = {.every = 3, .keep = keep, .full_every = 4};
    job.steps = 60;
    job.fewer[0] = 8;
    job.last_one = true;
    job.rule = Adagrad{.rate = 0.1F};
    if (in_two_lives) {
      job.stop_at = 4;
      EXPECT_TRUE(run<StrategyChoice>(job).stopped);
      job.stop_at.reset();
    }
    CaughtLog const log;
    auto const trained = run<StrategyChoice>(job);
    for (auto const& line : log.lines()) EXPECT_FALSE(holds(line, "not resumed from")) << line;
    auto const left = passes_in(directory);
    ASSERT_GE(left.size(), 2U);
    EXPECT_LE(left.size(), keep + 3) << "what the oldest of them builds on stays, too";
    for (auto const pass : left) {
      auto const& base = open_checkpoint(concat(directory, '/', pass_name(pass))).manifest.base;
      EXPECT_TRUE(!base || base->pass == pass - 1) << pass_name(pass) << " on " << pass_name(base->pass);
    }
    // What a job that goes on from it finds, and it takes no step more.
    auto const again = run<StrategyChoice>(job);
    EXPECT_EQ(again.steps.at(1), 0U);
    EXPECT_EQ(again.dense, trained.dense);
    EXPECT_EQ(again.rows, trained.rows);
  };
  check(Async{}, 100, false);
  check(Async{}, 2, true);
  check(Sync{}, 2, false);
  check(Sync{}, 100, true);
}

TEST_F(Checkpoints, ThatAreDamagedAreNotCountedByAWorkerThatComesToWrite) {
  Job job;
  job.options = {.every = 3, .keep = 1};
  job.stop_at = 8;
  EXPECT_TRUE(run<Async>(job).stopped);
  auto const sound = latest(directory).value().manifest.pass;
  job.stop_at.reset();
  // One more than keep: a damaged one, which only a load finds out.
  auto const newest = sound + 1;
  {
    auto copy = open_checkpoint(concat(directory, '/', pass_name(sound)));
    PendingCheckpoint pending(directory, newest, "test");
    for (auto const& part : copy.manifest.parts) {
      fs::copy_file(copy.part_path(part), concat(pending.path(), '/', part.name));
    }
    (void)pending.commit(copy.manifest);
  }
  damage_last_block(latest(directory).value());
  job.fewer[0] = 0;  // worker 1 alone writes
  job.options.keep = 2;
  job.steps = 60;
  (void)run<Async>(job);
  auto const left = passes_in(directory);
  EXPECT_EQ(left.size(), 3U) << "two, and the damaged one, which is left to be mended";
  EXPECT_TRUE(std::ranges::find(left, newest) != left.end());
}

TEST_F(Checkpoints, TheLastOneThatCannotBeWrittenIsEverybodysAndTheJobMayGoOn) {
  std::mutex mutex;
  std::map<std::uint32_t, std::string> said;
  spawn<Strategy<Async>, Transport<Memory>>(1, 2, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const own = fleet.roles().index;
    auto const table =
        client.declare(SparseSpec{.name = "rows", .dim = 1, .optimizer = Sgd{.rate = 1}, .init = Initializer::zeros()});
    Checkpointer checkpoints(client, {.directory = directory}, "async", false, [] {});
    client.barrier("start");
    if (own == 0) {
      fs::remove_all(directory);
      std::ofstream(directory) << "a file where the folder should be";
    }
    std::vector<Key> const keys{7};
    client.push(table, keys, std::vector<float>{-1}).wait();
    checkpoints.finish({});
    auto const error = thrown([&] { checkpoints.save({}); });
    std::vector<float> row(1);
    client.pull(table, keys, row).wait();  // nobody has left
    EXPECT_EQ(row[0], 2.0F);
    fleet.barrier("evaluated");
    fleet.stop_worker();
    std::lock_guard const lock(mutex);
    said[own] = error.what();
  });
  EXPECT_TRUE(holds(said[0], "prdist[checkpoint.file] the last checkpoint was not written: ")) << said[0];
  EXPECT_EQ(said[0], said[1]);
}

TEST_F(Checkpoints, OfChangesBuildOnNothingThatIsElsewhereOrGone) {
  auto const other = (folder / "other").native();
  spawn<Strategy<Async>, Transport<Memory>>(2, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table = client.declare(SparseSpec{.name = "rows", .dim = 1, .optimizer = Sgd{.rate = 1}});
    Checkpointer here(client, {.directory = directory, .full_every = 9}, "async", false, [] {});
    Checkpointer there(client, {.directory = other, .full_every = 9}, "async", false, [] {});
    auto const save = [&](Checkpointer& checkpoints, std::string const& where, Key key) {
      client.push(table, std::vector<Key>{key}, std::vector<float>{-1}).wait();
      checkpoints.save({});
      auto const newest = latest(where).value();
      return std::pair(newest.manifest.pass, newest.manifest.base.has_value());
    };
    using Saved = std::pair<std::uint64_t, bool>;
    EXPECT_EQ(save(here, directory, 1), Saved(0, false));
    EXPECT_EQ(save(here, directory, 2), Saved(1, true));
    EXPECT_EQ(save(there, other, 3), Saved(0, false));
    EXPECT_EQ(save(there, other, 4), Saved(1, true));
    EXPECT_EQ(save(here, directory, 5), Saved(2, false));
    EXPECT_EQ(save(here, directory, 6), Saved(3, true));
    fs::remove_all(concat(directory, "/pass-00003"));
    EXPECT_EQ(save(here, directory, 7), Saved(3, false));
    fleet.stop_worker();
  });
}

// The newest may be as it was, and what it builds on removed or damaged: what is built on it could not be loaded.
TEST_F(Checkpoints, OfChangesBuildOnNoBrokenChain) {
  spawn<Strategy<Async>, Transport<Memory>>(2, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table = client.declare(SparseSpec{.name = "rows", .dim = 1, .optimizer = Sgd{.rate = 1}});
    Checkpointer checkpoints(client, {.directory = directory, .keep = 9, .full_every = 9}, "async", false, [] {});
    Key key = 0;
    auto const is_full = [&] {
      client.push(table, std::vector<Key>{++key}, std::vector<float>{-1}).wait();
      checkpoints.save({});
      return !open_checkpoint(concat(directory, '/', pass_name(passes_in(directory).back()))).manifest.base;
    };
    EXPECT_TRUE(is_full());
    EXPECT_FALSE(is_full());
    EXPECT_FALSE(is_full());
    fs::remove_all(concat(directory, "/pass-00000"));
    CaughtLog log;
    EXPECT_TRUE(is_full());
    EXPECT_EQ(log.lines().front(),
              concat("the next checkpoint holds all rows: prdist[checkpoint.missing] ", directory,
                     "/pass-00001, holds what changed since pass-00000, and ", directory,
                     "/pass-00000 is not there: restore that one, or load an older full checkpoint"));
    EXPECT_FALSE(is_full());
    EXPECT_FALSE(is_full());
    fs::resize_file(concat(directory, "/pass-00003/part-001"), 10);
    EXPECT_TRUE(is_full());
    EXPECT_FALSE(is_full());
    EXPECT_EQ(latest(directory).value().manifest.pass, 7U);
    fleet.stop_worker();
  });
}

TEST_F(Checkpoints, LeftByACrashGoWhenAJobBegins) {
  auto const left = concat(directory, "/pass-00003.tmp-77");
  fs::create_directories(left);
  Job job;
  job.anew = true;
  job.workers = 1;
  bool gone = false;
  job.meanwhile = [&] { gone = !fs::exists(left); };
  (void)run<Async>(job);
  EXPECT_TRUE(gone);
}

TEST_F(Checkpoints, AnExportTakesAwayNothingButItsOwn) {
  auto const path = (folder / "model.npz").native();
  fs::create_directories(path + ".parts");
  std::ofstream(path + ".parts/mine") << "somebody's";
  auto const pipe = (folder / "pipe").native();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  spawn<Strategy<Async>, Transport<Memory>>(2, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table = client.declare(SparseSpec{.name = "rows", .dim = 1, .optimizer = Sgd{.rate = 1}});
    client.push(table, std::vector<Key>{7}, std::vector<float>{-1}).wait();
    fleet.save_inference_model(path);
    EXPECT_EQ(thrown([&] { fleet.save_inference_model(pipe); }).what(),
              concat("prdist[checkpoint.file] ", pipe, ", is there and is no file: give the name of a file"));
    EXPECT_TRUE(holds(thrown([&] { fleet.save_inference_model(pipe + "/model.npz"); }).what(),
                      ", cannot be made, Not a directory: check that its folder exists and is writable"));
    fleet.save_inference_model((folder / "new/model.npz").native());
    fleet.stop_worker();
  });
  std::vector<std::string> names;
  for (auto const& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().native());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"model.npz", "model.npz.parts", "new", "pipe"}));
  EXPECT_TRUE(fs::exists(path + ".parts/mine"));
}

TEST_F(Checkpoints, BehindTheLastNumberAreRefused) {
  fs::create_directories(concat(directory, "/pass-18446744073709551615"));
  spawn<Strategy<Async>, Transport<Memory>>(1, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    (void)fleet.client().declare(SparseSpec{.name = "rows", .dim = 1});
    EXPECT_EQ(thrown([&] { (void)save_checkpoint(fleet.client(), directory); }).what(),
              concat("prdist[checkpoint.file] ", directory,
                     ", holds pass-18446744073709551615, behind which there is no number: rename it, or give another "
                     "folder"));
    fleet.stop_worker();
  });
}

// A launcher starts a job again, or not, by the code of whichever worker ends first.
TEST_F(Checkpoints, ThatCannotBeLoadedEndAllWorkersForTheSameReason) {
  Job job;
  job.stop_at = 3;
  EXPECT_TRUE(run<Async>(job).stopped);
  for (auto const pass : passes_in(directory)) fs::remove(concat(directory, '/', pass_name(pass), "/part-000"));
  std::mutex mutex;
  std::map<std::uint32_t, Error> errors;
  spawn<Transport<Memory>>(2, 3, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    (void)fleet.client().declare(DenseSpec{.name = "dense", .parts = {{"w", 3000, Initializer::zeros()}}});
    Checkpointer checkpoints(fleet.client(), {.directory = directory}, "async", false, [] {});
    auto const error = thrown([&] { (void)checkpoints.resume(); });
    {
      std::lock_guard const lock(mutex);
      errors.emplace(fleet.roles().index, error);
    }
    fleet.stop_worker();
  });
  ASSERT_EQ(errors.size(), 3U);
  for (auto const& [worker, error] : errors) {
    EXPECT_EQ(error.code(), Errc::checkpoint_missing) << worker;
    EXPECT_EQ(holds(error.what(), "worker 0 could not resume: "), worker != 0) << error.what();
    EXPECT_TRUE(holds(error.what(), "has checkpoints and none of them can be loaded")) << error.what();
  }
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

/// Jobs that read files, and go on with another number of workers. Every row has a key of its own, and adds 1 to it: in
/// the end the servers know how often each row was trained.
class DealtCheckpoints : public Checkpoints {
 protected:
  static constexpr std::uint64_t epochs = 3;

  void SetUp() override {
    Checkpoints::SetUp();
    plant({40, 3, 25, 0, 31, 18});
  }

  void plant(std::vector<std::size_t> const& rows) {
    files_.clear();
    rows_ = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      files_.push_back((folder / concat("part-", i)).native());
      std::ofstream file(files_.back());
      for (std::size_t row = 0; row < rows[i]; ++row) file << "click:0 a:" << ++rows_ << '\n';
    }
  }

  struct Life {
    std::uint32_t workers = 2;
    std::optional<std::uint64_t> stop_at{};  ///< the step of worker 0 behind which it asks for the end
    CheckpointOptions options{};
    bool keeps_quiet = false;  ///< about where it stands
    std::function<void()> begun = [] {};
  };

  struct Trained {
    std::map<std::uint32_t, std::uint64_t> rows{};  ///< by each worker, in this life
    std::vector<float> times{};                     ///< each row was trained, as the servers have it
    bool stopped = false;
  };

  template <class StrategyChoice>
  Trained live(Life const& life) {
    constexpr bool in_step = StrategyChoice::apply == ApplyRule::gather;
    Trained trained;
    std::mutex mutex;
    auto checkpoint_options = life.options;
    checkpoint_options.directory = directory;
    spawn<Strategy<StrategyChoice>, Transport<Memory>>(2, life.workers, quick_options(), [&](auto& fleet) {
      fleet.init_worker();
      auto& client = fleet.client();
      auto const own = fleet.roles().index;
      auto const table = client.declare(SparseSpec{.name = "rows",
                                                   .dim = 1,
                                                   .optimizer = Sgd{.rate = 1},
                                                   .init = Initializer::zeros(),
                                                   .apply = StrategyChoice::apply});
      Checkpointer checkpoints(client, checkpoint_options, StrategyChoice::name, in_step, [] {});
      SlotReader reader(fleet.split_files(files_),
                        {.format = {.label = "click", .dense = {}, .sparse = {"a"}}, .batch_size = 4, .shuffle = 7});
      std::uint64_t epoch = 0;
      if (auto const state = checkpoints.resume(); state && !life.keeps_quiet) {
        reader.resume(state->position);
        epoch = state->position.epoch;
      }
      auto const state = [&] { return life.keeps_quiet ? WorkerState{} : WorkerState{reader.position()}; };
      client.barrier("start");
      if (own == 0) life.begun();
      bool stopped = false, asked = false;
      std::uint64_t rows = 0, steps = 0;
      Batch batch;
      while (!stopped && epoch < epochs) {
        if (!reader.next(batch)) {
          reader.start_epoch(++epoch);
          continue;
        }
        if (life.stop_at && !asked && steps >= *life.stop_at + (own == 0 ? 0 : 6)) {
          asked = true;
          client.ask_cut(in_step ? checkpoints.step() + 1 : 0, true);
        }
        // The mean of all workers' parts is applied in step, the sum otherwise.
        auto const share = in_step ? static_cast<float>(life.workers) : 1.0F;
        client.push(table, batch.keys, std::vector<float>(batch.size(), -share)).wait();
        rows += batch.size();
        ++steps;
        stopped = checkpoints.between_steps(state) == Next::stop;
      }
      if (!stopped) checkpoints.finish(state());
      client.barrier("end");
      if (!stopped && !checkpoints.stopped()) checkpoints.save(state());
      std::lock_guard const lock(mutex);
      trained.rows[own] = rows;
      trained.stopped = trained.stopped || stopped;
      if (own == 0) {
        std::vector<Key> all(rows_);
        std::iota(all.begin(), all.end(), Key{1});
        trained.times.resize(rows_);
        client.pull(table, all, trained.times).wait();
      }
      fleet.stop_worker();
    });
    return trained;
  }

  void expect_every_row_once_per_epoch(Trained const& last) const {
    EXPECT_EQ(last.times, std::vector<float>(rows_, static_cast<float>(epochs)));
  }

  std::vector<std::string> files_;
  std::size_t rows_ = 0;
};

TEST_F(DealtCheckpoints, EveryRowIsTrainedOnceThoughTheNumberOfWorkersChanges) {
  std::vector<std::uint32_t> const numbers{2, 3, 1, 5, 5, 2};
  std::uint64_t rows = 0;
  for (auto const workers : numbers) {
    auto const life = live<Async>({.workers = workers, .stop_at = 4});
    EXPECT_TRUE(life.stopped);
    for (auto const& [worker, count] : life.rows) rows += count;
  }
  auto const last = live<Async>({.workers = 4});
  EXPECT_FALSE(last.stopped);
  for (auto const& [worker, count] : last.rows) rows += count;
  EXPECT_EQ(rows, rows_ * epochs);
  expect_every_row_once_per_epoch(last);
  // All is done: whoever comes now has nothing to do.
  auto const again = live<Async>({.workers = 3});
  for (auto const& [worker, count] : again.rows) EXPECT_EQ(count, 0U) << "worker " << worker;
}

TEST_F(DealtCheckpoints, AlsoInStepAndWithMoreWorkersThanFilesAreLeft) {
  std::uint64_t rows = 0;
  auto const add = [&](Trained const& life) {
    for (auto const& [worker, count] : life.rows) rows += count;
  };
  add(live<Sync>({.workers = 3, .stop_at = 5}));
  EXPECT_LT(rows, rows_ * epochs);
  add(live<Sync>({.workers = 1, .stop_at = 5}));
  add(live<Sync>({.workers = 9, .stop_at = 2}));
  add(live<Sync>({.workers = 2}));
  EXPECT_EQ(rows, rows_ * epochs);
}

TEST_F(DealtCheckpoints, WhatWasTrainedBehindTheCheckpointIsTrainedAgain) {
  // As when a machine is lost: the newest one on the disk is not the last moment.
  EXPECT_TRUE(live<Async>({.workers = 3, .stop_at = 30, .options = {.every = 5, .keep = 100}}).stopped);
  auto newest = latest(directory).value().manifest.pass;
  ASSERT_GE(newest, 2U);
  for (; newest > 1; --newest) fs::remove_all(concat(directory, '/', pass_name(newest)));
  expect_every_row_once_per_epoch(live<Async>({.workers = 2}));
}

TEST_F(DealtCheckpoints, NeverGoBackInTheirStep) {
  plant({1, 90});
  (void)live<Async>({.options = {.every = 5, .keep = 100}});
  std::uint64_t step = 0;
  for (auto const pass : passes_in(directory)) {
    auto const now = open_checkpoint(concat(directory, '/', pass_name(pass))).manifest.step;
    EXPECT_GE(now, step) << pass_name(pass);
    step = now;
  }
  EXPECT_EQ(step, 69U) << "of the worker that had more: three epochs of 23 batches";
}

TEST_F(DealtCheckpoints, WithoutTheNamesOfFilesNeedAsManyWorkers) {
  EXPECT_TRUE(live<Async>({.stop_at = 3}).stopped);
  // As written before there were any.
  auto const path = concat(directory, "/pass-00000");
  auto checkpoint = open_checkpoint(path);
  for (auto& trainer : checkpoint.manifest.trainers) {
    trainer.position.files.reset();
    trainer.position.sizes.clear();
    trainer.position.shuffle.reset();
  }
  {
    fs::remove_all(concat(directory, "/pass-00001"));
    PendingCheckpoint pending(directory, 1, "test");
    for (auto const& part : checkpoint.manifest.parts) {
      fs::copy_file(concat(path, '/', part.name), concat(pending.path(), '/', part.name));
    }
    checkpoint.manifest.pass = 1;
    (void)pending.commit(checkpoint.manifest);
  }
  EXPECT_EQ(
      thrown([&] { (void)live<Async>({.workers = 1}); }).what(),
      concat("prdist[config.contradiction] ", directory,
             ": the job that saved pass-00001 had 2 workers, this one has 1, and it is not known which files worker "
             "0 had, so nobody can go on for it: start as many, or load the weights alone with Fleet::load()"));
  expect_every_row_once_per_epoch(live<Async>({}));
}

TEST_F(DealtCheckpoints, DoWithoutNamesThatAreTooMany) {
  auto name = files_[0];
  while (name.size() < 100) name.insert(name.rfind('/'), "/.");  // the same file
  std::vector<std::string> const names(100'000, name);
  for (std::size_t const count : {names.size() / 2, names.size()}) {
    fs::remove_all(directory);
    spawn<Strategy<Async>, Transport<Memory>>(1, 1, quick_options(), [&](auto& fleet) {
      fleet.init_worker();
      (void)fleet.client().declare(DenseSpec{.name = "dense", .parts = {{"w", 1, Initializer::zeros()}}});
      Checkpointer checkpoints(fleet.client(), {.directory = directory}, "async", false, [] {});
      WorkerState state{{.epoch = 3, .source = 1}};
      state.position.files.emplace(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
      checkpoints.finish(state);
      checkpoints.save(state);
      fleet.stop_worker();
    });
    auto const position = latest(directory).value().manifest.trainers.at(0).position;
    EXPECT_EQ(position.epoch, 3U);
    EXPECT_EQ(position.files ? position.files->size() : 0, count == names.size() ? 0 : count);
    if (count == names.size()) continue;
    // And who resumes hears of all that were kept.
    spawn<Strategy<Async>, Transport<Memory>>(1, 2, quick_options(), [&](auto& fleet) {
      fleet.init_worker();
      (void)fleet.client().declare(DenseSpec{.name = "dense", .parts = {{"w", 1, Initializer::zeros()}}});
      Checkpointer checkpoints(fleet.client(), {.directory = directory}, "async", false, [] {});
      auto const resumed = checkpoints.resume();
      EXPECT_TRUE(resumed && resumed->position.epoch == 3 && resumed->position.files->size() == count);
      fleet.stop_worker();
    });
  }
}

TEST_F(DealtCheckpoints, OfAProgramThatSaysNothingGoOnWithAnyNumberOfWorkers) {
  EXPECT_TRUE(live<Async>({.stop_at = 3, .keeps_quiet = true}).stopped);
  EXPECT_FALSE(live<Async>({.workers = 3, .keeps_quiet = true}).stopped);
}

TEST_F(DealtCheckpoints, AFileThatIsGoneIsMissedBeforeAnythingIsTrained) {
  EXPECT_TRUE(live<Async>({.stop_at = 1}).stopped);
  fs::remove(files_.back());
  bool begun = false;
  auto const error = thrown([&] { (void)live<Async>({.workers = 1, .begun = [&] { begun = true; }}); });
  EXPECT_TRUE(holds(error.what(), concat(files_.back(), ", a file of the job that was stopped, No such file")));
  EXPECT_FALSE(begun);
}

}  // namespace
}  // namespace prdist::test
