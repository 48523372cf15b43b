// Each strategy against its definition, on the executor: real servers, clients and optimizers, in hundreds of orders.
// The weights count: gradient -1 at a thread's own place with SGD at rate 1 makes a pulled row the vector of how many
// steps of everybody are in it. So every step writes down exactly what it has seen.
#include <prdist/fleet/distributed_optimizer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "../support/executor.hpp"
#include "../support/random.hpp"
#include "../support/thrown.hpp"

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
  Optimizer rule = Sgd{.rate = 1};
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
  Optimizers const rules{it.rule, it.rule};
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

/// Async on tables that acknowledge a push only when the other trainer's has come: a network that stalls.
struct Stalled {
  Async order;
  static constexpr std::string_view name = "stalled";
  static constexpr ApplyRule apply = ApplyRule::gather;
  void step(Step& it) const { order.step(it); }
};

TEST(AsyncModel, AThreadStopsWhenSoManyPushesAreNotAcknowledged) {
  for (std::size_t const bound : {0U, 1U, 2U, 5U}) {
    Scenario<Stalled> const it{.strategy = {{.send_queue_size = bound}}};
    auto const check = [&](History const& history) {
      for (auto const& member : history.rows) {
        for (std::size_t step = 0; step < member.size(); ++step) {
          auto const acknowledged = 2 * member[step][0];  // each step of both is half of one's
          EXPECT_GE(acknowledged + static_cast<double>(bound), step) << "bound " << bound;
        }
      }
      EXPECT_EQ(history.last_row, Counts(2, 4));
    };
    in_many_orders(it, check);
    // It goes as far as it may, and not only as far as it must.
    auto const greedy = play(it, prefer({0, 1}));
    check(greedy);
    EXPECT_EQ(greedy.rows[0][bound], Counts(2, 0)) << "bound " << bound;
  }
}

