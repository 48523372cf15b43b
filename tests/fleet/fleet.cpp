// Whole jobs as threads, over every transport: what a user's program sees.
#include <prdist/fleet/fleet.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <prdist/nn/logistic_regression.hpp>
#include <prdist/strategy/sync.hpp>

#include "../support/caught_log.hpp"
#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

template <class Choice>
class FleetOver : public ::testing::Test {};
TYPED_TEST_SUITE(FleetOver, AllTransports);

TYPED_TEST(FleetOver, PullsFirstRowsAndPushesGradientsOverAnyNumberOfServers) {
  for (std::uint32_t servers : {1U, 3U}) {
    auto const codes = spawn<Transport<TypeParam>>(servers, 2, quick_options(), [](auto& fleet) {
      fleet.init_worker();
      auto& client = fleet.client();
      SparseSpec const spec{
          .name = "rows", .dim = 5, .optimizer = Sgd{.rate = 1}, .init = Initializer::uniform(-1, 1), .seed = 7};
      auto const table = client.declare(spec);
      // More keys than fit a frame, some of them twice; each worker has its own.
      std::vector<Key> keys(30000);
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = (fleet.roles().index << 20) + i % 20000;
      std::vector<float> first(keys.size() * 5), rows(keys.size() * 5), expected(5);
      client.pull(table, keys, first).wait();
      for (std::size_t i = 0; i < keys.size(); i += 777) {
        fill_first(spec.init, stream_of(spec.seed, hash_name(spec.name)), keys[i], expected);
        for (std::size_t k = 0; k < 5; ++k) ASSERT_EQ(first[i * 5 + k], expected[k]);
      }
      std::vector<float> gradients(keys.size() * 5);
      std::iota(gradients.begin(), gradients.end(), 0.0F);
      client.push(table, keys, gradients).wait();
      client.pull(table, keys, rows).wait();
      for (std::size_t i = 0; i < 20000; ++i) {
        for (std::size_t k = 0; k < 5; ++k) {
          auto sum = first[i * 5 + k] - gradients[i * 5 + k];
          if (i < 10000) sum -= gradients[(i + 20000) * 5 + k];
          ASSERT_EQ(rows[i * 5 + k], sum);
        }
      }
      fleet.stop_worker();
    });
    EXPECT_EQ(codes, std::vector<int>(servers, 0));
  }
}

TYPED_TEST(FleetOver, DenseTablesOfAnySizeGoThereAndBack) {
  auto const codes = spawn<Transport<TypeParam>>(2, 1, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    for (std::size_t const size : {1UL, 16384UL, 16385UL, 200001UL}) {
      DenseSpec const spec{
          .name = concat("dense", size),
          .parts = {{"a", size / 2, Initializer::uniform(0, 1)}, {"b", size - size / 2, Initializer::constant(3)}},
          .optimizer = Sgd{.rate = 0.5F},
          .seed = 3};
      auto const table = client.declare(spec);
      std::vector<float> weights(size), expected(size), gradients(size, 2);
      fill_first_dense(spec, 0, expected);
      client.pull(table, weights).wait();
      ASSERT_EQ(weights, expected);
      client.push(table, gradients).wait();
      client.pull(table, weights).wait();
      for (auto& value : expected) value -= 1;
      ASSERT_EQ(weights, expected);
      client.assign(table, gradients).wait();
      client.pull(table, weights).wait();
      ASSERT_EQ(weights, gradients);
    }
    fleet.stop_worker();
  });
  EXPECT_EQ(codes, std::vector<int>(2, 0));
}

