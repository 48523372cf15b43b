#include <prdist/server/engine.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <numeric>

using namespace prdist;

namespace {

/// Applies and waits; the error's text or empty.
std::string apply(Engine& engine, Command command) {
  std::promise<std::string> said;
  engine.apply(std::move(command), std::nullopt,
               [&](Error const* error) { said.set_value(error == nullptr ? "" : error->what()); });
  return said.get_future().get();
}

std::vector<float> pull(Engine& engine, TableId table, std::vector<Key> const& keys) {
  std::vector<float> rows(keys.size());
  std::promise<void> done;
  engine.read([&](ShardGroup const& group) { group.pull(table, keys, rows); }, [&](Error const*) { done.set_value(); });
  done.get_future().get();
  return rows;
}

PushRows push_of(std::uint32_t trainer, std::vector<Key> const& keys, std::vector<float> const& gradients) {
  return {1, trainer, 1, true, 0, keys, gradients, nullptr};
}

}  // namespace

TEST(Engine, EveryNumberOfThreadsGivesTheSameRows) {
  std::vector<Key> keys(1000);
  std::iota(keys.begin(), keys.end(), Key{0});
  std::vector<float> gradients(1000);
  std::iota(gradients.begin(), gradients.end(), 0.0F);
  std::vector<float> first;
  for (unsigned const threads : {0U, 1U, 2U, 5U}) {
    Engine engine(Placement(1), 0, threads, 1);
    EXPECT_EQ(apply(engine, DeclareSparse{1, {.name = "t", .dim = 1, .optimizer = Adagrad{}}}), "");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(apply(engine, push_of(0, keys, gradients)), "");
    auto const rows = pull(engine, 1, keys);
    if (first.empty()) first = rows;
    EXPECT_EQ(rows, first) << threads;
  }
}

