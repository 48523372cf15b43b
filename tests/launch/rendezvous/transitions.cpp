#include <prdist/launch/rendezvous/transitions.hpp>

#include <gtest/gtest.h>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;

namespace {

JobTerms exactly(std::size_t nodes) {
  return {nodes, nodes};
}

JobState state_of(JobPhase phase, std::vector<NodeInfo> nodes, JobTerms terms = exactly(2)) {
  JobState state;
  state.run = 4;
  state.epoch = 1;
  state.phase = phase;
  state.terms = terms;
  state.nodes = std::move(nodes);
  for (auto& each : state.nodes) each.offered = 1;
  return state;
}

/// Two to four nodes, three of which run: the first has the server, and the others offered none.
JobState elastic(JobTerms terms = {2, 4, false, 1}) {
  auto state = state_of(JobPhase::forming, {node("a"), node("b"), node("c")}, terms);
  for (std::size_t i = 1; i < 3; ++i) state.nodes[i].servers.clear();
  return formed(state).value();
}

std::vector<std::string> order_of(JobState const& state) {
  std::vector<std::string> names;
  for (auto const& each : state.nodes) names.push_back(each.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST(Transitions, TheFirstNodeBeginsARun) {
  auto const state = joined({}, {"a"}, node("a"), exactly(3), "ctr").value().value();
  EXPECT_EQ(state.run, 1U);
  EXPECT_EQ(state.phase, JobPhase::forming);
  EXPECT_EQ(state.terms, exactly(3));
  EXPECT_EQ(order_of(state), Names{"a"});
}

TEST(Transitions, OneThatWentAwayBeforeTheStartTakesNoPlace) {
  auto const forming = state_of(JobPhase::forming, {node("a"), node("b")}, exactly(3));
  auto const state = joined(forming, {"b", "c"}, node("c"), exactly(3), "ctr").value().value();
  EXPECT_EQ(order_of(state), (Names{"b", "c"}));
  EXPECT_EQ(state.run, 4U);
}

TEST(Transitions, ARankThatIsTakenIsRefusedWithBothNames) {
  auto const forming = state_of(JobPhase::forming, {node("a", "10.0.0.4", 1)}, exactly(3));
  auto const state = joined(forming, {"a", "b"}, node("b", "10.0.0.5", 1), exactly(3), "ctr");
  ASSERT_FALSE(state);
  EXPECT_STREQ(state.error().what(),
               "prdist[config.contradiction] launcher: --rank 1 of node b (10.0.0.5) belongs to node a (10.0.0.4) "
               "already: give each node of job 'ctr' a rank of its own");
  // The one that has it may be gone, and then it is free.
  EXPECT_TRUE(joined(forming, {"b"}, node("b", "10.0.0.5", 1), exactly(3), "ctr"));
}

TEST(Transitions, AllHaveToAgreeOnTheirNumber) {
  auto const forming = state_of(JobPhase::forming, {node("a", "10.0.0.4")}, exactly(3));
  auto const state = joined(forming, {"a", "b"}, node("b", "10.0.0.5"), exactly(2), "ctr");
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().message(),
            "launcher: --nnodes 2 of node b (10.0.0.5) and 3 of node a (10.0.0.4) differ, or --max_restart or "
            "--elastic_sync does: give all nodes of a job the same, or this job another --job_id");
}

TEST(Transitions, ARunningJobLetsNobodyIn) {
  auto const running = state_of(JobPhase::running, {node("a", "10.0.0.4"), node("b", "10.0.0.5")});
  auto const state = joined(running, {"a", "b", "c"}, node("c"), exactly(2), "ctr");
  ASSERT_FALSE(state);
  EXPECT_EQ(
      state.error().message(),
      "launcher: job 'ctr' runs already, on node a (10.0.0.4), node b (10.0.0.5): give this one another --job_id, "
      "or start it when that one has ended");
}

TEST(Transitions, AFailedRunIsWaitedForAndADeadOneIsNot) {
  auto running = state_of(JobPhase::running, {node("a"), node("b")});
  running.failure = {"a", 7, "it failed", false};
  EXPECT_FALSE(joined(running, {"a", "b", "c"}, node("c"), exactly(2), "ctr").value());
  auto const next = joined(running, {"c"}, node("c"), exactly(2), "ctr").value().value();
  EXPECT_EQ(next.run, 5U);
  EXPECT_EQ(order_of(next), Names{"c"});
  EXPECT_FALSE(next.failure);
}

TEST(Transitions, RanksAreKeptAndTheStoresNodeIsFirst) {
  auto forming =
      state_of(JobPhase::forming, {node("late", "h", {}), node("two", "h", 2), node("store", "h", {}), node("last")},
               exactly(4));
  forming.nodes[2].first = true;
  ASSERT_TRUE(complete(forming, false));
  auto const running = formed(forming).value();
  EXPECT_EQ(order_of(running), (Names{"store", "late", "two", "last"}));
  EXPECT_EQ(running.phase, JobPhase::running);
}

TEST(Transitions, RankZeroIsWhoeverWantsIt) {
  auto forming = state_of(JobPhase::forming, {node("store"), node("zero", "h", 0)});
  forming.nodes[0].first = true;
  EXPECT_EQ(order_of(formed(forming).value()), (Names{"zero", "store"}));
}

TEST(Transitions, AJobNeedsAServerAndATrainer) {
  auto forming = state_of(JobPhase::forming, {node("a"), node("b")});
  for (auto& each : forming.nodes) each.servers.clear();
  auto const running = formed(forming);
  ASSERT_FALSE(running);
  EXPECT_EQ(running.error().message(),
            "launcher: the 2 nodes have 0 servers and 2 trainers together: give --server_num and --trainer_num so that "
            "there is one of each");
  EXPECT_EQ(formed(state_of(JobPhase::forming, {node("a", "h", 9), node("b")})).error().message(),
            "launcher: --rank 9 of node a (h) is not below --nnodes 2");
}

TEST(Transitions, AVictimMakesRoomForItsCauseAndNothingElseDoes) {
  auto state = state_of(JobPhase::running, {node("a"), node("b")});
  state = with_failure(state, {"a", 75, "lost its server", true});
  state = with_failure(state, {"b", 137, "was killed", false});
  EXPECT_EQ(state.failure->node, "b");
  state = with_failure(state, {"a", 1, "too late", false});
  EXPECT_EQ(state.failure->what, "was killed");
}

TEST(Transitions, EndsWithItsLastNode) {
  auto state = state_of(JobPhase::running, {node("a"), node("b")});
  state = with_phase(state, "a", NodePhase::ended);
  EXPECT_EQ(state.phase, JobPhase::running);
  state = with_phase(state, "a", NodePhase::trained);
  EXPECT_EQ(state.nodes[0].phase, NodePhase::ended) << "a word that comes late changes nothing";
  state = with_phase(state, "b", NodePhase::ended);
  EXPECT_EQ(state.phase, JobPhase::ended);
}

TEST(Transitions, ANodeWithoutALeaseIsLostAndItsJobToo) {
  auto state = state_of(JobPhase::running, {node("a"), node("b", "10.0.0.5"), node("c")});
  state = with_phase(state, "c", NodePhase::ended);
  state = without_the_dead(state, {"a"});
  EXPECT_EQ(state.nodes[1].phase, NodePhase::lost);
  EXPECT_EQ(state.nodes[2].phase, NodePhase::ended) << "who has said goodbye needs no lease";
  EXPECT_EQ(state.failure->code, 75);
  EXPECT_EQ(state.failure->what,
            "node b (10.0.0.5) was lost, nothing is heard of its launcher: look whether that machine is up");
  EXPECT_EQ(with_phase(state, "b", NodePhase::ended).nodes[1].phase, NodePhase::lost) << "it stays given up";
}

TEST(Transitions, ANodeGivesItsPlaceUpOnlyBeforeTheStart) {
  EXPECT_EQ(order_of(without(state_of(JobPhase::forming, {node("a"), node("b")}), "a")), Names{"b"});
  EXPECT_EQ(order_of(without(state_of(JobPhase::running, {node("a"), node("b")}), "a")), (Names{"a", "b"}));
}

TEST(Transitions, AnElasticJobBeginsWithEnoughAfterAWhile) {
  auto const two = state_of(JobPhase::forming, {node("a"), node("b")}, {2, 4});
  EXPECT_FALSE(complete(two, false)) << "there may come more";
  EXPECT_TRUE(complete(two, true));
  EXPECT_FALSE(complete(state_of(JobPhase::forming, {node("a")}, {2, 4}), true));
  EXPECT_TRUE(complete(state_of(JobPhase::forming, {node("a"), node("b"), node("c"), node("d")}, {2, 4}), false));
}

TEST(Transitions, RanksAreWishesWhenNotAllComeToAnElasticJob) {
  auto const running = formed(state_of(JobPhase::forming, {node("a", "h", 3), node("b", "h", 0)}, {2, 4})).value();
  EXPECT_EQ(order_of(running), (Names{"b", "a"}));
  EXPECT_EQ(running.nodes[1].rank, 1U);
}

TEST(Transitions, ServersOfAnElasticJobAreOnItsFirstNodes) {
  auto const running =
      formed(state_of(JobPhase::forming, {node("a"), node("b"), node("c"), node("d")}, {2, 4})).value();
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(running.nodes[rank].servers.size(), rank < 2 ? 1U : 0U) << rank;
    EXPECT_EQ(running.nodes[rank].serves, rank < 2) << rank;
  }
  // Who offers none is passed over, and who has nothing else keeps them.
  auto forming = state_of(JobPhase::forming, {node("a"), node("b"), node("c"), node("d"), node("s")}, {2, 4});
  forming.nodes[0].servers.clear();
  forming.nodes[4].trainers.clear();
  auto const mixed = formed(forming).value();
  std::vector<std::string> serving;
  for (auto const& each : mixed.nodes) {
    if (!each.servers.empty()) serving.push_back(each.name);
  }
  EXPECT_EQ(serving, (Names{"b", "c", "s"}));
  EXPECT_EQ(mixed.first_trainers, 4U);
  // Where the number is fixed everybody has what it offers.
  auto const fixed = formed(state_of(JobPhase::forming, {node("a"), node("b"), node("c")}, exactly(3))).value();
  EXPECT_TRUE(std::ranges::none_of(fixed.nodes, [](auto const& each) { return each.servers.empty(); }));
}

TEST(Transitions, TheRangeIsOfNodesWithTrainers) {
  auto forming = state_of(JobPhase::forming, {node("a"), node("b")}, {2, 4});
  forming.nodes[0].trainers.clear();
  EXPECT_FALSE(complete(forming, true)) << "one node with trainers";
  for (auto& each : forming.nodes) each.servers.clear();
  forming.nodes[0].trainers = forming.nodes[1].trainers;
  EXPECT_FALSE(complete(forming, true)) << "the servers are yet to come";
  for (auto const* name : {"c", "d"}) {
    forming.nodes.push_back(node(name));
    forming.nodes.back().servers.clear();
    forming.nodes.back().offered = 1;
  }
  AliveNodes const alive{"a", "b", "c", "d", "e"};
  EXPECT_EQ(joined(forming, alive, node("e"), {2, 4}, "ctr").error().message(),
            "launcher: job 'ctr' has all its 4 nodes already");
  auto servers = node("e");
  servers.trainers.clear();
  auto const all = joined(forming, alive, servers, {2, 4}, "ctr").value().value();
  ASSERT_TRUE(complete(all, false));
  auto const running = formed(all).value();
  EXPECT_EQ(running.first_trainers, 4U);
  servers.name = "f";
  EXPECT_EQ(joined(with_phase(running, "b", NodePhase::left), alive, servers, {2, 4}, "ctr").error().message(),
            "launcher: node f (h) has servers only, and job 'ctr' runs with those it has: start such nodes before the "
            "others, or give this one --trainer_num");
}

TEST(Transitions, WhoComesLaterGetsTheFirstFreePlaceAndNoServers) {
  auto const before = elastic();
  EXPECT_EQ(before.first_trainers, 3U);
  auto const later = joined(before, {"a", "b", "c", "d"}, node("d"), {2, 4, false, 1}, "ctr").value().value();
  EXPECT_EQ(later.phase, JobPhase::running);
  EXPECT_EQ(later.epoch, before.epoch + 1);
  EXPECT_EQ(later.nodes[3].rank, 3U);
  EXPECT_EQ(later.nodes[3].first_trainer, 3U);
  EXPECT_TRUE(later.nodes[3].servers.empty());
  EXPECT_EQ(later.first_trainers, 3U) << "how it began";
  EXPECT_EQ(later.restarts, 0U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(later.nodes[i], before.nodes[i]) << "the others keep what they have";
  // A fifth finds no place, until one leaves.
  auto const fifth = joined(later, {"a", "b", "c", "d", "e"}, node("e"), {2, 4, false, 1}, "ctr");
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.error().message(), "launcher: job 'ctr' has all its 4 nodes already");
  auto const room = with_phase(later, "b", NodePhase::left);
  auto const in_its_place = joined(room, {"a", "c", "d", "e"}, node("e"), {2, 4, false, 1}, "ctr").value().value();
  EXPECT_EQ(in_its_place.nodes[4].rank, 1U);
  EXPECT_EQ(in_its_place.nodes[4].first_trainer, 1U);
}

TEST(Transitions, ALateNodeHasToFitIn) {
  auto const state = elastic();
  AliveNodes const alive{"a", "b", "c", "d"};
  JobTerms const terms{2, 4, false, 1};
  auto two = node("d");
  two.trainers.push_back({"h", 2001});
  EXPECT_EQ(
      joined(state, alive, two, terms, "ctr").error().message(),
      "launcher: --trainer_num 2 of node d (h) is not the 1 of the other nodes: in an elastic job all have the same");
  EXPECT_TRUE(std::string(joined(state, alive, node("d", "h", 1), terms, "ctr").error().what())
                  .find("--rank 1 of node d (h) belongs to node b (h) already") != std::string::npos);
  EXPECT_FALSE(joined(state, alive, node("d"), exactly(2), "ctr"));
  auto const done = with_trainers(state, "b", {0, 0, 1}, "");
  EXPECT_EQ(joined(done, alive, node("d"), terms, "ctr").error().message(),
            "launcher: job 'ctr' has come to the end of its data: it takes no more nodes");
}

TEST(Transitions, OneThatLeavesOrIsLostIsNoFailureAndWhenTooFewAreLeftTheyAreNamed) {
  auto state = with_phase(elastic(), "c", NodePhase::left, "the job was stopped by SIGTERM");
  EXPECT_EQ(state.nodes[2].phase, NodePhase::left);
  EXPECT_EQ(state.reason, "node c (h) has left: the job was stopped by SIGTERM");
  EXPECT_FALSE(state.failure);
  EXPECT_FALSE(shortage_of(state));
  EXPECT_FALSE(without_the_dead(elastic(), {"a", "b"}).failure);
  state = without_the_dead(state, {"a"});
  EXPECT_FALSE(state.failure) << "others may come";
  auto const given_up = without_enough(state, "30 s");
  ASSERT_TRUE(given_up.failure);
  EXPECT_EQ(given_up.failure->code, 75);
  EXPECT_EQ(given_up.failure->what,
            "1 trainer is there and at least 2 are needed: node b (h) was lost, node c (h) has left, for 30 s: giving "
            "up");
  // A server that gave up before the launchers did is the same thing.
  EXPECT_EQ(with_failure(state, {"a", 75, "server 0 ended with exit code 75", true}).failure->what,
            "server 0 ended with exit code 75; 1 trainer is there and at least 2 are needed: node b (h) was lost, node "
            "c (h) has left");
  auto const back = joined(state, {"a", "d"}, node("d"), {2, 4, false, 1}, "ctr").value().value();
  EXPECT_FALSE(shortage_of(back));
  EXPECT_FALSE(without_enough(back, "30 s").failure);
}

TEST(Transitions, TheServersOfAnElasticJobCannotGo) {
  auto const state = without_the_dead(elastic(), {"b", "c"});
  ASSERT_TRUE(state.failure);
  EXPECT_TRUE(state.failure->what.ends_with(", and its servers with it")) << state.failure->what;
}

TEST(Transitions, FallenTrainersAreStartedAgainAsOftenAsTheWholeJobMay) {
  auto state = with_trainers(elastic(), "b", {1, 0, 0}, "trainer 1 ended with exit code 70");
  EXPECT_EQ(state.restarts, 1U);
  EXPECT_EQ(state.nodes[1].granted, 1U);
  EXPECT_EQ(standing_trainers(state.nodes[1]), 1U);
  EXPECT_EQ(state.reason,
            "node b (h): trainer 1 ended with exit code 70; it is started again, restart 1 of 1 of the job");
  EXPECT_EQ(with_trainers(state, "b", {1, 0, 0}, "").restarts, 1U) << "told twice is told once";
  state = with_trainers(state, "c", {1, 0, 0}, "trainer 2 was killed by SIGKILL");
  EXPECT_EQ(state.restarts, 1U);
  EXPECT_EQ(state.nodes[2].granted, 0U);
  EXPECT_EQ(standing_trainers(state.nodes[2]), 0U);
  EXPECT_EQ(state.reason,
            "node c (h): trainer 2 was killed by SIGKILL; it is not started again, the job has no restart left of its "
            "--max_restart 1");
  EXPECT_FALSE(shortage_of(state)) << "two are enough";
  auto const short_of = with_trainers(state, "a", {0, 1, 0}, "");
  EXPECT_EQ(shortage_of(short_of),
            "1 trainer is there and at least 2 are needed: 1 of node a (h) fell, 1 of node c (h) fell");
  EXPECT_TRUE(joined(state, {"a", "b", "c", "d"}, node("d"), {2, 4, false, 1}, "ctr")) << "a new node is no restart";
}

TEST(Transitions, AfterTheEndOfTheDataNobodyIsStartedOrMissed) {
  auto state = with_trainers(elastic(), "a", {0, 0, 1}, "");
  state = with_trainers(state, "b", {1, 0, 0}, "trainer 1 was killed by SIGKILL");
  EXPECT_EQ(state.nodes[1].granted, 0U);
  EXPECT_EQ(state.reason,
            "node b (h): trainer 1 was killed by SIGKILL; it is not started again, the data has come to its end");
  EXPECT_FALSE(shortage_of(with_phase(state, "c", NodePhase::left)));
}

TEST(Transitions, AJobThatReFormsDoesSoWhenNodesComeOrGo) {
  JobTerms const terms{2, 4, true, 1};
  auto const running = elastic(terms);
  auto const larger = joined(running, {"a", "b", "c", "d"}, node("d"), terms, "ctr").value().value();
  EXPECT_EQ(larger.phase, JobPhase::forming);
  EXPECT_EQ(larger.epoch, 2U);
  EXPECT_EQ(larger.restarts, 0U) << "to come is no failure";
  EXPECT_EQ(larger.reason, "node d (h) has come");
  EXPECT_FALSE(complete(larger, true)) << "the others have not offered anew";
  auto ready = larger;
  for (auto& each : ready.nodes) each.offered = 2;
  ASSERT_TRUE(complete(ready, false));
  auto const second = formed(ready).value();
  EXPECT_TRUE(second.nodes[3].servers.empty()) << "servers stay on the first nodes";
  EXPECT_EQ(second.first_trainers, 4U);
  auto const smaller = without_the_dead(second, {"a", "c", "d"});
  EXPECT_EQ(order_of(smaller), (Names{"a", "c", "d"}));
  EXPECT_EQ(smaller.restarts, 1U);
  auto const left = with_phase(second, "b", NodePhase::left);
  EXPECT_EQ(left.phase, JobPhase::forming);
  EXPECT_EQ(left.restarts, 0U) << "nor is to leave";
  // That was the last one.
  for (auto& each : ready.nodes) each.offered = 3;
  auto last = formed(ready).value();
  last.restarts = 1;
  auto const failed = without_the_dead(last, {"a", "b", "c"});
  EXPECT_EQ(failed.failure->what,
            "node d (h) was lost, nothing is heard of its launcher: look whether that machine is up, and no restart is "
            "left of 1");
}

TEST(Transitions, AFailureThatMayPassStartsAJobThatReFormsAgain) {
  auto const running = elastic({2, 4, true, 1});
  auto const again = with_failure(running, {"b", 137, "trainer 1 was killed", false});
  EXPECT_EQ(again.phase, JobPhase::forming);
  EXPECT_EQ(again.nodes.size(), 3U);
  EXPECT_EQ(again.reason, "trainer 1 was killed");
  EXPECT_FALSE(again.failure);
  EXPECT_FALSE(with_failure(again, {"c", 75, "lost its server", true}).failure) << "its consequences are over";
  EXPECT_EQ(with_failure(running, {"b", 78, "bad flags", false}).failure->code, 78) << "no try mends this";
  EXPECT_EQ(with_failure(running, {"b", 143, "Ctrl-C", false, true}).failure->code, 143) << "nobody wants another try";
}
