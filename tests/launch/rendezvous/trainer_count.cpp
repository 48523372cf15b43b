#include <prdist/launch/rendezvous/trainer_count.hpp>

#include <gtest/gtest.h>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;

namespace {

/// Two nodes with two trainers each, of which at least two and at most three nodes have to be there, and one that has
/// servers only.
JobState running() {
  JobState state;
  state.phase = JobPhase::running;
  state.terms = {2, 3};
  state.nodes = {node("s"), node("a"), node("b")};
  state.nodes[0].trainers.clear();
  for (std::size_t i = 1; i < 3; ++i) {
    state.nodes[i].trainers.push_back({"h", 2001});
    state.nodes[i].first_trainer = 2 * (i - 1);
  }
  return state;
}

}  // namespace

TEST(TrainerCount, NodesWithTrainersCountForTheRangeOfAnElasticJob) {
  auto state = running();
  EXPECT_EQ(counted_nodes(state), 2U);
  EXPECT_EQ(trainers_per_node(state), 2U);
  state.nodes[2].phase = NodePhase::left;
  EXPECT_EQ(counted_nodes(state), 1U);
  state.terms = {3, 3};
  EXPECT_EQ(counted_nodes(state), 2U) << "all that are there, where the number is fixed";
}

TEST(TrainerCount, OneThatIsStartedAgainStands) {
  auto each = running().nodes[1];
  each.count.falls = 2;
  each.granted = 2;
  EXPECT_EQ(standing_trainers(each), 2U);
  each.count.falls = 3;
  EXPECT_EQ(standing_trainers(each), 1U);
  each.count.quit = 1;
  EXPECT_EQ(standing_trainers(each), 0U);
  each.count.quit = 7;
  EXPECT_EQ(standing_trainers(each), 0U) << "whatever somebody wrote";
}

TEST(TrainerCount, WhoIsMissingIsNamed) {
  auto state = running();
  EXPECT_FALSE(shortage_of(state));
  state.nodes[1].count.falls = 1;
  EXPECT_EQ(shortage_of(state), "3 trainers are there and at least 4 are needed: 1 of node a (h) fell");
  state.nodes[2].phase = NodePhase::lost;
  EXPECT_EQ(shortage_of(state),
            "1 trainer is there and at least 4 are needed: 1 of node a (h) fell, node b (h) was lost");
  auto other = node("c");
  other.trainers.push_back({"h", 2001});
  other.first_trainer = 2;
  state.nodes.push_back(other);
  EXPECT_EQ(shortage_of(state), "3 trainers are there and at least 4 are needed: 1 of node a (h) fell")
      << "c is in the place of b";
  auto fixed = state;
  fixed.terms = {3, 3};
  EXPECT_FALSE(shortage_of(fixed)) << "there a loss is a failure";
  auto over = state;
  over.nodes[1].count.finished = 1;
  EXPECT_FALSE(shortage_of(over)) << "the end of the data";
  state.failure = {"a", 1, "failed", false};
  EXPECT_FALSE(shortage_of(state));
}
