#include <prdist/launch/rendezvous/job_state_json.hpp>

#include <gtest/gtest.h>

#include "nodes.hpp"

using namespace prdist;
using rendezvous_test::node;

TEST(JobStateJson, WhatIsWrittenIsRead) {
  JobState state;
  state.run = 3;
  state.phase = JobPhase::running;
  state.epoch = 5;
  state.terms = {2, 4, true, 7, true};
  state.restarts = 1;
  state.first_trainers = 8;
  state.reason = "node c has come";
  state.nodes = {node("a", "10.0.0.4"), node("b", "2001:db8::4", 1)};
  state.nodes[0].first = true;
  state.nodes[1].phase = NodePhase::lost;
  state.nodes[1].servers.clear();
  state.nodes[1].rank = 1;
  state.nodes[1].first_trainer = 4;
  state.nodes[1].offered = 5;
  state.nodes[0].serves = true;
  state.nodes[0].count = {3, 1, 2};
  state.nodes[0].granted = 2;
  state.failure = {"b", 137, "trainer 1 said \"no\"\n", true, true};
  auto const read = parse_job_state(to_text(state)).value();
  EXPECT_EQ(read.run, 3U);
  EXPECT_EQ(read.phase, JobPhase::running);
  EXPECT_EQ(read.epoch, 5U);
  EXPECT_EQ(read.terms, state.terms);
  EXPECT_EQ(read.restarts, 1U);
  EXPECT_EQ(read.first_trainers, 8U);
  EXPECT_EQ(read.reason, state.reason);
  EXPECT_EQ(read.nodes, state.nodes);
  EXPECT_EQ(read.failure->what, state.failure->what);
  EXPECT_EQ(read.failure->code, 137);
  EXPECT_TRUE(read.failure->victim);
  EXPECT_EQ(to_text(read), to_text(state)) << "a state that did not change is not written again";
}

TEST(JobStateJson, AnythingElseIsRefused) {
  for (std::string const text : {"", "{}", "[]", "running", R"({"format":2})", R"({"format":2,"run":-1})"}) {
    auto const state = parse_job_state(text);
    ASSERT_FALSE(state) << text;
    EXPECT_EQ(state.error().code(), Errc::wire_message);
    EXPECT_TRUE(std::string(state.error().what()).ends_with(": take another --job_id")) << state.error().what();
  }
  auto good = to_text({});
  auto const phase = good.find(R"("phase":2)");
  ASSERT_NE(phase, std::string::npos);
  good[phase + 8] = '9';
  EXPECT_FALSE(parse_job_state(good));
}

TEST(JobStateJson, AnotherVersionsStateIsNamed) {
  EXPECT_STREQ(parse_job_state(R"({"format":1})").error().what(),
               "prdist[wire.version] launcher: the job's state in the store has format 1, not 2: start all nodes with "
               "the same prrun, or take another --job_id");
}
