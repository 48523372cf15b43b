#include <prdist/launch/rendezvous/session.hpp>

#include <gtest/gtest.h>

#include <memory>

#include <prdist/launch/rendezvous/memory_store.hpp>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;
using std::chrono::seconds;

namespace {

/// Nodes of one job that meet in one memory; time moves by hand.
struct NodeSessionTest : testing::Test {
  NodeSession& add(NodeInfo info, std::size_t nodes = 2) {
    stores.push_back(std::make_unique<MemoryStore>(keys, now));
    sessions.push_back(std::make_unique<NodeSession>(*stores.back(), SessionOptions{"ctr", {nodes, nodes}, seconds(10)},
                                                     std::move(info)));
    return *sessions.back();
  }
  Result<SessionView> round(NodeSession& session) { return session.round(now); }
  std::string state() {
    for (auto const& entry : keys.list("/prdist/ctr/state", now)) return entry.value;
    return {};
  }

  MemoryKeys keys;
  MemoryKeys::TimePoint now{};
  std::vector<std::unique_ptr<MemoryStore>> stores;
  std::vector<std::unique_ptr<NodeSession>> sessions;
};

/// Two nodes that run.
struct RunningNodes : NodeSessionTest {
  void SetUp() override {
    ASSERT_TRUE(round(a));
    ASSERT_EQ(round(b)->state.phase, JobPhase::running);
    ASSERT_EQ(round(a)->state.phase, JobPhase::running);
  }
  NodeSession& a = add(node("a", "10.0.0.4"));
  NodeSession& b = add(node("b", "10.0.0.5"));
};

/// A store whose answers get lost, though it did what it was asked.
struct LossyStore : MemoryStore {
  using MemoryStore::MemoryStore;
  Result<bool> put_if(std::string const& key, std::string const& value, std::uint64_t version, Lease lease) override {
    auto const done = MemoryStore::put_if(key, value, version, lease);
    if (std::exchange(lose, false)) return Error(Errc::transport_closed, "the answer got lost");
    return done;
  }
  bool lose = false;
};

}  // namespace

TEST_F(NodeSessionTest, TheJobRunsWhenAllHaveCome) {
  auto& a = add(node("a"), 3);
  auto& b = add(node("b"), 3);
  auto& c = add(node("c"), 3);
  EXPECT_EQ(round(a)->state.phase, JobPhase::forming);
  EXPECT_EQ(round(b)->state.nodes.size(), 2U);
  auto const view = round(c).value();
  EXPECT_TRUE(view.member);
  EXPECT_EQ(view.state.phase, JobPhase::running);
  EXPECT_EQ(round(a)->state.nodes, view.state.nodes);
  EXPECT_EQ(view.alive, (AliveNodes{"a", "b", "c"}));
}

// Every joiner of Paddle's launcher deletes what the job has in etcd.
TEST_F(RunningNodes, ALateNodeChangesNothing) {
  auto const before = state();
  auto& late = add(node("late"));
  auto const refused = round(late);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::config_contradiction);
  late.leave(now);
  EXPECT_EQ(state(), before);
  EXPECT_EQ(round(a)->alive, (AliveNodes{"a", "b"}));
  EXPECT_FALSE(round(a)->fenced);
}

TEST_F(RunningNodes, OneThatIsSilentIsLostForAllAndFenced) {
  now += seconds(6);
  ASSERT_TRUE(round(a));
  now += seconds(6);
  auto const view = round(a).value();
  EXPECT_EQ(view.state.failure->node, "b");
  EXPECT_FALSE(view.fenced);
  // It comes back: it neither joins again nor takes the others with it.
  auto const back = round(b).value();
  EXPECT_TRUE(back.fenced);
  auto const before = state();
  b.tell(NodePhase::ended);
  b.tell(JobFailure{"b", 1, "not heard", false});
  ASSERT_TRUE(round(b));
  b.leave(now);
  EXPECT_EQ(state(), before);
}

// A store that was away gives everybody a new lease; nobody is lost because all were silent.
TEST_F(RunningNodes, WhoeverComesBackFirstTakesALeaseBeforeItJudges) {
  now += seconds(30);
  auto const view = round(a).value();
  EXPECT_FALSE(view.fenced);
  EXPECT_TRUE(view.alive.contains("a"));
}

