#include <prdist/server/engine.hpp>

#include <gtest/gtest.h>

#include <future>
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
