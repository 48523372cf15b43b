#include <prdist/launch/plan.hpp>

#include <gtest/gtest.h>

using namespace prdist;

namespace {

LaunchPlan two_hosts() {
  LaunchPlan plan;
  plan.servers = {{"10.0.0.1", 36000}, {"10.0.0.10", 36000}};
  plan.trainers = {{"10.0.0.1", 36001}};
  return plan;
}

}  // namespace

TEST(LaunchPlan, RanksServersBeforeTrainers) {
  std::vector<JobMember> const expected{{JobRole::server, 0}, {JobRole::server, 1}, {JobRole::trainer, 0}};
  EXPECT_EQ(members_of(two_hosts()), expected);
}

TEST(LaunchPlan, RunsAllMembersHereUnlessItSaysWhich) {
  auto plan = two_hosts();
  EXPECT_EQ(members_here(plan), members_of(plan));
  EXPECT_FALSE(runs_in_part(plan));
  plan.here = {{JobRole::server, 1}};
  EXPECT_EQ(members_here(plan), plan.here);
  EXPECT_TRUE(runs_in_part(plan));
}

TEST(LaunchPlan, FindsAMembersOwnEndpoint) {
  EXPECT_EQ(to_string(endpoint_of(two_hosts(), {JobRole::server, 1})), "10.0.0.10:36000");
  EXPECT_EQ(to_string(endpoint_of(two_hosts(), {JobRole::trainer, 0})), "10.0.0.1:36001");
}

// 10.0.0.1 is a prefix of 10.0.0.10, and another host.
TEST(LaunchPlan, CountsWholeHostNames) {
  EXPECT_EQ(node_count(two_hosts()), 2U);
}

// Several nodes on one machine are several nodes.
TEST(LaunchPlan, HasAsManyNodesAsItSays) {
  auto plan = two_hosts();
  plan.nodes = 3;
  EXPECT_EQ(node_count(plan), 3U);
}

TEST(LaunchPlan, PutsLogsAndProgressIntoItsFolder) {
  auto plan = two_hosts();
  plan.log_dir = "some/where";
  EXPECT_EQ(log_path(plan, {JobRole::server, 1}), "some/where/serverlog.1");
  EXPECT_EQ(progress_path(plan, {JobRole::trainer, 0}), "some/where/progress.0");
}