TEST_F(RunningNodes, WhatIsToldIsHeard) {
  a.tell(NodePhase::trained);
  EXPECT_FALSE(a.told());
  ASSERT_TRUE(round(a));
  EXPECT_TRUE(a.told());
  EXPECT_EQ(find_node(round(b)->state, "a")->phase, NodePhase::trained);
  b.tell(JobFailure{"b", 7, "trainer 1 ended with exit code 7", false});
  ASSERT_TRUE(round(b));
  EXPECT_EQ(round(a)->state.failure->code, 7);
}

// Numbers are told, not events: an answer that got lost does not take two restarts.
TEST_F(NodeSessionTest, ARestartWhoseAnswerGotLostIsCountedOnce) {
  LossyStore store(keys, now);
  NodeSession session(store, {"ctr", {1, 2, false, 3}, seconds(10), seconds(0)}, node("a"));
  ASSERT_EQ(session.round(now)->state.phase, JobPhase::running);
  session.tell(TrainerCount{1, 0, 0}, "trainer 0 was killed by SIGKILL");
  store.lose = true;
  ASSERT_FALSE(session.round(now));
  auto const state = session.round(now).value().state;
  EXPECT_EQ(state.restarts, 1U);
  EXPECT_EQ(state.nodes[0].granted, 1U);
  EXPECT_EQ(state.reason,
            "node a (h): trainer 0 was killed by SIGKILL; it is started again, restart 1 of 3 of the job");
}

TEST_F(NodeSessionTest, TooFewTrainersAreWaitedForAndThenTheJobEnds) {
  MemoryStore store(keys, now);
  NodeSession session(store, {"ctr", {1, 2, false, 0}, seconds(100), seconds(3)}, node("a"));
  ASSERT_TRUE(session.round(now));
  now += seconds(4);
  ASSERT_EQ(session.round(now)->state.phase, JobPhase::running);
  session.tell(TrainerCount{1, 0, 0}, "trainer 0 was killed by SIGKILL");
  EXPECT_FALSE(session.round(now)->state.failure);
  now += seconds(2);
  EXPECT_FALSE(session.round(now)->state.failure);
  now += seconds(1);
  auto const failure = session.round(now).value().state.failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, 75);
  EXPECT_EQ(failure->node, "") << "all nodes are to hear of it, also the one that writes it";
  EXPECT_EQ(failure->what, "0 trainers are there and at least 1 are needed: 1 of node a (h) fell, for 3 s: giving up");
}

TEST_F(RunningNodes, TheNextRunBeginsWhenAllHaveEnded) {
  auto& next = add(node("next"));
  b.tell(JobFailure{"b", 7, "failed", false});
  b.tell(NodePhase::ended);
  ASSERT_TRUE(round(b));
  b.leave(now);
  EXPECT_FALSE(round(next)->member) << "a is being ended: its run is waited for";
  a.tell(NodePhase::ended);
  ASSERT_TRUE(round(a));
  a.leave(now);
  auto const view = round(next).value();
  EXPECT_TRUE(view.member);
  EXPECT_EQ(view.state.run, 2U);
  // The one before finds out that it is over and changes nothing.
  auto const before = state();
  EXPECT_TRUE(round(a)->fenced);
  EXPECT_EQ(state(), before);
}

TEST_F(RunningNodes, NothingIsLeftButTheState) {
  for (auto* each : {&a, &b}) {
    each->tell(NodePhase::ended);
    each->leave(now);
  }
  auto const left = keys.list("/", now);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].key, "/prdist/ctr/state");
  EXPECT_EQ(parse_job_state(left[0].value)->phase, JobPhase::ended);
}

TEST_F(NodeSessionTest, WhoGivesUpWaitingFreesItsPlaceAndRank) {
  auto& a = add(node("a", "h", 0));
  ASSERT_TRUE(round(a));
  a.leave(now);
  auto& again = add(node("again", "h", 0));
  EXPECT_TRUE(round(again)->member);
  EXPECT_EQ(round(again)->state.nodes.size(), 1U);
}

// A launcher that is killed while it waits leaves its name; the others do not start without it, nor wait for it.
TEST_F(NodeSessionTest, WhoDiesWaitingIsReplaced) {
  auto& dead = add(node("dead", "h", 0));
  auto& b = add(node("b"));
  ASSERT_TRUE(round(dead));
  now += seconds(11);
  auto const view = round(b).value();
  EXPECT_EQ(view.state.phase, JobPhase::forming);
  auto& next = add(node("next", "h", 0));
  EXPECT_EQ(round(next)->state.phase, JobPhase::running);
  // Should it wake up again, it finds a job that runs without it.
  auto const woken = round(dead);
  ASSERT_TRUE(woken);
  EXPECT_TRUE(woken->fenced);
}

