// SPDX-License-Identifier: Apache-2.0
#include <prdist/fleet/roles.hpp>
#include <prdist/launch/node_plan.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::environment_of;
using launch_test::error_of;

namespace {

NodePlan two_and_three() {
  NodePlan plan;
  plan.servers = {{"10.0.0.9", 7164}, {"fd00::1", 7164}};
  plan.trainers = 3;
  return plan;
}

std::map<std::string, std::string> map_of(std::vector<Variable> const& variables) {
  std::map<std::string, std::string> map;
  for (auto const& each : variables) EXPECT_TRUE(map.emplace(each.name, each.value).second) << each.name << " twice";
  return map;
}

}  // namespace

TEST(NodePlan, WhatItTellsAMemberIsWhatRolesFromEnvReads) {
  auto const plan = two_and_three();
  auto const server = roles_from_env(environment_of(map_of(variables_of(plan, {JobRole::server, 1}, ""))));
  EXPECT_EQ(server.role, Role::server);
  EXPECT_EQ(server.index, 1U);
  EXPECT_EQ(server.servers, plan.servers);
  EXPECT_EQ(server.workers, 3U);
  auto const trainer = roles_from_env(environment_of(map_of(variables_of(plan, {JobRole::trainer, 2}, "/p"))));
  EXPECT_EQ(trainer.role, Role::worker);
  EXPECT_EQ(trainer.index, 2U);
}

TEST(NodePlan, AServerKnowsItselfTheOldWayToo) {
  auto variables = map_of(variables_of(two_and_three(), {JobRole::server, 0}, ""));
  EXPECT_EQ(variables["POD_IP"], "10.0.0.9");
  EXPECT_EQ(variables["PADDLE_PORT"], "7164");
  variables.erase("PADDLE_PSERVER_ID");
  EXPECT_EQ(roles_from_env(environment_of(variables)).index, 0U);
  EXPECT_FALSE(variables.contains("PRDIST_PROGRESS"));
}

TEST(NodePlan, TellsProgramsOfPaddleV2) {
  auto plan = two_and_three();
  plan.ports = {7164, 2, 3, "eth0"};
  auto variables = map_of(variables_of(plan, {JobRole::trainer, 2}, "/run/progress"));
  EXPECT_EQ(variables["PADDLE_INIT_PSERVERS"], "10.0.0.9,fd00::1");
  EXPECT_EQ(variables["PADDLE_INIT_PORTS_NUM"], "2");
  EXPECT_EQ(variables["PADDLE_INIT_PORTS_NUM_FOR_SPARSE"], "3");
  EXPECT_EQ(variables["PADDLE_INIT_NUM_GRADIENT_SERVERS"], "3");
  EXPECT_EQ(variables["PADDLE_INIT_TRAINER_ID"], "2");
  EXPECT_EQ(variables["PADDLE_INIT_NICS"], "eth0");
  EXPECT_EQ(variables["PRDIST_PROGRESS"], "/run/progress");
}

TEST(NodePlan, TrainersAloneHaveNoServers) {
  NodePlan plan;
  plan.trainers = 2;
  auto const variables = map_of(variables_of(plan, {JobRole::trainer, 1}, "/p"));
  EXPECT_FALSE(variables.contains("PADDLE_PSERVERS_IP_PORT_LIST"));
  EXPECT_FALSE(variables.contains("PADDLE_PSERVERS_NUM"));
}

TEST(NodePlan, IdsHaveToFit) {
  auto plan = two_and_three();
  plan.members = {{JobRole::server, 1}, {JobRole::trainer, 2}};
  check_plan(plan);
  plan.members = {{JobRole::trainer, 3}};
  EXPECT_EQ(error_of([&] { return check_plan(plan), 0; }),
            "prdist[config.contradiction] launcher: this is trainer 3, but the job has 3 trainers: make the numbers of "
            "pods or ranks agree with PADDLE_PSERVERS_NUM and PADDLE_TRAINERS_NUM");
}

TEST(NodePlan, AListNamesWhatIsWrongInIt) {
  EXPECT_EQ(endpoints_of("L", "a:1,[::1]:2"), (std::vector<Endpoint>{{"a", 1}, {"::1", 2}}));
  EXPECT_EQ(error_of([] { return endpoints_of("L", "a:1,b"); }),
            "prdist[config.invalid] L='a:1,b': 'b' has no port: write host:port, for example 10.0.0.4:36000");
  EXPECT_NE(error_of([] { return endpoints_of("L", "a:1,"); }), "");
}

TEST(NodePlan, TheProgressFileIsWhereAProbeLooks) {
  EXPECT_EQ(pod_progress_path(environment_of({})), "/tmp/prdist/progress");
  EXPECT_EQ(pod_progress_path(environment_of({{"TMPDIR", "/scratch"}})), "/scratch/prdist/progress");
  EXPECT_EQ(pod_progress_path(environment_of({{"PRDIST_PROGRESS", "/p"}, {"TMPDIR", "/scratch"}})), "/p");
}
