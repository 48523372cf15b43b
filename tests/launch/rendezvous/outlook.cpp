#include <prdist/launch/rendezvous/outlook.hpp>

#include <gtest/gtest.h>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;

namespace {

SessionView two_nodes() {
  SessionView view;
  view.state.phase = JobPhase::running;
  view.state.nodes = {node("a"), node("b")};
  view.member = true;
  return view;
}

}  // namespace

TEST(Outlook, ServersStayUntilTheTrainersElsewhereHaveFinished) {
  auto view = two_nodes();
  EXPECT_TRUE(outlook_of(view, "a", false, 0).trainers_elsewhere);
  EXPECT_TRUE(outlook_of(view, "a", false, 0).nodes_elsewhere);
  view.state.nodes[1].phase = NodePhase::trained;
  EXPECT_FALSE(outlook_of(view, "a", false, 0).trainers_elsewhere);
  EXPECT_FALSE(outlook_of(view, "a", false, 0).nodes_elsewhere);
  view.state.nodes[1].phase = NodePhase::joined;
  view.state.nodes[1].trainers.clear();
  EXPECT_FALSE(outlook_of(view, "a", false, 0).trainers_elsewhere) << "it has servers only";
}

TEST(Outlook, ServersStayWhileTrainersAreMissing) {
  auto view = two_nodes();
  view.state.terms = {2, 3};
  view.state.nodes[1].count.falls = 1;
  EXPECT_TRUE(outlook_of(view, "a", false, 0).trainers_elsewhere) << "another may come";
  view.state.nodes[0].count.finished = 1;
  EXPECT_FALSE(outlook_of(view, "a", false, 0).trainers_elsewhere) << "none is missed after the end of the data";
}

TEST(Outlook, WhoKeepsTheStoreStaysUntilNobodyNeedsIt) {
  auto view = two_nodes();
  view.state.nodes[1].phase = NodePhase::trained;
  EXPECT_TRUE(outlook_of(view, "a", true, 0).nodes_elsewhere);
  for (auto const phase : {NodePhase::ended, NodePhase::lost}) {
    view.state.nodes[1].phase = phase;
    EXPECT_FALSE(outlook_of(view, "a", true, 0).nodes_elsewhere);
  }
}

TEST(Outlook, AFailureIsTheOthersToHear) {
  auto view = two_nodes();
  view.state.failure = {"b", 7, "node b (h): trainer 1 ended with exit code 7", false};
  EXPECT_EQ(outlook_of(view, "a", false, 0).failure->code, 7);
  EXPECT_FALSE(outlook_of(view, "b", false, 0).failure);
}

TEST(Outlook, ANodeThatWasGivenUpEnds) {
  auto view = two_nodes();
  view.fenced = true;
  auto const outlook = outlook_of(view, "a", false, 0);
  ASSERT_TRUE(outlook.failure);
  EXPECT_EQ(outlook.failure->code, 75);
  EXPECT_EQ(outlook.failure->what,
            "the other nodes have given this one up, it was not heard in time: look whether it was stopped or cut off, "
            "or give more time with --node_timeout");
}

TEST(Outlook, MembersStartAgainWhenTheJobFormsAgain) {
  auto view = two_nodes();
  view.state.terms = {2, 3, true, 1};
  view.state.epoch = 2;
  view.state.reason = "node c (h) has come";
  EXPECT_EQ(outlook_of(view, "a", false, 1).reforms, "node c (h) has come");
  EXPECT_FALSE(outlook_of(view, "a", false, 2).reforms);
  view.state.terms.reforms = false;
  EXPECT_FALSE(outlook_of(view, "a", false, 1).reforms) << "the others come and go";
}

TEST(Outlook, AStateThatIsGoneIsTheStoresFault) {
  SessionView view;
  view.forgotten = true;
  auto const outlook = outlook_of(view, "a", false, 1);
  ASSERT_TRUE(outlook.failure);
  EXPECT_EQ(outlook.failure->code, 75);
  EXPECT_EQ(
      outlook.failure->what,
      "the store has lost the state of the job, as one that is started again with empty data does: give it a data "
      "folder that lasts, and start the job again");
  EXPECT_TRUE(outlook.nodes_elsewhere);
}