TEST_F(NodeSessionTest, AWriteWhoseAnswerGotLostIsNotMadeTwice) {
  LossyStore store(keys, now);
  NodeSession session(store, {"ctr", {2, 2}, seconds(10)}, node("a"));
  for (int answers = 0; answers < 3; ++answers) {
    store.lose = answers < 2;
    auto const view = session.round(now);
    EXPECT_EQ(view.has_value(), answers == 2);
  }
  auto const entries = keys.list("/prdist/ctr/", now);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(parse_job_state(entries[1].value)->nodes.size(), 1U);
}

TEST_F(NodeSessionTest, TwoNamesAreTwoJobs) {
  auto& a = add(node("a"));
  MemoryStore store(keys, now);
  NodeSession other(store, {"other", {2, 2}, seconds(10)}, node("b"));
  ASSERT_TRUE(round(a));
  EXPECT_EQ(other.round(now)->state.nodes.size(), 1U);
  EXPECT_EQ(a.root(), "/prdist/ctr/");
}

namespace {

/// An elastic job of two to three nodes that forms again when they change, up to twice.
struct ReFormingNodes : NodeSessionTest {
  NodeSession& add(std::string const& name) {
    stores.push_back(std::make_unique<MemoryStore>(keys, now));
    SessionOptions const options{"ctr", {2, 3, true, 2}, seconds(10), seconds(3)};
    sessions.push_back(std::make_unique<NodeSession>(*stores.back(), options, node(name)));
    return *sessions.back();
  }
};

}  // namespace

TEST_F(ReFormingNodes, FormAgainWithoutTheOneThatIsLostAndWithTheOneThatComes) {
  auto& a = add("a");
  auto& b = add("b");
  auto& c = add("c");
  for (auto* each : {&a, &b, &c}) ASSERT_TRUE(round(*each));
  ASSERT_EQ(round(a)->state.phase, JobPhase::running);
  ASSERT_TRUE(round(b));
  // c falls silent.
  now += seconds(6);
  ASSERT_TRUE(round(a) && round(b));
  now += seconds(6);
  ASSERT_TRUE(round(b));
  auto view = round(a).value();
  EXPECT_EQ(view.state.phase, JobPhase::forming);
  EXPECT_EQ(view.state.epoch, 2U);
  // It comes back while its members still run: it is out, and its old endpoints are nobody's.
  EXPECT_TRUE(round(c)->fenced);
  // Both end their members and offer others; the job starts when nobody has come for a while.
  auto offer = node("a");
  offer.servers = {{"h", 1001}};
  a.offer(offer);
  ASSERT_TRUE(round(a));
  now += seconds(4);
  EXPECT_EQ(round(a)->state.phase, JobPhase::forming) << "b is not ready";
  b.offer(node("b"));
  ASSERT_TRUE(round(b) && round(a));
  now += seconds(4);
  view = round(a).value();
  ASSERT_EQ(view.state.phase, JobPhase::running);
  EXPECT_EQ(view.state.nodes[0].servers.at(0).port, 1001);
  // What was told of the epoch before does not end this one.
  EXPECT_EQ(round(b)->state.epoch, 2U);
  auto& d = add("d");
  EXPECT_EQ(round(d)->state.epoch, 3U);
  b.tell(JobFailure{"b", 75, "of the epoch before", true});
  EXPECT_FALSE(round(b)->state.failure);
  EXPECT_EQ(round(b)->state.epoch, 3U);
}

TEST_F(RunningNodes, AStoreThatLostTheStateIsToldFromOthersThatGaveThisNodeUp) {
  keys = MemoryKeys();
  auto const view = round(a).value();
  EXPECT_TRUE(view.forgotten);
  EXPECT_FALSE(view.fenced);
  EXPECT_EQ(state(), "") << "nothing is written over it";
  // A job that begins there meanwhile is another one.
  auto& c = add(node("c", "10.0.0.6"), 1);
  ASSERT_EQ(round(c)->state.phase, JobPhase::running);
  EXPECT_TRUE(round(a)->forgotten);
  EXPECT_TRUE(round(b)->forgotten) << "it has not looked in between";
  EXPECT_FALSE(round(c)->forgotten);
  EXPECT_EQ(round(c)->state.nodes.size(), 1U);
}
