// Real threads over memory: servers in the background, workers on the test's own thread, one after another.
#include <prdist/fleet/elastic_checkpoints.hpp>

#include <gtest/gtest.h>
#include <stdlib.h>

#include <prdist/checkpoint/directory.hpp>

#include <filesystem>
#include <fstream>
#include <thread>

#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

using AsyncFleet = Fleet<Strategy<Async>, Transport<Memory>>;

class ElasticCheckpointsTest : public ::testing::Test {
 protected:
  ElasticCheckpointsTest() {
    char name[] = "/tmp/prdist-elastic-XXXXXX";
    folder = ::mkdtemp(name);
    directory = folder + "/ckpt";
  }
  ~ElasticCheckpointsTest() override { std::filesystem::remove_all(folder); }

  std::string folder, directory;
};

/// An elastic job; its servers end when a worker has finished and nobody is there.
class Job {
 public:
  explicit Job(std::uint32_t servers) {
    for (std::uint32_t i = 0; i < servers; ++i) endpoints_.push_back({"memory", static_cast<std::uint16_t>(i + 1)});
    for (std::uint32_t i = 0; i < servers; ++i) {
      threads_.emplace_back([this, i] {
        AsyncFleet fleet{Roles{Role::server, i, endpoints_, 1, -1, range_}, memory_, quick_options()};
        fleet.init_server();
        EXPECT_EQ(fleet.run_server(), 0);
      });
    }
  }
  ~Job() {
    for (auto& thread : threads_) thread.join();
  }

  AsyncFleet& worker(std::uint32_t index) {
    auto const roles = Roles{Role::worker, index, endpoints_, 1, -1, range_};
    auto& fleet = *workers_.emplace_back(std::make_unique<AsyncFleet>(roles, memory_, quick_options()));
    fleet.init_worker();
    return fleet;
  }

 private:
  Elastic range_{1, 3};
  Memory memory_ = make_transport<Memory>();
  std::vector<Endpoint> endpoints_;
  std::vector<std::thread> threads_;
  std::vector<std::unique_ptr<AsyncFleet>> workers_;
};

SparseRef counts(Client& client) {
  SparseSpec spec{.name = "counts", .dim = 1, .optimizer = Sgd{.rate = 1}};
  spec.init = Initializer::zeros();
  return client.declare(spec);
}

void train(Client& client, SparseRef const& table, Key key) {
  client.push(table, std::vector<Key>{key}, std::vector<float>{-1}).wait();
}

std::vector<std::string> const four{"a", "b", "c", "d"};

}  // namespace