TYPED_TEST(FleetOver, ManyThreadsMayShareOneClient) {
  auto options = quick_options();
  options.server_threads = 3;
  auto const codes = spawn<Transport<TypeParam>>(2, 1, options, [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table = client.declare(SparseSpec{.name = "t", .dim = 4, .optimizer = Sgd{.rate = 1}});
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        std::vector<Key> keys(500);
        std::iota(keys.begin(), keys.end(), Key{0});
        std::vector<float> const gradients(2000, -1);
        for (int i = 0; i < 20; ++i) client.push(table, keys, gradients).wait();
      });
    }
    for (auto& thread : threads) thread.join();
    std::vector<Key> keys(500);
    std::iota(keys.begin(), keys.end(), Key{0});
    std::vector<float> rows(2000);
    client.pull(table, keys, rows).wait();
    EXPECT_EQ(rows, std::vector<float>(2000, 120));
    fleet.stop_worker();
  });
  EXPECT_EQ(codes, std::vector<int>(2, 0));
}

TYPED_TEST(FleetOver, ADifferentDeclarationIsRefusedByName) {
  std::atomic<int> refused = 0;
  spawn<Transport<TypeParam>>(1, 2, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    try {
      (void)fleet.client().declare(SparseSpec{.name = "emb", .dim = 8 + fleet.roles().index});
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), Errc::table_mismatch);
      EXPECT_NE(std::string(error.what()).find("table 'emb': dim is"), std::string::npos) << error.what();
      ++refused;
    }
    fleet.client().barrier("both");
    fleet.stop_worker();
  });
  EXPECT_EQ(refused, 1);
}

TYPED_TEST(FleetOver, ABarrierHoldsEverybody) {
  std::atomic<int> arrived = 0;
  spawn<Transport<TypeParam>>(2, 4, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    for (int round = 1; round <= 5; ++round) {
      ++arrived;
      fleet.client().barrier("round");
      EXPECT_GE(arrived, 4 * round);
      fleet.client().barrier("after");
    }
    fleet.stop_worker();
  });
}

TYPED_TEST(FleetOver, AStepGoesOnWithoutAWorkerThatHasFinished) {
  auto const codes = spawn<Transport<TypeParam>, Strategy<Sync>>(2, 3, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table =
        client.declare(SparseSpec{.name = "t", .dim = 1, .optimizer = Sgd{.rate = 1}, .apply = ApplyRule::gather});
    std::vector<Key> const keys = {1};
    std::vector<float> const gradients = {-1};
    // Worker i has i + 1 batches.
    for (std::uint32_t step = 0; step <= fleet.roles().index; ++step) client.push(table, keys, gradients).wait();
    client.retire();
    client.barrier("trained");
    std::vector<float> row(1);
    client.pull(table, keys, row).wait();
    EXPECT_NEAR(row[0], 3, 1e-6);  // three steps, each of mean gradient -1
    fleet.stop_worker();
  });
  EXPECT_EQ(codes, std::vector<int>(2, 0));
}

TYPED_TEST(FleetOver, AWorkerThatVanishesEndsASynchronousJobForEverybody) {
  std::atomic<int> told = 0;
  auto const codes = spawn<Transport<TypeParam>, Strategy<Sync>>(2, 2, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table = client.declare(SparseSpec{.name = "t", .dim = 1, .apply = ApplyRule::gather});
    client.barrier("start");
    if (fleet.roles().index == 1) return;  // as if killed: no stop_worker()
    std::vector<Key> const keys = {1, 2, 3};
    std::vector<float> const gradients(3);
    try {
      client.push(table, keys, gradients).wait();
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), Errc::job_peer_lost) << error.what();
      EXPECT_NE(std::string(error.what()).find("trainer 1 is lost"), std::string::npos) << error.what();
      ++told;
    }
    fleet.stop_worker();
  });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(codes, std::vector<int>(2, 75));
}

TYPED_TEST(FleetOver, AsynchronousWorkersGoOnWithoutALostOne) {
  auto const codes = spawn<Transport<TypeParam>>(1, 2, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table = client.declare(SparseSpec{.name = "t", .dim = 1});
    client.barrier("start");
    if (fleet.roles().index == 1) return;
    std::vector<Key> const keys = {1, 2, 3};
    std::vector<float> const gradients(3);
    for (int i = 0; i < 50; ++i) client.push(table, keys, gradients).wait();
    fleet.stop_worker();
  });
  EXPECT_EQ(codes, std::vector<int>{75});
}

