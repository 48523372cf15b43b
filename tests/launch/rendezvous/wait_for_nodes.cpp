#include <prdist/launch/rendezvous/wait_for_nodes.hpp>

#include <gtest/gtest.h>

#include <prdist/launch/rendezvous/memory_store.hpp>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;
using std::chrono::seconds;

namespace {

struct WaitForNodes : testing::Test {
  NodeWatch watch() {
    NodeWatch watch;
    watch.say = [this](std::string_view text) { said.emplace_back(text); };
    watch.now = [this] { return now; };
    watch.pause = [this](std::chrono::milliseconds time) {
      now += time;
      return between == nullptr || between();
    };
    return watch;
  }

  MemoryKeys keys;
  MemoryKeys::TimePoint now{};
  MemoryStore store{keys, now};
  NodeSession session{store, {"ctr", {2, 2}, seconds(10)}, node("a", "10.0.0.4")};
  std::vector<std::string> said;
  std::function<bool()> between;
};

}  // namespace

TEST_F(WaitForNodes, SaysWhoHasComeAndGoesOnWhenAllHave) {
  MemoryStore other_store(keys, now);
  NodeSession other(other_store, {"ctr", {2, 2}, seconds(10)}, node("b", "10.0.0.5"));
  between = [&] { return now < MemoryKeys::TimePoint(seconds(3)) || other.round(now).has_value(); };
  auto const view = wait_for_nodes(session, seconds(60), watch());
  ASSERT_TRUE(view);
  EXPECT_EQ(view->state.phase, JobPhase::running);
  EXPECT_EQ(said,
            std::vector<std::string>{"Waiting peer start... 1 of 2 nodes has come, node a (10.0.0.4); 1 is missing"});
}

// Paddle's sync_peers waits for ever.
TEST_F(WaitForNodes, IsBoundedAndNamesWhoIsMissing) {
  auto const view = wait_for_nodes(session, seconds(60), watch());
  ASSERT_FALSE(view);
  EXPECT_EQ(now, MemoryKeys::TimePoint(std::chrono::milliseconds(59'800)));
  EXPECT_STREQ(view.error().what(),
               "prdist[job.deadline] launcher: not all nodes were there within 60 s, 1 of 2 nodes has come, node a "
               "(10.0.0.4); 1 is missing: start the others with the same --master, --nnodes and --job_id, or wait "
               "longer with --wait");
  EXPECT_EQ(said.size(), 1U) << "a line for each change, not for each look";
}

TEST_F(WaitForNodes, StopsWhenItIsAskedTo) {
  between = [] { return false; };
  auto const view = wait_for_nodes(session, seconds(60), watch());
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Errc::job_state);
}

TEST_F(WaitForNodes, WhatWaitingDoesNotMendIsToldAtOnce) {
  MemoryStore other_store(keys, now);
  NodeSession other(other_store, {"ctr", {3, 3}, seconds(10)}, node("b", "10.0.0.5"));
  ASSERT_TRUE(other.round(now));
  auto const view = wait_for_nodes(session, seconds(60), watch());
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Errc::config_contradiction);
  EXPECT_EQ(now, MemoryKeys::TimePoint());
}

TEST_F(WaitForNodes, AStoreThatIsNotThereYetIsWaitedFor) {
  struct Away : MemoryStore {
    using MemoryStore::MemoryStore;
    Result<Lease> grant(seconds) override {
      return Error(Errc::transport_refused, "store: h:1 cannot be asked: refused");
    }
  } away(keys, now);
  NodeSession lonely(away, {"ctr", {2, 2}, seconds(10)}, node("a"));
  auto const view = wait_for_nodes(lonely, seconds(5), watch());
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Errc::job_deadline);
  EXPECT_EQ(said, std::vector<std::string>{"Waiting peer start... store: h:1 cannot be asked: refused"});
}

TEST(Attendance, NamesMissingRanksWhenAllGiveTheirs) {
  JobState state;
  state.terms = {4, 4};
  state.nodes = {node("a", "h", 3), node("b", "i", 1)};
  EXPECT_EQ(attendance_of(state), "2 of 4 nodes have come, node a (h), node b (i); ranks 0, 2 are missing");
  state.nodes.push_back(node("c", "j", 0));
  EXPECT_EQ(attendance_of(state), "3 of 4 nodes have come, node a (h), node b (i), node c (j); rank 2 is missing");
  state.nodes[1].wanted_rank.reset();
  EXPECT_TRUE(attendance_of(state).ends_with("; 1 is missing"));
}

TEST(Attendance, KnowsThatMoreMayCome) {
  JobState state;
  state.terms = {2, 4};
  state.epoch = 1;
  state.nodes = {node("a"), node("b")};
  for (auto& each : state.nodes) each.offered = 1;
  EXPECT_EQ(attendance_of(state), "2 of 2:4 nodes have come, node a (h), node b (h); there may be more");
  state.epoch = 2;
  EXPECT_TRUE(attendance_of(state).ends_with("; their members are being ended"));
}

TEST_F(WaitForNodes, AJobThatBeganWithoutThisNodeIsNotWaitedFor) {
  ASSERT_TRUE(session.round(now));
  now += seconds(20);
  MemoryStore other_store(keys, now);
  for (auto const* name : {"b", "c"}) {
    NodeSession other(other_store, {"ctr", {2, 2}, seconds(10)}, node(name));
    ASSERT_TRUE(other.round(now));
  }
  auto const view = wait_for_nodes(session, seconds(60), watch());
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), Errc::job_peer_lost);
}