TEST_F(ElasticCheckpointsTest, WhatWasInWorkIsHandedOutAgainByAnotherNumberOfServers) {
  {
    Job job(1);
    auto& fleet = job.worker(0);
    auto const table = counts(fleet.client());
    auto checkpoints = fleet.elastic_checkpoints({.directory = directory});
    checkpoints.begin(true);
    auto files = fleet.dispatched_files(four);
    auto const a = files.take(), b = files.take();
    train(fleet.client(), table, a->task);
    files.done(*a);
    train(fleet.client(), table, b->task);
    checkpoints.stepped();
    checkpoints.stepped();
    checkpoints.save_last();
    fleet.stop_worker();
  }
  Job job(2);
  auto& fleet = job.worker(2);
  auto const table = counts(fleet.client());
  auto checkpoints = fleet.elastic_checkpoints({.directory = directory, .every = 1});
  checkpoints.begin(true);
  EXPECT_FALSE(checkpoints.due()) << "counted from where it goes on";
  std::vector<float> rows(2);
  fleet.client().pull(table, std::vector<Key>{0, 1}, rows).wait();
  EXPECT_EQ(rows, (std::vector<float>{1, 1}));
  // Who comes later does not load again, and gets the next file.
  auto& late = job.worker(0);
  (void)counts(late.client());
  auto theirs = late.elastic_checkpoints({.directory = directory});
  theirs.begin(true);
  auto files = fleet.dispatched_files(four), late_files = late.dispatched_files(four);
  std::vector<std::string> order;
  for (auto* const from : {&files, &late_files, &files}) {
    auto const file = from->take().value();
    order.push_back(file.name);
    from->done(file);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(files.take(), std::nullopt);
  EXPECT_TRUE(files.over());
  late.stop_worker();
  fleet.stop_worker();
}

TEST_F(ElasticCheckpointsTest, OneWritesUntilItIsGone) {
  Job job(1);
  auto &first = job.worker(0), &second = job.worker(1);
  (void)counts(first.client());
  (void)counts(second.client());
  auto a = first.elastic_checkpoints({.directory = directory, .every = 2, .keep = 2});
  auto b = second.elastic_checkpoints({.directory = directory, .every = 2, .keep = 2});
  a.begin(false);
  b.begin(false);
  a.stepped();
  EXPECT_FALSE(a.due());
  a.stepped();
  EXPECT_TRUE(a.due());
  a.save();
  EXPECT_FALSE(a.due());
  a.wait();
  b.save();
  b.wait();
  EXPECT_EQ(passes_in(directory), std::vector<std::uint64_t>{0}) << "the other's are not its own to write";
  b.save_last();
  first.leave_worker();
  b.save();
  b.wait();
  EXPECT_EQ(passes_in(directory), (std::vector<std::uint64_t>{1, 2})) << "the oldest goes";
  second.stop_worker();
}

TEST_F(ElasticCheckpointsTest, StepsAreTakenWhileOneIsWritten) {
  Job job(1);
  auto &first = job.worker(0), &second = job.worker(1);
  auto const table = counts(first.client());
  auto checkpoints = first.elastic_checkpoints({.directory = directory, .every = 1});
  checkpoints.begin(false);
  auto files = first.dispatched_files({"a"});
  auto const file = files.take().value();
  // The other one holds what a writer needs: the checkpoint cannot be complete before it lets go.
  ASSERT_TRUE(wait_for_duty(second.client(), "writing a checkpoint"));
  checkpoints.stepped();
  checkpoints.save();
  train(first.client(), table, 7);
  checkpoints.stepped();
  EXPECT_TRUE(checkpoints.due());
  files.done(file, 5);
  EXPECT_EQ(files.rows(), 5U);
  EXPECT_TRUE(checkpoints.writing());
  EXPECT_TRUE(passes_in(directory).empty());
  second.client().return_duty("writing a checkpoint");
  checkpoints.save();  // behind the first one
  checkpoints.wait();
  EXPECT_FALSE(checkpoints.writing());
  EXPECT_EQ(passes_in(directory), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(open_checkpoint(directory + "/pass-00000").manifest.step, 1U);
  EXPECT_EQ(open_checkpoint(directory + "/pass-00001").manifest.step, 2U);
  // What cannot be written is only logged, the last one excepted.
  std::filesystem::remove_all(directory);
  std::ofstream(directory) << "a file where the folder should be";
  checkpoints.save();
  checkpoints.wait();
  EXPECT_TRUE(holds(thrown([&] { checkpoints.save_last(); }).what(), "cannot be written"));
  second.stop_worker();
  first.stop_worker();
}

TEST_F(ElasticCheckpointsTest, AFolderOfAnotherJobIsRefusedToEverybody) {
  {
    Job job(1);
    auto& fleet = job.worker(0);
    (void)counts(fleet.client());
    fleet.save_persistables(directory);
    fleet.stop_worker();
  }
  Job job(1);
  auto& fleet = job.worker(0);
  (void)counts(fleet.client());
  auto checkpoints = fleet.elastic_checkpoints({.directory = directory});
  EXPECT_EQ(thrown([&] { checkpoints.begin(false); }).message(),
            concat(directory, " holds checkpoints up to pass-00000: resume from them, or give another folder"));
  auto& other = job.worker(1);
  auto theirs = other.elastic_checkpoints({.directory = directory});
  auto const heard = thrown([&] { theirs.begin(false); });
  EXPECT_EQ(heard.message(), concat("another worker could not begin: ", directory,
                                    " holds checkpoints up to pass-00000: resume from them, or give another folder"));
  EXPECT_EQ(heard.code(), Errc::config_contradiction);
  other.stop_worker();
  fleet.stop_worker();
}

// Nobody writes yet, and the folder is taken all the same: two jobs would remove each other's checkpoints.
TEST_F(ElasticCheckpointsTest, AFolderIsOneJobsAtATime) {
  {
    Job job(1);
    auto &first = job.worker(0), &late = job.worker(1);
    (void)counts(first.client());
    (void)counts(late.client());
    auto checkpoints = first.elastic_checkpoints({.directory = directory});
    checkpoints.begin(false);
    auto const refused = concat(directory, ", another job is saving there: give each its own folder");
    for (bool const resume : {false, true}) {
      Job other(1);
      auto& fleet = other.worker(0);
      (void)counts(fleet.client());
      auto theirs = fleet.elastic_checkpoints({.directory = directory});
      EXPECT_EQ(thrown([&] { theirs.begin(resume); }).message(), refused);
      fleet.stop_worker();
    }
    (void)spawn<Strategy<Async>, Transport<Memory>>(1, 1, quick_options(), [&](AsyncFleet& fleet) {
      fleet.init_worker();
      auto optimizer = fleet.distributed_optimizer(Sgd{});
      EXPECT_EQ(thrown([&] { (void)fleet.checkpointer(optimizer, {.directory = directory}); }).message(), refused);
      fleet.stop_worker();
    });
    auto ours = late.elastic_checkpoints({.directory = directory});
    ours.begin(false);
    ours.save_last();
    checkpoints.save_last();
    EXPECT_EQ(passes_in(directory), (std::vector<std::uint64_t>{0, 1}));
    late.stop_worker();
    first.stop_worker();
  }
  Job job(1);
  auto& fleet = job.worker(0);
  (void)counts(fleet.client());
  auto checkpoints = fleet.elastic_checkpoints({.directory = directory, .keep = 1});
  checkpoints.begin(true);
  checkpoints.save_last();
  EXPECT_EQ(passes_in(directory), std::vector<std::uint64_t>{2}) << "the one before is gone, and this one goes on";
  fleet.stop_worker();
}

// Where the file system has no locks, or when all workers were gone for a while.
TEST_F(ElasticCheckpointsTest, AJobWhoseFolderWasTakenOverWritesAndRemovesNothingThere) {
  Job job(1);
  auto& fleet = job.worker(0);
  (void)counts(fleet.client());
  auto checkpoints = fleet.elastic_checkpoints({.directory = directory, .keep = 1});
  checkpoints.begin(false);
  checkpoints.save_last();
  write_text(directory + "/owner", "a job, begun later\n");
  EXPECT_EQ(thrown([&] { checkpoints.save_last(); }).message(),
            concat(directory, ", another job has taken it over, says ", directory,
                   "/owner, 'a job, begun later': give each its own folder"));
  EXPECT_EQ(passes_in(directory), std::vector<std::uint64_t>{0});
  // Emptied by somebody, it is nobody else's.
  std::filesystem::remove_all(directory);
  checkpoints.save_last();
  checkpoints.save_last();
  EXPECT_EQ(passes_in(directory), std::vector<std::uint64_t>{1});
  fleet.stop_worker();
}

TEST_F(ElasticCheckpointsTest, PlacesInFilesOfTheirOwnCannotBeHandedOut) {
  using Fixed = Fleet<Strategy<Async>, Transport<Memory>>;
  (void)spawn<Strategy<Async>, Transport<Memory>>(1, 2, quick_options(), [&](Fixed& fleet) {
    fleet.init_worker();
    (void)counts(fleet.client());
    auto optimizer = fleet.distributed_optimizer(Sgd{});
    auto checkpoints = fleet.checkpointer(optimizer, {.directory = directory});
    checkpoints.save({});
    fleet.stop_worker();
  });
  Job job(1);
  auto& fleet = job.worker(0);
  (void)counts(fleet.client());
  auto checkpoints = fleet.elastic_checkpoints({.directory = directory});
  EXPECT_EQ(thrown([&] { checkpoints.begin(true); }).message(),
            concat(directory,
                   "/pass-00000 was saved by a job that is not elastic, whose 2 workers each have a place in "
                   "their own files: resume it as it was, or load its weights alone with Fleet::load()"));
  fleet.stop_worker();
}

TEST_F(ElasticCheckpointsTest, WhatDoesNotFitIsSaidAtOnce) {
  Job job(1);
  auto& fleet = job.worker(0);
  EXPECT_EQ(thrown([&] { (void)fleet.elastic_checkpoints({.directory = directory, .full_every = 3}); }).message(),
            "checkpoints of an elastic job hold all rows, and full_every is 3: leave it at 1");
  auto optimizer = fleet.distributed_optimizer(Sgd{});
  EXPECT_EQ(thrown([&] { (void)fleet.checkpointer(optimizer, {.directory = directory}); }).message(),
            "a Checkpointer, whose workers all meet, in an elastic job: use ElasticCheckpoints");
  EXPECT_EQ(thrown([&] { (void)fleet.split_files(four); }).message(),
            "split_files() in an elastic job, where the share of one that leaves would be read by nobody: use "
            "dispatched_files()");
  using SyncFleet = Fleet<Strategy<Sync>, Transport<Memory>>;
  EXPECT_EQ(
      thrown([&] {
        SyncFleet{fleet.roles(), make_transport<Memory>(), quick_options()};
      }).message(),
      "PRDIST_ELASTIC='1:3' with strategy sync, whose steps depend on how many trainers there are: use async or "
      "half_async, or let the launcher end the job and start it anew from its checkpoint when its trainers change");
  fleet.stop_worker();
}

}  // namespace prdist::test