TEST(Fleet, AServerThatEndsIsNamedAtOnce) {
  auto const hub = std::make_shared<MemoryHub>();
  std::vector<Endpoint> const endpoints = {{"s", 1}, {"s", 2}};
  auto stays =
      std::make_unique<Fleet<Transport<Memory>>>(Roles{Role::server, 0, endpoints, 1}, Memory{hub}, quick_options());
  auto goes =
      std::make_unique<Fleet<Transport<Memory>>>(Roles{Role::server, 1, endpoints, 1}, Memory{hub}, quick_options());
  stays->init_server();
  goes->init_server();
  Fleet<Transport<Memory>> worker{Roles{Role::worker, 0, endpoints, 1}, Memory{hub}, quick_options()};
  worker.init_worker();
  auto const table = worker.client().declare(SparseSpec{.name = "t", .dim = 1});
  std::vector<Key> keys(100);
  std::iota(keys.begin(), keys.end(), Key{0});
  std::vector<float> rows(100);
  worker.client().pull(table, keys, rows).wait();
  goes.reset();
  try {
    worker.client().pull(table, keys, rows).wait();
    FAIL() << "a pull from a server that is gone";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), Errc::transport_closed);
    EXPECT_NE(std::string(error.what()).find("worker 0 -> server 1 at s:2"), std::string::npos) << error.what();
  }
}

TEST(Fleet, WaitingForServersEndsWithADiagnosisPerEndpoint) {
  auto const [silent, descriptor] = listening_socket();
  auto const [refusing, closed] = listening_socket();
  ::close(closed);
  auto options = quick_options();
  options.wait_for_servers = std::chrono::milliseconds(100);
  Fleet<Transport<Beast>> worker{Roles{Role::worker, 0, {refusing, {"no..such..host", 1}, silent}, 1}, options};
  CaughtLog const log;
  try {
    worker.init_worker();
    FAIL() << "there are no servers";
  } catch (Error const& error) {
    std::string const what = error.what();
    EXPECT_NE(what.find("worker 0: 3 of 3 servers were not ready within 0.1 s"), std::string::npos) << what;
    EXPECT_NE(what.find(concat(to_string(refusing), ": connection refused")), std::string::npos) << what;
    EXPECT_NE(what.find("no..such..host:1: the host name is not known"), std::string::npos) << what;
    EXPECT_NE(what.find(concat(to_string(silent), ": connected, but no answer")), std::string::npos) << what;
    EXPECT_EQ(exit_code(error.code()), 75);
  }
  ::close(descriptor);
}

TEST(Fleet, SaysTheLinesUsersLookFor) {
  CaughtLog const log;
  spawn<Transport<Tcp>>(1, 1, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    fleet.stop_worker();
  });
  std::string lines;
  for (auto const& line : log.lines()) lines += concat(line, '\n');
  for (auto const* const line : {"Server listening on 127.0.0.1:", " selected port: ", "Communicator start",
                                 "init rpc client with trainer_id 0", "async/tcp/cpu worker 0/1 servers 1"}) {
    EXPECT_NE(lines.find(line), std::string::npos) << line << " is missing in\n" << lines;
  }
}

TEST(Fleet, WorkersOfAnotherJobAreTurnedAway) {
  auto const hub = std::make_shared<MemoryHub>();
  std::vector<Endpoint> const endpoints = {{"s", 1}};
  Fleet<Transport<Memory>> server{Roles{Role::server, 0, endpoints, 2}, Memory{hub}, quick_options()};
  server.init_server();
  auto const turned_away = [&](Roles roles, std::string const& why) {
    Fleet<Transport<Memory>> worker{std::move(roles), Memory{hub}, quick_options()};
    try {
      worker.init_worker();
      ADD_FAILURE() << "was let in: " << why;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), Errc::config_contradiction) << error.what();
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  turned_away({Role::worker, 0, endpoints, 3}, "PADDLE_TRAINERS_NUM must be the same everywhere");
  turned_away({Role::worker, 2, endpoints, 2}, "compare PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM");
  Fleet<Transport<Memory>> first{Roles{Role::worker, 0, endpoints, 2}, Memory{hub}, quick_options()};
  first.init_worker();
  turned_away({Role::worker, 0, endpoints, 2}, "a trainer with this id is already connected");
}

