#include <prdist/launch/rendezvous/job_state.hpp>

#include <gtest/gtest.h>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;

TEST(JobState, NodesAreFoundAndCalledByTheirNames) {
  JobState state;
  state.nodes = {node("a", "10.0.0.4"), node("b", "10.0.0.5")};
  EXPECT_EQ(find_node(state, "b")->host, "10.0.0.5");
  EXPECT_EQ(find_node(state, "c"), nullptr);
  EXPECT_EQ(names_of(state, [](auto const&) { return true; }), "node a (10.0.0.4), node b (10.0.0.5)");
}

TEST(JobState, WhoHasGoneTakesNoPart) {
  auto info = node("a");
  for (auto const phase : {NodePhase::joined, NodePhase::trained}) {
    info.phase = phase;
    EXPECT_TRUE(takes_part(info));
  }
  for (auto const phase : {NodePhase::ended, NodePhase::left, NodePhase::lost}) {
    info.phase = phase;
    EXPECT_FALSE(takes_part(info));
  }
}

TEST(JobState, TermsReadAsTheyAreGiven) {
  EXPECT_EQ(to_string(JobTerms{2, 2}), "2");
  EXPECT_EQ(to_string(JobTerms{2, 4}), "2:4");
  EXPECT_TRUE((JobTerms{2, 4}.elastic()));
  EXPECT_FALSE((JobTerms{2, 2}.elastic()));
}
