// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/rendezvous/node_outcomes.hpp>

#include <gtest/gtest.h>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;

TEST(NodeOutcomes, AreByRankAndNameTheFirstFailure) {
  JobState state;
  for (auto const* name : {"c", "a", "b", "d", "e"}) {
    state.nodes.push_back(node(name, concat("host-", name)));
    state.nodes.back().rank = static_cast<std::size_t>(*name - 'a');
  }
  state.nodes[1].phase = NodePhase::ended;    // a
  state.nodes[2].phase = NodePhase::ended;    // b
  state.nodes[0].phase = NodePhase::trained;  // c
  state.nodes[3].phase = NodePhase::lost;     // d
  state.failure = JobFailure{"b", 7, "node b: it failed", false};
  std::string text;
  for (auto const& each : outcomes_of(state)) {
    text += concat(each.rank, ' ', each.name, ' ', each.host, ' ', each.state, ' ', each.code, '\n');
  }
  EXPECT_EQ(text,
            "0 a host-a ended 0\n1 b host-b failed 7\n2 c host-c trained 0\n3 d host-d lost 0\n4 e host-e running 0\n");
  state.failure->node = "d";
  EXPECT_EQ(outcomes_of(state)[3].state, "lost");
  EXPECT_EQ(outcomes_of(state)[1].state, "ended");
}