TEST(Fleet, AWorkerThatFoundNoServerMayTryAgain) {
  auto const hub = std::make_shared<MemoryHub>();
  std::vector<Endpoint> const endpoints = {{"s", 1}};
  auto options = quick_options();
  options.wait_for_servers = std::chrono::milliseconds(30);
  Fleet<Transport<Memory>> worker{Roles{Role::worker, 0, endpoints, 1}, Memory{hub}, options};
  EXPECT_EQ(thrown([&] { worker.init_worker(); }).code(), Errc::transport_refused);
  EXPECT_EQ(thrown([&] { worker.stop_worker(); }).code(), Errc::job_state);
  Fleet<Transport<Memory>> server{Roles{Role::server, 0, endpoints, 1}, Memory{hub}, options};
  server.init_server();
  worker.init_worker();
  EXPECT_STREQ(thrown([&] { worker.init_worker(); }).what(), "prdist[job.state] init_worker() was called already");
  worker.stop_worker();
  EXPECT_EQ(server.run_server(), 0);
}

// The parts of a gathered step are answered together: they must not fill the backlog that stops the reading of them.
TEST(Fleet, AStepMayHaveMoreFramesThanTheBacklogHolds) {
  auto const [endpoint, descriptor] = listening_socket();
  Tcp const narrow(SocketOptions{.max_backlog = 2});
  Fleet<Strategy<Sync>, Transport<Tcp>> server{Roles{Role::server, 0, {endpoint}, 1, descriptor}, narrow,
                                               quick_options()};
  server.init_server();
  Fleet<Strategy<Sync>, Transport<Tcp>> worker{Roles{Role::worker, 0, {endpoint}, 1}, narrow, quick_options()};
  worker.init_worker();
  auto& client = worker.client();
  constexpr std::size_t size = 1'000'000;  // 16 frames
  auto const table = client.declare(
      DenseSpec{.name = "d", .parts = {{"w", size, {}}}, .optimizer = Sgd{.rate = 1}, .apply = ApplyRule::gather});
  std::vector<float> const ones(size, 1.0F);
  std::vector<float> weights(size);
  client.push(table, ones).wait();
  client.pull(table, weights).wait();
  EXPECT_EQ(weights, std::vector<float>(size, -1.0F));
  worker.stop_worker();
  EXPECT_EQ(server.run_server(), 0);
}

