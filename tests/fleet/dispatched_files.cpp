// Elastic jobs on virtual time: trainers come, leave and are lost in any order, and every file is trained.
#include <prdist/fleet/dispatched_files.hpp>

#include <gtest/gtest.h>

#include <set>

#include "../support/executor.hpp"
#include "../support/random.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

using namespace std::chrono_literals;

Executor::Choose random_choice(std::uint64_t seed) {
  return [random = std::make_shared<Random>(seed)](std::vector<std::size_t> const& ready) {
    return ready[random->below(ready.size())];
  };
}

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(concat("part-", i));
  return all;
}

/// An elastic job whose servers' exit codes are known when run() is back.
struct ElasticJob : SimulatedJob {
  ElasticJob(std::uint32_t server_count, std::uint32_t trainers, Elastic range)
      : SimulatedJob(server_count, trainers, range), codes(server_count, -1) {
    for (std::uint32_t i = 0; i < server_count; ++i) {
      executor.add([this, i] { codes[i] = servers[i]->wait(); });
    }
  }
  void run(std::uint64_t seed = 1) { executor.run(random_choice(seed)); }
  void pause(Duration time) {
    Gate never;
    (void)executor.wait(never, executor.now() + time);
  }
  /// As one that is killed.
  void lose(std::uint32_t trainer) { clients[trainer].reset(); }

  std::vector<int> codes;
};

SparseSpec counts() {
  SparseSpec spec{.name = "counts", .dim = 1, .optimizer = Sgd{.rate = 1}};
  spec.init = Initializer::zeros();
  return spec;
}

}  // namespace

TEST(DispatchedFiles, EveryFileIsTrainedWhoeverComesAndGoes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    std::uint32_t const max = 4;
    std::uint32_t const epochs = 1 + static_cast<std::uint32_t>(random.below(2));
    std::size_t const files = 3 + random.below(8);
    ElasticJob job(2, 2, {1, max});
    std::vector<float> trained(files * epochs);
    std::size_t done = 0;
    // Each id has a row of lives; all but the last end early, by leaving or by getting lost.
    for (std::uint32_t id = 0; id < max; ++id) {
      job.executor.add([&, id] {
        if (id >= 2) job.pause(1s * static_cast<int>(random.below(5)));
        for (auto lives = random.below(3);; --lives) {
          auto& client = job.connect(id);
          auto const table = client.declare(counts());
          DispatchedFiles own(client, names(files), {.epochs = epochs, .shuffle = 5});
          auto left = lives > 0 ? random.below(4) : 1000;
          std::optional<DispatchedFile> file;
          while ((file = own.take()) && left-- > 0) {
            client.push(table, std::vector<Key>{file->task}, std::vector<float>{-1}).wait();
            own.done(*file);
            ++done;
            if (random.below(3) == 0) job.pause(1s * static_cast<int>(random.below(3)));
          }
          if (own.over()) {
            once(client, "look", [&] {
              std::vector<Key> keys(trained.size());
              for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
              client.pull(table, keys, trained).wait();
              return std::string();
            });
            return client.leave();
          }
          // It has a file in hand, and may have trained on it.
          if (random.below(2) == 0) client.push(table, std::vector<Key>{file->task}, std::vector<float>{-1}).wait();
          random.below(2) == 0 ? client.leave(false) : job.lose(id);
          job.pause(1s * static_cast<int>(random.below(3)));
        }
      });
    }
    job.run(seed);
    EXPECT_EQ(job.codes, (std::vector<int>{0, 0})) << seed;
    EXPECT_EQ(done, files * epochs) << seed;
    for (auto const times : trained) EXPECT_GE(times, 1) << seed;
  }
}

TEST(DispatchedFiles, TheOrderIsTheSeedsAndTheEpochs) {
  auto const order = [](std::optional<std::uint64_t> shuffle) {
    std::vector<std::string> read;
    ElasticJob job(1, 1, {1, 1});
    job.executor.add([&] {
      auto& client = job.connect(0);
      DispatchedFiles files(client, names(6), {.epochs = 2, .shuffle = shuffle});
      while (auto const file = files.take()) {
        EXPECT_EQ(file->epoch, read.size() / 6);
        read.push_back(file->name);
        files.done(*file);
      }
      client.leave();
    });
    job.run();
    return read;
  };
  auto twice = names(6);
  for (auto const& name : names(6)) twice.push_back(name);
  EXPECT_EQ(order(std::nullopt), twice);
  auto const shuffled = order(3);
  EXPECT_EQ(shuffled, order(3));
  EXPECT_NE(shuffled, order(4));
  ASSERT_EQ(shuffled.size(), 12U);
  EXPECT_EQ(std::set(shuffled.begin(), shuffled.begin() + 6).size(), 6U);
  EXPECT_EQ(std::set(shuffled.begin() + 6, shuffled.end()).size(), 6U);
  EXPECT_FALSE(std::equal(shuffled.begin(), shuffled.begin() + 6, shuffled.begin() + 6));
}

