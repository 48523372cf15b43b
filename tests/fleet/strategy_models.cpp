// Each strategy against its definition, on the executor: real servers, clients and optimizers, in hundreds of orders.
// The weights count: gradient -1 at a thread's own place with SGD at rate 1 makes a pulled row the vector of how many
// steps of everybody are in it. So every step writes down exactly what it has seen.
#include <prdist/fleet/distributed_optimizer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "../support/executor.hpp"
#include "../support/random.hpp"

namespace prdist::test {
namespace {

struct OneRow {
  std::vector<Key> keys{7};
  [[nodiscard]] std::size_t size() const { return 1; }
};

using Counts = std::vector<double>;

/// Sees counts, adds one to its own.
struct Counting {
  std::size_t members = 2;
  std::size_t me = 0;
  double by = 1;
  std::vector<Counts>* saw_rows = nullptr;
  std::vector<Counts>* saw_dense = nullptr;

  std::vector<SparseInput> sparse_inputs() const { return {{"rows", members, Initializer::zeros()}}; }
  std::vector<DensePart> dense_parts() const { return {{"dense", members, Initializer::zeros()}}; }
  std::span<Key const> keys(OneRow const& batch, std::size_t) const { return batch.keys; }
  double gradients(OneRow const&, StepView const& view) {
    saw_rows->emplace_back(view.rows[0].begin(), view.rows[0].end());
    saw_dense->emplace_back(view.dense.begin(), view.dense.end());
    view.row_gradients[0][me] = static_cast<float>(-by);
    view.dense_gradient[me] = static_cast<float>(-by);
    return 0;
  }
};

/// What each member saw in each of its steps.
struct History {
  std::vector<std::vector<Counts>> rows, dense;
  Counts last_row, last_dense;
};

template <class StrategyChoice>
struct Scenario {
  StrategyChoice strategy;
  std::uint32_t servers = 2;
  std::uint32_t trainers = 2;
  std::size_t lanes = 1;
  std::vector<std::size_t> steps = {8, 8};  // of each member; a trainer has `lanes` of them
  double by = 1;
  bool asks_ahead = false;  // each step knows the batch of the next
};

/// Runs it in an order, and looks at the servers at the end.
template <class StrategyChoice>
History play(
    Scenario<StrategyChoice> const& it, Executor::Choose const& choose,
    std::function<bool()> const& eager = [] { return true; }, SimulatedJob* given = nullptr) {
  std::optional<SimulatedJob> own;
  if (given == nullptr) own.emplace(it.servers, it.trainers);
  auto& job = given != nullptr ? *given : *own;
  using OptimizerOf = DistributedOptimizer<StrategyChoice, Cpu>;
  auto const members = it.trainers * it.lanes;
  History history{std::vector<std::vector<Counts>>(members), std::vector<std::vector<Counts>>(members), {}, {}};
  std::vector<std::unique_ptr<OptimizerOf>> optimizers(it.trainers);
  std::vector<std::size_t> lanes_left(it.trainers, it.lanes);
  std::vector<std::unique_ptr<Gate>> connected;
  for (std::uint32_t trainer = 0; trainer < it.trainers; ++trainer) connected.push_back(std::make_unique<Gate>());
  Optimizers const rules{Sgd{.rate = 1}, Sgd{.rate = 1}};
  for (std::uint32_t trainer = 0; trainer < it.trainers; ++trainer) {
    for (std::size_t lane = 0; lane < it.lanes; ++lane) {
      job.executor.add([&, trainer, lane] {
        auto const member = trainer * it.lanes + lane;
        if (lane == 0) {
          job.connect(trainer);
          optimizers[trainer] = std::make_unique<OptimizerOf>(job.clients[trainer], rules, it.strategy, Cpu{}, 0);
          optimizers[trainer]->use_threads(it.lanes);
          optimizers[trainer]->prepare(Counting{members});
          connected[trainer]->open();
        }
        while (!job.executor.wait(*connected[trainer], job.executor.now() + std::chrono::hours(1))) {
        }
        Counting model{members, member, it.by, &history.rows[member], &history.dense[member]};
        for (std::size_t step = 0; step < it.steps[member]; ++step) {
          OneRow const following;
          bool const asks = it.asks_ahead && step + 1 < it.steps[member];
          optimizers[trainer]->minimize(model, OneRow{}, lane, asks ? &following : nullptr);
        }
        optimizers[trainer]->leave(lane);
        if (--lanes_left[trainer] > 0) return;
        optimizers[trainer]->finish();
        auto& client = *job.clients[trainer];
        client.barrier("end");
        if (trainer == 0) {
          std::vector<float> row(members);
          std::vector<Key> const keys{7};
          client.pull(SparseRef{table_id("rows"), members, "rows"}, keys, row).wait();
          history.last_row.assign(row.begin(), row.end());
          auto const dense = optimizers[trainer]->dense_weights();
          history.last_dense.assign(dense.begin(), dense.end());
        }
        client.barrier("seen");
        client.leave();
      });
    }
  }
  job.executor.run(choose, eager);
  return history;
}

Executor::Choose random_choice(std::uint64_t seed) {
  return [state = std::make_shared<std::uint64_t>(seed)](std::vector<std::size_t> const& ready) {
    return ready[mix(++*state * 0x9e3779b97f4a7c15) % ready.size()];
  };
}

std::function<bool()> random_eagerness(std::uint64_t seed) {
  return [state = std::make_shared<std::uint64_t>(~seed)] { return mix(++*state * 0x9e3779b97f4a7c15) % 3 != 0; };
}

/// Whoever stands first in `order` and can go on does.
Executor::Choose prefer(std::vector<std::size_t> order) {
  return [order = std::move(order)](std::vector<std::size_t> const& ready) {
    for (auto const each : order) {
      if (std::find(ready.begin(), ready.end(), each) != ready.end()) return each;
    }
    return ready.front();
  };
}

constexpr std::uint64_t orders = 60;

template <class StrategyChoice, class Check>
void in_many_orders(Scenario<StrategyChoice> const& it, Check const& check) {
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    SCOPED_TRACE(seed);
    check(play(it, random_choice(seed), random_eagerness(seed)));
    if (::testing::Test::HasFailure()) return;
  }
}

Counts as_counts(std::vector<std::size_t> const& steps) {
  return {steps.begin(), steps.end()};
}

TEST(SyncModel, EveryStepSeesEveryEarlierStepOfEverybodyAndNothingElse) {
  in_many_orders(Scenario<Sync>{.strategy = {}}, [](History const& history) {
    for (auto const& member : history.rows) {
      for (std::size_t step = 0; step < member.size(); ++step) {
        EXPECT_EQ(member[step], Counts(2, static_cast<double>(step) / 2));  // the mean of both trainers
      }
    }
    EXPECT_EQ(history.rows, history.dense);
    EXPECT_EQ(history.last_row, Counts(2, 4));
  });
}

TEST(SyncModel, ATrainerThatRunsOutIsNotWaitedFor) {
  in_many_orders(Scenario<Sync>{.strategy = {}, .steps = {2, 6}}, [](History const& history) {
    EXPECT_EQ(history.rows[1].size(), 6U);
    EXPECT_EQ(history.last_row, (Counts{1, 5}));  // two halves, then four whole ones
  });
}

TEST(AsyncModel, SeesItsOwnStepsAtOnceAndThoseOfOthersWhenTheyArrive) {
  in_many_orders(Scenario<Async>{.strategy = {}, .trainers = 3, .steps = {8, 3, 6}}, [](History const& history) {
    for (std::size_t member = 0; member < 3; ++member) {
      Counts before(3, 0);
      for (std::size_t step = 0; step < history.rows[member].size(); ++step) {
        auto const& saw = history.rows[member][step];
        EXPECT_EQ(saw[member], step);
        for (std::size_t other = 0; other < 3; ++other) EXPECT_GE(saw[other], before[other]);
        before = saw;
      }
    }
    EXPECT_EQ(history.last_row, as_counts({8, 3, 6}));
    EXPECT_EQ(history.last_dense, as_counts({8, 3, 6}));
  });
}

TEST(AsyncModel, WhatIsAskedForAheadMissesTheStepThatComputesMeanwhileAndNoOther) {
  Scenario<Async> const it{.strategy = {}, .trainers = 3, .steps = {8, 3, 6}, .asks_ahead = true};
  in_many_orders(it, [](History const& history) {
    for (std::size_t member = 0; member < 3; ++member) {
      Counts before(3, 0);
      for (std::size_t step = 0; step < history.rows[member].size(); ++step) {
        auto const& saw = history.rows[member][step];
        EXPECT_EQ(saw[member], step == 0 ? 0 : step - 1);
        for (std::size_t other = 0; other < 3; ++other) EXPECT_GE(saw[other], before[other]);
        before = saw;
        EXPECT_EQ(history.dense[member][step][member], saw[member]);
      }
    }
    EXPECT_EQ(history.last_row, as_counts({8, 3, 6}));
    EXPECT_EQ(history.last_dense, as_counts({8, 3, 6}));
  });
}

TEST(AsyncModel, NobodyWaitsForAnybody) {
  // Trainer 0 goes first whenever it can: it is through before trainer 1 has taken a step.
  auto const history = play(Scenario<Async>{.strategy = {}}, prefer({0, 1}));
  for (auto const& saw : history.rows[0]) EXPECT_EQ(saw[1], 0);
  EXPECT_EQ(history.rows[1].front()[0], 8);
}

TEST(AsyncModel, MergedPushesLoseNothing) {
  in_many_orders(Scenario<Async>{.strategy = {.send_queue_size = 6, .max_merge_var_num = 4}, .steps = {9, 5}},
                 [](History const& history) {
                   EXPECT_EQ(history.last_row, as_counts({9, 5}));  // SGD: the sum
                   EXPECT_EQ(history.last_dense, as_counts({9, 5}));
                   for (std::size_t step = 0; step < 9; ++step) {
                     EXPECT_LE(history.rows[0][step][0], step);
                     EXPECT_GE(history.rows[0][step][0] + 6, step) << "more than the queue holds is missing";
                   }
                 });
}

TEST(AsyncModel, SoManyPushesLeaveAsOne) {
  SimulatedJob job(1, 1);
  Scenario<Async> const it{.strategy = {.send_queue_size = 6, .max_merge_var_num = 4}, .trainers = 1, .steps = {9}};
  auto const history = play(
      it, prefer({0}), [] { return true; }, &job);
  EXPECT_EQ(history.last_row, as_counts({9}));
  std::string page;
  job.servers[0]->page("/v1/tables", [&](Page const& answer) { page = answer.json; });
  EXPECT_NE(page.find("\"pushes\":3,"), std::string::npos) << page;  // four, four, and the rest
}

TEST(HalfAsyncModel, ThreadsStepTogetherAndTrainersDoNot) {
  // Two trainers with four threads each. A thread sees all of its own trainer's rounds, and whole rounds of the other.
  Scenario<HalfAsync> const it{.strategy = {}, .trainers = 2, .lanes = 4, .steps = {5, 5, 5, 5, 5, 5, 5, 5}, .by = 4};
  in_many_orders(it, [](History const& history) {
    for (std::size_t member = 0; member < 8; ++member) {
      auto const first = member / 4 * 4;
      for (std::size_t round = 0; round < 5; ++round) {
        auto const& saw = history.rows[member][round];
        for (std::size_t mate = first; mate < first + 4; ++mate) EXPECT_EQ(saw[mate], round);
        for (std::size_t other = 4 - first; other < 8 - first; ++other) EXPECT_EQ(saw[other], saw[4 - first]);
      }
    }
    EXPECT_EQ(history.last_row, Counts(8, 5));
    EXPECT_EQ(history.last_dense, Counts(8, 5));
  });
  auto const history = play(it, prefer({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(history.rows[0].back()[4], 0) << "trainer 0 has waited for trainer 1";
}

TEST(HalfAsyncModel, AThreadThatRunsOutLeavesTheOthersGoOn) {
  Scenario<HalfAsync> const it{.strategy = {}, .trainers = 1, .lanes = 3, .steps = {1, 4, 6}, .by = 6};
  in_many_orders(it, [](History const& history) {
    // The mean of three, then of two, then of one: 6/3, 6/2 and 6.
    EXPECT_EQ(history.last_row, (Counts{2, 2 + 3 * 3, 2 + 3 * 3 + 2 * 6}));
    EXPECT_EQ(history.rows[2].size(), 6U);
  });
}

TEST(SspModel, NobodyIsMoreThanTheBoundAheadOfTheSlowest) {
  for (std::uint64_t const bound : {0U, 1U, 3U}) {
    Scenario<Ssp> const it{.strategy = {.staleness = bound}, .trainers = 3, .steps = {8, 8, 8}};
    auto const check = [&](History const& history) {
      for (std::size_t member = 0; member < 3; ++member) {
        for (std::size_t step = 0; step < 8; ++step) {
          auto const& saw = history.rows[member][step];
          EXPECT_EQ(saw[member], step);
          for (auto const other : saw) EXPECT_GE(other + static_cast<double>(bound), step) << "bound " << bound;
        }
      }
      EXPECT_EQ(history.last_row, Counts(3, 8));
    };
    in_many_orders(it, check);
    // The bound is reached, not only kept: trainer 0 runs as far ahead as it may.
    auto const greedy = play(it, prefer({0, 1, 2}));
    check(greedy);
    EXPECT_EQ(greedy.rows[0][bound][2], 0) << "bound " << bound;
  }
}

TEST(SspModel, ThreadsOfATrainerCountEach) {
  Scenario<Ssp> const it{.strategy = {.staleness = 1}, .trainers = 2, .lanes = 2, .steps = {6, 6, 6, 6}};
  in_many_orders(it, [](History const& history) {
    for (std::size_t member = 0; member < 4; ++member) {
      for (std::size_t step = 0; step < 6; ++step) {
        for (auto const other : history.rows[member][step]) EXPECT_GE(other + 1, step);
      }
    }
  });
}

TEST(SspModel, WhoRunsOutOrIsLostIsNotWaitedFor) {
  in_many_orders(Scenario<Ssp>{.strategy = {.staleness = 1}, .trainers = 2, .steps = {2, 9}},
                 [](History const& history) {
                   EXPECT_EQ(history.last_row, as_counts({2, 9}));
                 });
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    SimulatedJob job(1, 2);
    std::size_t finished = 0;
    for (std::uint32_t trainer = 0; trainer < 2; ++trainer) {
      job.executor.add([&, trainer] {
        auto& client = job.connect(trainer);
        for (std::uint64_t step = 1; step <= (trainer == 0 ? 2U : 9U); ++step) {
          while (!client.tick(0, 1, step, 1)) {
          }
          finished += trainer;
        }
        if (trainer == 0) job.clients[0].reset();  // no goodbye
        if (trainer == 1) client.leave();
      });
    }
    job.executor.run(random_choice(seed), random_eagerness(seed));
    EXPECT_EQ(finished, 9U);
  }
}

TEST(SspModel, AWaitLongerThanTheDeadlineIsNoError) {
  SimulatedJob job(1, 2);
  bool through = false;
  Gate wait;
  job.executor.add([&] {
    auto& client = job.connect(0);
    std::size_t asked = 1;
    while (!client.tick(0, 1, 1, 0)) ++asked;
    through = true;
    EXPECT_GT(asked, 3U);  // the call has a deadline of a minute
    client.leave();
  });
  job.executor.add([&] {
    auto& client = job.connect(1);
    EXPECT_FALSE(job.executor.wait(wait, job.executor.now() + std::chrono::minutes(5)));
    EXPECT_FALSE(through);
    EXPECT_TRUE(client.tick(0, 1, 1, 0));
    client.leave();
  });
  job.executor.run(random_choice(1));
  EXPECT_TRUE(through);
}

TEST(SspModel, AWaitingTrainerCanBeCalledAway) {
  SimulatedJob job(1, 2);
  std::string order;
  job.executor.add([&] {
    auto& client = job.connect(0);
    bool const go = client.tick(0, 1, 1, 0);
    order += go ? "go " : "called ";
    EXPECT_TRUE(client.tick(0, 1, 1, 0));
    order += "go ";
    client.leave();
  });
  job.executor.add([&] {
    auto& client = job.connect(1);
    Gate pause;
    (void)job.executor.wait(pause, job.executor.now() + std::chrono::seconds(1));
    job.servers[0]->release_clocks();
    (void)job.executor.wait(pause, job.executor.now() + std::chrono::seconds(1));
    order += "other ";
    EXPECT_TRUE(client.tick(0, 1, 1, 0));
    client.leave();
  });
  job.executor.run(prefer({0, 1}));
  EXPECT_EQ(order, "called other go ");
}

TEST(GeoModel, BetweenExchangesATrainerSeesItselfAlone) {
  Scenario<Geo> const it{.strategy = {.push_interval = 3}, .trainers = 2, .steps = {9, 7}};
  in_many_orders(it, [](History const& history) {
    for (std::size_t member = 0; member < 2; ++member) {
      auto const other = 1 - member;
      for (std::size_t step = 0; step < history.rows[member].size(); ++step) {
        auto const& saw = history.rows[member][step];
        EXPECT_EQ(saw[member], step);  // all it has learned itself, whatever was sent
        auto const unchanged = step % 3 == 0 || saw[other] == history.rows[member][step - 1][other];
        EXPECT_TRUE(unchanged) << "between exchanges, at step " << step;
      }
    }
    EXPECT_EQ(history.rows[0].size(), history.dense[0].size());
    // What was held back came with the end: nothing is lost.
    EXPECT_EQ(history.last_row, as_counts({9, 7}));
    EXPECT_EQ(history.last_dense, as_counts({9, 7}));
  });
}

TEST(GeoModel, SendsItsDifferenceDividedByTheTrainers) {
  // Trainer 0 first as far as it goes, so the order is known: it exchanges at its steps 2, 4, 6 before 1 begins.
  auto const history =
      play(Scenario<Geo>{.strategy = {.push_interval = 2}, .trainers = 2, .steps = {6, 4}}, prefer({0, 1}));
  for (auto const& saw : history.rows[0]) EXPECT_EQ(saw[1], 0);
  // Written out: after each exchange half of what was not yet sent is; at the end of trainer 0 all is.
  double sent = 0;
  for (double own = 2; own <= 6; own += 2) sent += (own - sent) / 2;
  EXPECT_EQ(sent, 4.25);
  // Trainer 0 has finished (and sent the rest) before trainer 1 reads its first row.
  EXPECT_EQ(history.rows[1].front(), (Counts{6, 0}));
  EXPECT_EQ(history.last_row, (Counts{6, 4}));
}

TEST(GeoModel, TakesInWhatOthersSentAndKeepsItsOwn) {
  // In turns: both take a step, then 0 its second, 1 its second, 0 two more; every second step ends in an exchange.
  SimulatedJob job(2, 2);
  History history{{{}, {}}, {{}, {}}, {}, {}};
  for (std::uint32_t trainer = 0; trainer < 2; ++trainer) {
    job.executor.add([&, trainer] {
      auto& client = job.connect(trainer);
      Optimizers const rules{Sgd{.rate = 1}, Sgd{.rate = 1}};
      DistributedOptimizer<Geo, Cpu> optimizer(job.clients[trainer], rules, Geo{.push_interval = 2}, Cpu{}, 0);
      Counting model{2, trainer, 1, &history.rows[trainer], &history.dense[trainer]};
      auto const steps = [&](std::uint32_t who, int count) {
        for (int i = 0; i < count && who == trainer; ++i) optimizer.minimize(model, OneRow{});
        client.barrier("turn");
      };
      steps(0, 1);
      steps(1, 1);
      steps(0, 1);
      steps(1, 2);
      steps(0, 3);
      optimizer.finish();
      client.barrier("end");
      client.leave();
    });
  }
  job.executor.run(random_choice(3));
  // 0 sent half of its two steps, and 1 took that in at its own exchange.
  EXPECT_EQ(history.rows[1], (std::vector<Counts>{{0, 0}, {0, 1}, {1, 2}}));
  // 0 learns on by itself, and takes in half of the other's two steps at its next exchange.
  EXPECT_EQ(history.rows[0], (std::vector<Counts>{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 1}}));
  EXPECT_EQ(history.rows, history.dense);
}

}  // namespace
}  // namespace prdist::test