TEST(Fleet, FilesAreSharedOutAmongTheWorkers) {
  Memory const memory(std::make_shared<MemoryHub>());
  std::vector<std::string> const files = {"a", "b", "c", "d", "e"};
  Fleet<Transport<Memory>> zero{Roles{Role::worker, 0, {{"s", 1}}, 2}, memory, quick_options()};
  Fleet<Transport<Memory>> one{Roles{Role::worker, 1, {{"s", 1}}, 2}, memory, quick_options()};
  EXPECT_EQ(zero.split_files(files), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(one.split_files(files), (std::vector<std::string>{"d", "e"}));
  Fleet<Transport<Memory>> server{Roles{Role::server, 0, {{"s", 1}}, 2}, memory, quick_options()};
  EXPECT_EQ(thrown([&] { (void)server.split_files(files); }).code(), Errc::job_state);
  CaughtLog const log;
  EXPECT_TRUE(one.split_files({"a"}).empty());
  EXPECT_EQ(zero.split_files({"a"}), (std::vector<std::string>{"a"}));
  EXPECT_EQ(log.lines(), (std::vector<std::string>{"1 file for 2 workers: 1 of them have none"}))
      << "by the first worker only";
}

TEST(Fleet, SaysWhoIsWhereInPaddlesWords) {
  Memory const memory(std::make_shared<MemoryHub>());
  Roles roles{Role::worker, 1, {{"s", 1}, {"::1", 2}}, 3};
  roles.worker_endpoints = {"w0:7", "w1:7", "w2:7"};
  Fleet<Transport<Memory>> const worker{roles, memory, quick_options()};
  EXPECT_TRUE(worker.is_worker());
  EXPECT_FALSE(worker.is_first_worker());
  EXPECT_EQ(worker.worker_index(), 1U);
  EXPECT_EQ(worker.worker_num(), 3U);
  EXPECT_EQ(worker.server_num(), 2U);
  EXPECT_EQ(worker.server_endpoints(), (std::vector<std::string>{"s:1", "[::1]:2"}));
  EXPECT_EQ(worker.worker_endpoints(), roles.worker_endpoints);
  EXPECT_EQ(thrown([&] { (void)worker.server_index(); }).message(),
            "server_index() in a worker: ask is_server() first");
  roles.role = Role::server;
  Fleet<Transport<Memory>> const server{roles, memory, quick_options()};
  EXPECT_EQ(server.server_index(), 1U);
  EXPECT_EQ(thrown([&] { (void)server.worker_index(); }).message(),
            "worker_index() in a server: ask is_worker() first");
}

TEST(Fleet, VerbsOfTheOtherRoleAreRefused) {
  Memory const memory(std::make_shared<MemoryHub>());
  Fleet<Transport<Memory>> worker{Roles{Role::worker, 0, {{"s", 1}}, 1}, memory, quick_options()};
  EXPECT_THROW(worker.init_server(), Error);
  EXPECT_THROW((void)worker.run_server(), Error);
  EXPECT_THROW((void)worker.client(), Error);
  Fleet<Transport<Memory>> server{Roles{Role::server, 0, {{"s", 1}}, 1}, memory, quick_options()};
  EXPECT_THROW(server.init_worker(), Error);
  EXPECT_THROW((void)server.run_server(), Error);
}

TEST(Fleet, ShapesThatDoNotFitAreNamedBeforeAnythingIsSent) {
  spawn<Transport<Memory>>(1, 1, quick_options(), [](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table = client.declare(SparseSpec{.name = "t", .dim = 3});
    auto const dense = client.declare(DenseSpec{.name = "d", .parts = {{"w", 10, {}}}});
    std::vector<Key> const keys(4);
    std::vector<float> wrong(11);
    for (auto const& call : std::vector<std::function<void()>>{
             [&] { client.pull(table, keys, wrong).wait(); }, [&] { client.push(table, keys, wrong).wait(); },
             [&] { client.pull(dense, wrong).wait(); }, [&] { client.push(dense, wrong).wait(); },
             [&] { (void)client.declare(SparseSpec{.name = "", .dim = 3}); },
             [&] { (void)client.declare(SparseSpec{.name = "x", .dim = 0}); }}) {
      try {
        call();
        ADD_FAILURE() << "a wrong shape went through";
      } catch (Error const& error) {
        EXPECT_EQ(error.code(), Errc::table_shape) << error.what();
      }
    }
    std::vector<float> nothing;
    client.pull(table, {}, nothing).wait();
    client.push(table, {}, nothing).wait();
    fleet.stop_worker();
  });
}

TEST(Fleet, WorkersMeetAndLearnWhatEachBrought) {
  std::mutex mutex;
  std::vector<Texts> seen;
  spawn<Transport<Memory>>(2, 3, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto const texts = fleet.client().meet("names", concat("worker ", fleet.roles().index));
    {
      std::lock_guard const lock(mutex);
      seen.push_back(texts);
    }
    fleet.stop_worker();
  });
  EXPECT_EQ(seen, (std::vector<Texts>(3, {{0, "worker 0"}, {1, "worker 1"}, {2, "worker 2"}})));
}