TEST(AsyncModel, MergedPushesOfOtherRulesAreTheirMean) {
  // Without momentum it is plain SGD by another name. Nine gradients of one: three pushes, each a mean of ones.
  Scenario<Async> const it{.strategy = {.send_queue_size = 6, .max_merge_var_num = 4},
                           .steps = {9, 5},
                           .rule = Momentum{.rate = 1, .momentum = 0}};
  in_many_orders(it, [](History const& history) {
    EXPECT_EQ(history.last_row, as_counts({3, 2}));
    EXPECT_EQ(history.last_dense, as_counts({3, 2}));
  });
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

TEST(AsyncModel, NoMoreLeaveAsOneThanTheQueueHoldsAndTheOneThatComes) {
  SimulatedJob job(1, 1);
  Scenario<Async> const it{.strategy = {.send_queue_size = 2, .max_merge_var_num = 100}, .trainers = 1, .steps = {9}};
  auto const history = play(
      it, prefer({0}), [] { return true; }, &job);
  EXPECT_EQ(history.last_row, as_counts({9}));
  std::string page;
  job.servers[0]->page("/v1/tables", [&](Page const& answer) { page = answer.json; });
  EXPECT_NE(page.find("\"pushes\":3,"), std::string::npos) << page;  // three, three, three
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

// Threads that paused begin together again: none can take a step before the others are waited for.
TEST(HalfAsyncModel, NobodyMeetsAloneAfterAPause) {
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    SCOPED_TRACE(seed);
    Executor executor;
    Meeting steps(executor), pauses(executor);
    std::vector<std::set<std::size_t>> met;
    std::size_t paused = 0;
    for (std::size_t lane = 0; lane < 3; ++lane) steps.join(lane);
    for (std::size_t lane = 0; lane < 3; ++lane) pauses.join(lane);
    for (std::size_t lane = 0; lane < 3; ++lane) {
      executor.add([&, lane] {
        for (int step = 0; step < 6; ++step) {
          if (step % 2 == 1) meet_aside(steps, pauses, lane, [&](auto const&) { ++paused; });
          steps.meet(lane, [&](auto const& here) { met.push_back(here); });
        }
      });
    }
    executor.run(random_choice(seed));
    EXPECT_EQ(paused, 3U);
    EXPECT_EQ(met, std::vector<std::set<std::size_t>>(6, {0, 1, 2}));
    if (::testing::Test::HasFailure()) return;
  }
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

// With fewer batches than threads some leave before the first clock has gone: nobody may wait for them either.
TEST(SspModel, AThreadWithoutABatchIsNotWaitedFor) {
  Scenario<Ssp> const it{.strategy = {.staleness = 0}, .trainers = 1, .lanes = 3, .steps = {1, 0, 0}};
  in_many_orders(it, [](History const& history) { EXPECT_EQ(history.last_row, as_counts({1, 0, 0})); });
  auto const late = play(it, prefer({1, 2, 0}));
  EXPECT_EQ(late.last_row, as_counts({1, 0, 0}));
}

/// Waits for the others, and does not say so.
struct Undeclared {
  static constexpr std::string_view name = "undeclared";
  static constexpr ApplyRule apply = ApplyRule::immediate;
  void step(Step& it) const { it.tick(0); }
};

TEST(SspModel, AStrategyThatWaitsForOthersHasToSaySo) {
  SimulatedJob job(1, 1);
  job.executor.add([&] {
    auto& client = job.connect(0);
    Optimizers const rules{Sgd{.rate = 1}, Sgd{.rate = 1}};
    DistributedOptimizer<Undeclared, Cpu> optimizer(job.clients[0], rules, Undeclared{}, Cpu{}, 0);
    Counting model{1};
    EXPECT_EQ(
        std::string_view(thrown([&] { optimizer.minimize(model, OneRow{}); }).what()),
        std::string_view("prdist[job.state] strategy 'undeclared' calls tick() and does not say that it does: give "
                         "it a `static constexpr bool ticks = true`"));
    client.leave();
  });
  job.executor.run(random_choice(1));
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

// Three trainers, so that "the others" are more than one and a third of a difference is no whole number.
TEST(GeoModel, OfThreeTrainersEachTakesInWhatBothOthersSent) {
  Scenario<Geo> const it{.strategy = {.push_interval = 2}, .trainers = 3, .steps = {8, 6, 7}};
  in_many_orders(it, [&](History const& history) {
    for (std::size_t member = 0; member < 3; ++member) {
      for (std::size_t step = 0; step < history.rows[member].size(); ++step) {
        auto const& saw = history.rows[member][step];
        EXPECT_NEAR(saw[member], static_cast<double>(step), 1e-5);
        for (std::size_t other = 0; other < 3; ++other) {
          if (other == member) continue;
          EXPECT_LT(saw[other], static_cast<double>(it.steps[other]) + 1e-5) << "more than it has learned";
          if (step % 2 == 0) continue;
          EXPECT_EQ(saw[other], history.rows[member][step - 1][other]) << "between exchanges";
        }
      }
    }
    for (std::size_t member = 0; member < 3; ++member) {
      EXPECT_NEAR(history.last_row[member], static_cast<double>(it.steps[member]), 1e-5);
      EXPECT_NEAR(history.last_dense[member], static_cast<double>(it.steps[member]), 1e-5);
    }
  });
}

TEST(GeoModel, SendsItsDifferenceDividedByTheTrainers) {
  // Trainer 0 alone, then trainer 1 alone; after each step one looks at what the servers have.
  SimulatedJob job(2, 2);
  History history{{{}, {}}, {{}, {}}, {}, {}};
  std::vector<Counts> rows, dense;
  for (std::uint32_t trainer = 0; trainer < 2; ++trainer) {
    job.executor.add([&, trainer] {
      auto& client = job.connect(trainer);
      Optimizers const rules{Sgd{.rate = 1}, Sgd{.rate = 1}};
      DistributedOptimizer<Geo, Cpu> optimizer(job.clients[trainer], rules, Geo{.push_interval = 2}, Cpu{}, 0);
      Counting model{2, trainer, 1, &history.rows[trainer], &history.dense[trainer]};
      optimizer.prepare(model);
      auto const look = [&] {
        std::vector<float> row(2);
        std::vector<Key> const keys{7};
        client.pull(SparseRef{table_id("rows"), 2, "rows"}, keys, row).wait();
        rows.emplace_back(row.begin(), row.end());
        auto const weights = optimizer.dense_weights();
        dense.emplace_back(weights.begin(), weights.end());
      };
      for (std::uint32_t turn = 0; turn < 2; ++turn) {
        for (int step = 0; step < (turn == 0 ? 6 : 2) && turn == trainer; ++step) {
          optimizer.minimize(model, OneRow{});
          look();
        }
        client.barrier("turn");
      }
      for (std::uint32_t turn = 0; turn < 2; ++turn) {
        if (turn == trainer) {
          optimizer.finish();
          look();
        }
        client.barrier("end");
      }
      client.leave();
    });
  }
  job.executor.run(random_choice(5));
  // At every second step half of what was not yet sent; the rest at the end.
  EXPECT_EQ(rows, (std::vector<Counts>{
                      {0, 0}, {1, 0}, {1, 0}, {2.5, 0}, {2.5, 0}, {4.25, 0}, {4.25, 0}, {4.25, 1}, {6, 1}, {6, 2}}));
  EXPECT_EQ(dense, rows);
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