TEST(DispatchedFiles, AnotherListIsRefused) {
  ElasticJob job(1, 1, {1, 2});
  job.executor.add([&] {
    auto& client = job.connect(0);
    DispatchedFiles files(client, names(2), {});
    EXPECT_TRUE(files.take());
    auto& other = job.connect(1);
    DispatchedFiles theirs(other, {"part-1", "part-0"}, {});
    auto const error = thrown([&] { (void)theirs.take(); });
    EXPECT_EQ(error.code(), Errc::config_contradiction);
    EXPECT_TRUE(std::string(error.what())
                    .find("under other names or in another order: give every trainer the same "
                          "files") != std::string::npos)
        << error.what();
    other.leave(false);
    client.leave();
  });
  job.run();
  EXPECT_EQ(job.codes, std::vector<int>{0});
}

TEST(ElasticServer, WhoLeavesEarlyHasNotFinishedTheWork) {
  ElasticJob job(2, 1, {1, 2});
  TimePoint ended;
  job.executor.add([&] {
    job.connect(0).leave(false);
    job.pause(100s);  // less than the job waits
    job.connect(1).leave();
    ended = job.executor.now();
  });
  job.run();
  EXPECT_EQ(job.codes, (std::vector<int>{0, 0}));
  EXPECT_GE(ended, TimePoint{} + 100s);
}

TEST(ElasticServer, TooFewForTooLongIsTheEnd) {
  ElasticJob job(1, 2, {2, 3});
  TimePoint ended;
  job.executor.add([&] {
    job.connect(0);
    job.connect(2);
    job.lose(2);
    while (job.codes[0] < 0) job.pause(1s);
    ended = job.executor.now();
    job.lose(0);
  });
  job.run();
  EXPECT_EQ(job.codes, std::vector<int>{75});
  EXPECT_GE(ended, TimePoint{} + 120s);
  EXPECT_LE(ended, TimePoint{} + 125s);
}

TEST(ElasticServer, WaitsLongerUntilEnoughHaveComeOnce) {
  ElasticJob job(1, 2, {2, 2});
  TimePoint ended;
  job.executor.add([&] {
    job.connect(0);
    while (job.codes[0] < 0) job.pause(1s);
    ended = job.executor.now();
    job.lose(0);
  });
  job.run();
  EXPECT_EQ(job.codes, std::vector<int>{75});
  EXPECT_GE(ended, TimePoint{} + 30min);
}

TEST(ElasticServer, AnIdIsWaitedForUntilItsOwnerIsGone) {
  ElasticJob job(2, 1, {1, 2});
  bool left = false;
  std::optional<Client> next;
  job.executor.add([&] {
    auto& client = job.connect(0);
    job.pause(20s);
    left = true;
    client.leave(false);
  });
  job.executor.add([&] {
    job.pause(1s);
    ClientOptions options = job.clients[0]->options();
    next.emplace(
        job.executor,
        [memory = Memory(job.executor.hub)](Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
                                            Duration timeout) mutable {
          return memory.connect(endpoint, std::move(sink), timeout);
        },
        options);
    next->connect();
    EXPECT_TRUE(left);
    job.pause(10s);
    next->barrier("still here");  // its owner's connections have ended meanwhile
    next->leave();
  });
  job.run();
  EXPECT_EQ(job.codes, (std::vector<int>{0, 0}));
}

TEST(ElasticServer, AMeetingWaitsForThoseThatAreThere) {
  ElasticJob job(1, 3, {1, 4});
  int met = 0;
  for (std::uint32_t id : {0U, 1U}) {
    job.executor.add([&, id] {
      auto& client = job.connect(id);
      job.pause(1s);
      client.barrier("all");
      ++met;
      client.leave();
    });
  }
  job.executor.add([&] {
    job.connect(3);
    job.pause(10s);
    EXPECT_EQ(met, 0);
    job.lose(3);  // in a job of a fixed number, that ends the meeting with an error
  });
  job.run();
  EXPECT_EQ(met, 2);
  EXPECT_EQ(job.codes, std::vector<int>{0});
}

TEST(ElasticServer, RefusesWhatCountsItsTrainers) {
  ElasticJob job(1, 1, {1, 2});
  job.executor.add([&] {
    auto& client = job.connect(0);
    for (auto const rule : {ApplyRule::gather, ApplyRule::add}) {
      auto spec = counts();
      spec.apply = rule;
      if (rule == ApplyRule::add) spec.optimizer = Sgd{.rate = -1};
      EXPECT_EQ(thrown([&] { (void)client.declare(spec); }).message(),
                "server 0: trainer 0 declares table 'counts' for a strategy that counts its trainers, in an elastic "
                "job: use async or half_async");
    }
    EXPECT_EQ(thrown([&] { (void)client.tick(0, 1, 1, 0); }).message(),
              "trainer 0 counts its steps with the others', in an elastic job: use async or half_async");
    client.leave();
  });
  job.run();
}

TEST(Once, AnotherDoesItWhenTheFirstIsLost) {
  ElasticJob job(1, 3, {1, 3});
  int begun = 0, ended = 0;
  for (std::uint32_t id = 0; id < 3; ++id) {
    job.executor.add([&, id] {
      auto& client = job.connect(id);
      bool lost = false;
      try {
        auto const text = once(client, "it", [&] {
          if (++begun < 3) {
            job.pause(40s);
            lost = true;
            throw std::runtime_error("killed");
          }
          ++ended;
          return concat("by ", id);
        });
        EXPECT_EQ(text, concat("by ", id));
      } catch (std::runtime_error const&) {
      }
      lost ? job.lose(id) : client.leave();
    });
  }
  job.run();
  EXPECT_EQ(begun, 3);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(job.codes, std::vector<int>{0});
}

}  // namespace prdist::test