TEST(Fleet, AWishForACheckpointIsHeardWithTheNextAnswer) {
  spawn<Transport<Memory>>(2, 2, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    EXPECT_FALSE(client.cut_wish().wanted());
    client.barrier("before");
    if (fleet.roles().index == 1) client.ask_cut(17, true);
    client.barrier("after");
    auto const wanted = client.cut_wish().wanted();
    EXPECT_TRUE(wanted && wanted->number == 1 && wanted->step == 17 && wanted->stop);
    client.cut_wish().met(1);
    EXPECT_FALSE(client.cut_wish().wanted());
    fleet.stop_worker();
  });
}

TEST(Fleet, SavesLoadsAndExportsWhatTheServersHold) {
  namespace fs = std::filesystem;
  auto const folder = fs::temp_directory_path() / concat("prdist-fleet-saves-", ::getpid());
  fs::remove_all(folder);
  std::vector<Key> const keys = {1, 2, 3, ~Key{0}};
  std::vector<float> saved(8), loaded(8);
  SparseSpec const spec{.name = "rows", .dim = 2, .optimizer = Adam{}, .init = Initializer::uniform(-1, 1)};
  spawn<Transport<Memory>>(3, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto const table = fleet.client().declare(spec);
    fleet.client().push(table, keys, std::vector<float>(8, 1)).wait();
    fleet.client().pull(table, keys, saved).wait();
    EXPECT_EQ(fleet.save_persistables(folder.native()), (folder / "pass-00000").native());
    fleet.client().push(table, keys, std::vector<float>(8, 1)).wait();
    EXPECT_EQ(fleet.save_persistables(folder.native()), (folder / "pass-00001").native());
    {
      CaughtLog const log;
      fleet.save_inference_model((folder / "model.npz").native());
      EXPECT_EQ(log.lines(),
                (std::vector<std::string>{concat("model in ", (folder / "model.npz").native(), ": 4 rows")}))
          << "an export is no checkpoint, and has no step";
    }
    EXPECT_TRUE(fs::exists(folder / "model.npz"));
    EXPECT_FALSE(fs::exists(folder / "model.npz.parts"));
    fleet.stop_worker();
  });
  spawn<Transport<Memory>>(2, 1, quick_options(), [&](auto& fleet) {
    fleet.init_worker();
    auto const table = fleet.client().declare(spec);
    fleet.load((folder / "pass-00000").native());
    fleet.client().pull(table, keys, loaded).wait();
    EXPECT_EQ(loaded, saved);
    fleet.load(folder.native());  // the newest
    fleet.client().pull(table, keys, loaded).wait();
    EXPECT_NE(loaded, saved);
    EXPECT_TRUE(holds(thrown([&] { fleet.load((folder / "nowhere").native()); }).what(), "no complete checkpoint"));
    EXPECT_TRUE(holds(thrown([&] { fleet.shrink(1); }).what(), "no table keeps statistics"));
    fleet.stop_worker();
  });
  fs::remove_all(folder);
}

TEST(Fleet, ShowsAndClicksReachTheRowsAndAShrinkTakesTheUnseenAway) {
  for (std::uint32_t const servers : {1U, 3U}) {
    spawn<Transport<Memory>>(servers, 1, quick_options(), [&](auto& fleet) {
      fleet.init_worker();
      auto& client = fleet.client();
      SparseSpec spec{.name = "rows", .dim = 1, .optimizer = Sgd{.rate = 1}, .init = Initializer::zeros()};
      spec.statistics = {.kept = true, .delete_below = 2, .unseen_days = 100};
      auto const table = client.declare(spec);
      std::vector<Key> const keys = {1, 2, 3, 4};
      std::vector<float> const shown = {5, 5, 5, 0, 100, 0, 1, 0};  // scores 5, .5, 10, .1
      client.push(table, keys, std::vector<float>(4, -1), 1, {}, shown).wait();
      fleet.shrink(1);
      std::vector<float> rows(4);
      // The rows go in slices behind the answer.
      auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      do {
        client.pull(table, keys, rows).wait();
      } while (rows != std::vector<float>{1, 0, 1, 0} && std::chrono::steady_clock::now() < deadline);
      EXPECT_EQ(rows, (std::vector<float>{1, 0, 1, 0}));
      auto const error =
          thrown([&] { client.push(table, keys, std::vector<float>(4, -1), 1, {}, std::vector<float>(7)).wait(); });
      EXPECT_TRUE(holds(error.what(), "7 shows and clicks for 4 keys"));
      for (float const wrong : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
        auto unfit = shown;
        unfit[5] = wrong;
        auto const refused = thrown([&] { client.push(table, keys, std::vector<float>(4, -1), 1, {}, unfit).wait(); });
        EXPECT_TRUE(holds(refused.what(), concat("prdist[config.invalid] push to table '", table.name,
                                                 "': the clicks of key ", keys[2], " are ", wrong)));
        EXPECT_TRUE(holds(refused.what(), ": give finite numbers"));
      }
      fleet.stop_worker();
    });
  }
}