TEST(Engine, AGatheredPushIsDoneWhenTheStepIs) {
  Engine engine(Placement(1), 0, 3, 2);
  EXPECT_EQ(apply(engine, DeclareSparse{1, {.name = "t", .dim = 1, .apply = ApplyRule::gather}}), "");
  std::vector<Key> const keys = {1, 2, 3, 4, 5};
  std::vector<float> const gradients(5, 1);
  std::promise<void> first;
  auto waits = first.get_future();
  engine.apply(push_of(0, keys, gradients), std::nullopt, [&](Error const*) { first.set_value(); });
  (void)pull(engine, 1, keys);  // behind the push in every thread's queue
  EXPECT_EQ(waits.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(apply(engine, push_of(1, keys, gradients)), "");
  EXPECT_EQ(waits.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(Engine, WhatWaitsTooLongIsHandedOutOnce) {
  Engine engine(Placement(1), 0, 1, 2);
  EXPECT_EQ(apply(engine, DeclareSparse{1, {.name = "t", .dim = 1, .apply = ApplyRule::gather}}), "");
  std::vector<Key> const keys = {1};
  std::vector<float> const gradients = {1};
  TimePoint const start{};
  int told = 0;
  engine.apply(push_of(0, keys, gradients), start + std::chrono::seconds(1), [&](Error const* error) {
    ++told;
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), Errc::job_deadline);
  });
  (void)pull(engine, 1, keys);
  EXPECT_TRUE(engine.take_waiting(start).empty());
  auto const overdue = engine.take_waiting(start + std::chrono::seconds(2));
  ASSERT_EQ(overdue.size(), 1U);
  EXPECT_EQ(overdue[0].table, 1U);
  EXPECT_EQ(told, 0);
  Error const why(Errc::job_deadline, "late");
  overdue[0].done(&why);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(engine.take_waiting(std::nullopt).empty());
}

TEST(Engine, AReadThatFailsIsToldOnce) {
  Engine engine(Placement(1), 0, 3, 1);
  std::promise<std::string> said;
  engine.read(
      [](ShardGroup const& group) {
        std::vector<float> row(1);
        group.pull(7, std::vector<Key>{1}, row);
      },
      [&](Error const* error) { said.set_value(error == nullptr ? "" : error->what()); });
  EXPECT_EQ(said.get_future().get(), "prdist[table.unknown] table 7 was not declared to this server");
}

TEST(Engine, AnUndeclaredTableIsAnErrorAndNotTheEnd) {
  Engine engine(Placement(1), 0, 2, 1);
  std::vector<Key> const keys = {1};
  std::vector<float> const gradients = {1};
  EXPECT_NE(apply(engine, push_of(0, keys, gradients)).find("prdist[table.unknown]"), std::string::npos);
  EXPECT_EQ(apply(engine, DeclareSparse{1, {.name = "t", .dim = 1}}), "");
  EXPECT_EQ(apply(engine, push_of(0, keys, gradients)), "");
}

namespace {

/// Blocks of all lanes; not ready before it is told so.
struct Sluice {
  std::atomic<bool> open = false;
  std::atomic<std::size_t> destroyed = 0;
  std::mutex mutex;
  std::vector<RowBlock> blocks;

  Engine::MakeSink maker(bool fails = false) {
    struct Sink final : CutSink {
      Sluice* gate;
      bool fails;
      Sink(Sluice* it, bool failing) : gate(it), fails(failing) {}
      ~Sink() override { ++gate->destroyed; }
      void take(RowBlock&& block) override {
        if (fails) throw Error(Errc::data_file, "the disk is full");
        std::lock_guard const lock(gate->mutex);
        gate->blocks.push_back(std::move(block));
      }
      bool ready() override { return gate->open; }
    };
    return [this, fails](std::size_t lane) { return std::make_unique<Sink>(this, fails && lane == 0); };
  }

  std::size_t keys() {
    std::size_t sum = 0;
    for (auto const& block : blocks) sum += block.keys.size();
    return sum;
  }
};

std::string cut(Engine& engine, CutKind kind, Sluice& gate, bool fails = false) {
  std::promise<std::string> said;
  engine.cut(kind, gate.maker(fails), [&](Error const* error) { said.set_value(error ? error->what() : ""); });
  return said.get_future().get();
}

std::string end_cut(Engine& engine, bool keep) {
  std::promise<std::string> said;
  engine.end_cut(keep, [&](Error const* error) { said.set_value(error ? error->what() : ""); });
  return said.get_future().get();
}

std::string load(Engine& engine, RowBlock const& block) {
  std::promise<std::string> said;
  engine.load(std::make_shared<RowBlock const>(block),
              [&](Error const* error) { said.set_value(error ? error->what() : ""); });
  return said.get_future().get();
}

struct Trained {
  std::vector<Key> keys = std::vector<Key>(5000);
  std::vector<float> gradients = std::vector<float>(5000);
  Trained() {
    std::iota(keys.begin(), keys.end(), Key{0});
    std::iota(gradients.begin(), gradients.end(), 0.0F);
  }
  void start(Engine& engine) const {
    EXPECT_EQ(apply(engine, DeclareSparse{1, {.name = "t", .dim = 1, .optimizer = Adagrad{}}}), "");
    EXPECT_EQ(apply(engine, push_of(0, keys, gradients)), "");
  }
};

}  // namespace

TEST(Engine, ACopyIsOverWhenItIsHandedOut) {
  for (unsigned const threads : {0U, 3U}) {
    Trained const trained;
    Engine engine(Placement(1), 0, threads, 1);
    trained.start(engine);
    for (std::size_t copies = 1; copies < 4; ++copies) {
      Sluice gate;
      gate.open = true;
      EXPECT_EQ(cut(engine, CutKind::copy, gate, copies == 2), copies == 2 ? "prdist[data.file] the disk is full" : "");
      EXPECT_EQ(gate.destroyed, std::max(1U, threads));
      if (copies != 2) {
        EXPECT_EQ(gate.keys(), trained.keys.size());
      }
    }
  }
}

TEST(Engine, PushesAndPullsGoOnWhileACutIsTaken) {
  for (unsigned const threads : {1U, 3U}) {
    Trained const trained;
    Engine engine(Placement(1), 0, threads, 1);
    trained.start(engine);
    auto const at_marker = pull(engine, 1, trained.keys);
    Sluice gate;
    std::promise<std::string> said;
    auto ended = said.get_future();
    engine.cut(CutKind::full, gate.maker(), [&](Error const* error) { said.set_value(error ? error->what() : ""); });
    // The sink takes no slice before these are done.
    for (int i = 0; i < 5; ++i) EXPECT_EQ(apply(engine, push_of(0, trained.keys, trained.gradients)), "");
    auto const later = pull(engine, 1, trained.keys);
    EXPECT_NE(later, at_marker);
    EXPECT_EQ(ended.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    gate.open = true;
    EXPECT_EQ(ended.get(), "");
    EXPECT_EQ(end_cut(engine, true), "");
    EXPECT_EQ(gate.destroyed, threads);
    EXPECT_EQ(gate.keys(), trained.keys.size());
    // What was handed out is the moment of the marker, wherever it is loaded.
    Engine other(Placement(1), 0, 2, 1);
    EXPECT_EQ(apply(other, DeclareSparse{1, {.name = "t", .dim = 1, .optimizer = Adagrad{}}}), "");
    for (auto const& block : gate.blocks) EXPECT_EQ(load(other, block), "");
    EXPECT_EQ(pull(other, 1, trained.keys), at_marker);
    EXPECT_EQ(pull(engine, 1, trained.keys), later);
  }
}

TEST(Engine, ACutOfOneMomentWorksWithoutThreads) {
  Trained const trained;
  Engine engine(Placement(1), 0, 0, 1);
  trained.start(engine);
  Sluice gate;
  gate.open = true;
  EXPECT_EQ(cut(engine, CutKind::full, gate), "");
  EXPECT_EQ(end_cut(engine, true), "");
  EXPECT_EQ(gate.keys(), trained.keys.size());
}

TEST(Engine, ACutIsKeptOrCancelledByAllThreads) {
  Trained const trained;
  Engine engine(Placement(1), 0, 3, 1);
  trained.start(engine);
  Sluice failing, cancelled, kept, empty;
  for (auto* const gate : {&failing, &cancelled, &kept, &empty}) gate->open = true;
  EXPECT_EQ(cut(engine, CutKind::changed, failing, true), "prdist[data.file] the disk is full");
  EXPECT_EQ(end_cut(engine, false), "");
  EXPECT_EQ(cut(engine, CutKind::changed, cancelled), "");
  EXPECT_EQ(end_cut(engine, false), "");
  EXPECT_EQ(cut(engine, CutKind::changed, kept), "");
  EXPECT_EQ(end_cut(engine, true), "");
  EXPECT_EQ(kept.keys(), trained.keys.size()) << "neither of the two before it counts";
  EXPECT_EQ(cut(engine, CutKind::changed, empty), "");
  EXPECT_EQ(empty.keys(), 0U);
}

TEST(Engine, OneCutAtATime) {
  Trained const trained;
  Engine engine(Placement(1), 0, 2, 1);
  trained.start(engine);
  Sluice first, second;
  first.open = second.open = true;
  EXPECT_EQ(cut(engine, CutKind::full, first), "");
  EXPECT_EQ(cut(engine, CutKind::full, second),
            "prdist[job.state] a cut of this server's tables is under way: wait for it to end");
  EXPECT_EQ(end_cut(engine, true), "");
  EXPECT_EQ(cut(engine, CutKind::full, second), "");
}

TEST(Engine, ACutThatTheServerDoesNotLiveToCompleteIsAnError) {
  Trained const trained;
  Sluice gate;
  std::promise<std::string> said;
  {
    Engine engine(Placement(1), 0, 2, 1);
    trained.start(engine);
    engine.cut(CutKind::full, gate.maker(), [&](Error const* error) { said.set_value(error ? error->what() : ""); });
  }
  EXPECT_EQ(said.get_future().get(), "prdist[job.state] the server ended before the cut was complete");
  EXPECT_EQ(gate.destroyed, 2U);
}

TEST(Engine, LoadSaysWhatDoesNotFit) {
  Engine engine(Placement(1), 0, 2, 1);
  RowBlock const block{.table = 7, .row_bytes = 4, .keys = {1}, .rows = std::vector<std::byte>(4)};
  EXPECT_EQ(load(engine, block), "prdist[table.unknown] table 7 was not declared to this server");
}

TEST(Engine, ClearTakesTheRowsOfTheTablesItIsTold) {
  Trained const trained;
  Engine engine(Placement(1), 0, 2, 1);
  for (TableId const table : {1U, 2U}) {
    EXPECT_EQ(apply(engine, DeclareSparse{table, {.name = concat(table), .dim = 1}}), "");
    auto push = push_of(0, trained.keys, trained.gradients);
    push.table = table;
    EXPECT_EQ(apply(engine, push), "");
  }
  auto const before = pull(engine, 2, trained.keys);
  std::promise<void> done;
  engine.clear({1}, [&](Error const*) { done.set_value(); });
  done.get_future().get();
  EXPECT_EQ(pull(engine, 1, trained.keys), std::vector<float>(trained.keys.size()));
  EXPECT_EQ(pull(engine, 2, trained.keys), before);
}

TEST(Engine, AShrinkGoesThroughAllRowsBesideOtherRequests) {
  Trained const trained;
  for (unsigned const threads : {0U, 2U}) {
    Engine engine(Placement(1), 0, threads, 1);
    EXPECT_EQ(apply(engine, DeclareSparse{1, {.name = "t", .dim = 1, .statistics = {.kept = true, .unseen_days = 0}}}),
              "");
    EXPECT_EQ(apply(engine, push_of(0, trained.keys, trained.gradients)), "");
    EXPECT_EQ(apply(engine, Shrink{1, 1}), "");
    std::atomic<std::size_t> rows = 1;
    while (rows != 0) {
      rows = 0;
      std::promise<void> done;
      engine.read([&](ShardGroup const& group) { rows += group.rows(1); }, [&](Error const*) { done.set_value(); });
      done.get_future().get();
    }
    EXPECT_EQ(pull(engine, 1, trained.keys), std::vector<float>(trained.keys.size()));
  }
}