// By way of minimize() the labels are the clicks: what was shown as often and never clicked goes.
TEST(Fleet, AModelsLabelsAreTheClicksOfItsRows) {
  for (std::size_t const parts : {1U, 2U}) {
    spawn<Strategy<Sync>, Transport<Memory>>(2, 1, quick_options(), [&](auto& fleet) {
      RowPolicy policy;
      policy.statistics = {.kept = true, .delete_below = 1, .unseen_days = 100};
      auto optimizer = fleet.distributed_optimizer(Optimizers{Sgd{.rate = 1}, Sgd{.rate = 1}, policy});
      fleet.init_worker();
      nn::LogisticRegression const model{.slots = 1, .dense = 1};
      Batch batch{.slots = 1, .dense_dim = 1, .labels = {1, 0, 1, 0}, .dense = {0, 0, 0, 0}, .keys = {1, 2, 1, 2}};
      for (std::uint32_t const end : {1U, 2U, 3U, 4U}) batch.offsets.push_back(end);
      bool read = false;
      auto const next = [&]() -> std::optional<Batch> {
        if (std::exchange(read, true)) return std::nullopt;
        return batch;
      };
      optimizer.train(model, next, [](double, std::size_t) {}, {.threads = 1, .micro_batches = parts});
      optimizer.settle();
      fleet.shrink(1);  // scores: two clicks, and two shows at a tenth each
      auto const input = model.sparse_inputs().front();
      SparseRef const table{table_id(input.name), input.dim, input.name};
      std::vector<Key> const keys = {1, 2};
      std::vector<float> rows(2);
      auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      do {
        fleet.client().pull(table, keys, rows).wait();
      } while (rows[1] != 0 && std::chrono::steady_clock::now() < deadline);
      EXPECT_NE(rows[0], 0);
      EXPECT_EQ(rows[1], 0) << "it was shown twice and never clicked, in " << parts << " parts";
      fleet.stop_worker();
    });
  }
}

TEST(Fleet, AtTheMemoryCeilingPushesAreRefusedAndPullsGoOn) {
  auto options = quick_options();
  options.server_memory = std::size_t{8} << 20;
  spawn<Transport<Memory>>(1, 1, options, [&](auto& fleet) {
    fleet.init_worker();
    auto& client = fleet.client();
    auto const table = client.declare(SparseSpec{.name = "rows", .dim = 64, .optimizer = Adam{}});
    std::string said;
    std::vector<float> const gradients(1000 * 64, 1);
    std::vector<Key> keys(1000);
    for (Key first = 0; said.empty() && first < 1000000; first += 1000) {
      for (std::size_t i = 0; i < 1000; ++i) keys[i] = first + i;
      try {
        client.push(table, keys, gradients).wait();
      } catch (Error const& error) {
        EXPECT_EQ(error.code(), Errc::table_memory);
        said = error.what();
      }
    }
    EXPECT_FALSE(said.empty());
    EXPECT_TRUE(holds(said, "rows")) << said;
    std::vector<float> rows(1000 * 64);
    client.pull(table, keys, rows).wait();
    fleet.stop_worker();
  });
}

}  // namespace
}  // namespace prdist::test
