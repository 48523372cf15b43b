// SPDX-License-Identifier: Apache-2.0
// Environments that manifests of others give; those of prgen's are in tests/generators/pod_roles.cpp.
#include <prdist/launch/k8s/pod_plan.hpp>

#include "../support.hpp"

using namespace prdist;
using launch_test::environment_of;
using launch_test::error_of;

namespace {

using Variables = std::map<std::string, std::string>;
constexpr auto server = JobRole::server;
constexpr auto trainer = JobRole::trainer;

Pod pod(std::string name, std::string ip, std::optional<std::size_t> index = {}) {
  return {std::move(name), std::move(ip), "Running", "", index, false};
}

/// Completes the draft from lists by selector; a selector without a list is a failure.
NodePlan plan_of(Variables const& variables, std::map<std::string, std::vector<Pod>> const& lists = {},
                 PodFlags const& flags = {}) {
  auto const environment = environment_of(variables);
  return completed(read_pod(environment, flags), environment, [&](PodQuery const& query) {
    auto const found = lists.find(query.selector);
    if (found == lists.end()) throw Error(Errc::internal, "asked for ", query.selector);
    EXPECT_EQ(query.expected, found->second.size()) << query.selector;
    return in_order(found->second);
  });
}

std::vector<std::string> hosts(NodePlan const& plan) {
  std::vector<std::string> list;
  for (auto const& each : plan.servers) list.push_back(to_string(each));
  return list;
}

using Hosts = std::vector<std::string>;
using Members = std::vector<JobMember>;

Variables const v2_document{
    {"JOB_NAME", "paddle-cluster-job"},     {"JOB_PATH", "/home/jobpath"},         {"JOB_NAMESPACE", "default"},
    {"TRAIN_CONFIG_DIR", "recommendation"}, {"CONF_PADDLE_NIC", "eth0"},           {"CONF_PADDLE_PORT", "7164"},
    {"CONF_PADDLE_PORTS_NUM", "2"},         {"CONF_PADDLE_PORTS_NUM_SPARSE", "2"}, {"CONF_PADDLE_GRADIENT_NUM", "3"}};

}  // namespace

TEST(PodPlan, EachPodOfTheV2DocumentIsAServerAndATrainer) {
  auto variables = v2_document;
  variables["HOSTNAME"] = "paddle-cluster-job-zzz";
  auto const plan = plan_of(
      variables, {{"job-name=paddle-cluster-job",
                   {pod("paddle-cluster-job-aaa", "192.168.129.71"), pod("paddle-cluster-job-zzz", "192.168.129.9"),
                    pod("paddle-cluster-job-mmm", "192.168.223.143")}}});
  EXPECT_EQ(hosts(plan), (Hosts{"192.168.129.9:7164", "192.168.129.71:7164", "192.168.223.143:7164"}));
  EXPECT_EQ(plan.members, (Members{{server, 0}, {trainer, 0}}));
  EXPECT_EQ(plan.trainers, 3U);
  EXPECT_EQ(plan.ports.dense, 2U);
  EXPECT_EQ(plan.ports.sparse, 2U);
  EXPECT_EQ(plan.ports.nics, "eth0");
  EXPECT_EQ(plan.mark, "paddle-cluster-job-zzz");
  EXPECT_EQ(plan.marks.size(), 3U);
}

TEST(PodPlan, AReplacedPodKeepsItsIdByItsIndex) {
  auto variables = v2_document;
  variables["POD_NAME"] = "job-1-new";
  auto const plan = plan_of(
      variables, {{"job-name=paddle-cluster-job",
                   {pod("job-0", "10.0.0.1", 0), pod("job-2", "10.0.0.2", 2), pod("job-1-new", "10.0.0.99", 1)}}});
  EXPECT_EQ(plan.members, (Members{{server, 1}, {trainer, 1}}));
  EXPECT_EQ(hosts(plan), (Hosts{"10.0.0.1:7164", "10.0.0.99:7164", "10.0.0.2:7164"}));
}

// PaddleRec's own Volcano Job: role and numbers are given, addresses are not. Its label was the same for every job.
TEST(PodPlan, PaddleRecsVolcanoJobIsListedByItsOwnLabels) {
  Variables variables{{"TRAINING_ROLE", "TRAINER"}, {"PADDLE_TRAINING_ROLE", "TRAINER"}, {"PADDLE_JOB_NAME", "ctr"},
                      {"PADDLE_PSERVERS_NUM", "2"}, {"PADDLE_TRAINERS_NUM", "2"},        {"PADDLE_PORT", "30240"},
                      {"POD_IP", "10.0.0.10"},      {"POD_NAME", "ctr-trainer-1"}};
  std::map<std::string, std::vector<Pod>> const lists{
      {"paddle-job-pserver=ctr", {pod("ctr-pserver-0", "10.0.0.12"), pod("ctr-pserver-1", "10.0.0.3")}},
      {"paddle-job=ctr", {pod("ctr-trainer-1", "10.0.0.10"), pod("ctr-trainer-0", "10.0.0.9")}}};
  auto const plan = plan_of(variables, lists);
  EXPECT_EQ(hosts(plan), (Hosts{"10.0.0.3:30240", "10.0.0.12:30240"}));
  EXPECT_EQ(plan.members, (Members{{trainer, 1}}));
  variables["TRAINING_ROLE"] = variables["PADDLE_TRAINING_ROLE"] = "PSERVER";
  variables["POD_IP"] = "10.0.0.12";
  variables["POD_NAME"] = "ctr-pserver-0";
  EXPECT_EQ(plan_of(variables, lists).members, (Members{{server, 1}}));
}

TEST(PodPlan, VolcanosPluginsTellWithoutTheApiserver) {
  Variables const variables{{"TRAINING_ROLE", "PSERVER"}, {"PADDLE_TRAINERS_NUM", "4"},
                            {"PADDLE_PORT", "30240"},     {"VC_PSERVER_HOSTS", "ctr-pserver-0.ctr,ctr-pserver-1.ctr"},
                            {"VC_PSERVER_NUM", "2"},      {"VC_TASK_INDEX", "1"}};
  auto const plan = plan_of(variables);
  EXPECT_EQ(hosts(plan), (Hosts{"ctr-pserver-0.ctr:30240", "ctr-pserver-1.ctr:30240"}));
  EXPECT_EQ(plan.members, (Members{{server, 1}}));
}

TEST(PodPlan, OneIndexedJobWithoutAListIsAsked) {
  Variables const variables{{"JOB_NAME", "ctr"},      {"PADDLE_PSERVERS_NUM", "1"},  {"PADDLE_TRAINERS_NUM", "2"},
                            {"PADDLE_PORT", "30240"}, {"JOB_COMPLETION_INDEX", "2"}, {"POD_NAME", "ctr-2-x"}};
  auto const plan = plan_of(
      variables, {{"job-name=ctr",
                   {pod("ctr-2-x", "10.0.0.1", 2), pod("ctr-0-y", "10.0.0.7", 0), pod("ctr-1-z", "10.0.0.5", 1)}}});
  EXPECT_EQ(hosts(plan), (Hosts{"10.0.0.7:30240"}));
  EXPECT_EQ(plan.members, (Members{{trainer, 1}}));
}

TEST(PodPlan, WithoutAnyIndexTheOrderOfAddressesTells) {
  Variables const variables{
      {"JOB_NAME", "ctr"}, {"PADDLE_PSERVERS_NUM", "1"}, {"PADDLE_TRAINERS_NUM", "2"}, {"POD_IP", "fd00::10"}};
  auto const plan =
      plan_of(variables, {{"job-name=ctr", {pod("a", "fd00::10"), pod("b", "fd00::9"), pod("c", "fd00::8")}}});
  EXPECT_EQ(hosts(plan), (Hosts{"[fd00::8]:7164"}));
  EXPECT_EQ(plan.members, (Members{{trainer, 1}}));
}

// paddle-operator v0.3.5 with intranet: Service: endpoints on 36000, PADDLE_PORT something else.
TEST(PodPlan, PaddleOperatorsPortsNeedNotAgree) {
  auto const plan = plan_of({{"TRAINING_ROLE", "PSERVER"},
                             {"PADDLE_TRAINER_ID", "1"},
                             {"PADDLE_TRAINERS_NUM", "2"},
                             {"PADDLE_PORT", "41234"},
                             {"POD_IP", "wd-ps-1"},
                             {"PADDLE_PSERVERS_IP_PORT_LIST", "wd-ps-0:36000,wd-ps-1:36000"}});
  EXPECT_EQ(plan.members, (Members{{server, 1}}));
  for (auto const& each : variables_of(plan, {server, 1}, "")) {
    if (each.name == "PADDLE_PORT") {
      EXPECT_EQ(each.value, "36000") << "the one that trainers connect to";
    }
  }
}

TEST(PodPlan, ElasticPaddleJobsNameTheirNumberOtherwise) {
  auto const plan = plan_of({{"TRAINING_ROLE", "TRAINER"}, {"PADDLE_TRAINER_ID", "2"}, {"PADDLE_ELASTIC_NP", "3"}});
  EXPECT_EQ(plan.trainers, 3U);
  EXPECT_EQ(plan.members, (Members{{trainer, 2}}));
}

TEST(PodPlan, FlagsGoFirst) {
  PodFlags flags;
  flags.identity = {server, 0};
  flags.trainers = 7;
  auto const plan = plan_of({{"TRAINING_ROLE", "TRAINER"},
                             {"PADDLE_TRAINER_ID", "1"},
                             {"PADDLE_TRAINERS_NUM", "2"},
                             {"PADDLE_PSERVERS_IP_PORT_LIST", "a:1"}},
                            {}, flags);
  EXPECT_EQ(plan.members, (Members{{server, 0}}));
  EXPECT_EQ(plan.trainers, 7U);
}

TEST(PodPlan, WhatIsWrongIsNamed) {
  EXPECT_EQ(
      error_of([] { return plan_of({}); }),
      "prdist[config.missing] k8s: PADDLE_TRAINERS_NUM is not set: the manifest has to say how many trainers there "
      "are, or give --trainer_num");
  EXPECT_EQ(error_of([] {
              return plan_of({{"PADDLE_TRAINERS_NUM", "2"}, {"PADDLE_PSERVERS_NUM", "2"}});
            }),
            "prdist[config.missing] k8s: JOB_NAME is not set: pods of this job cannot be told from others");
  EXPECT_EQ(
      error_of([] {
        return plan_of({{"PADDLE_TRAINERS_NUM", "2"},
                        {"PADDLE_PSERVERS_NUM", "2"},
                        {"JOB_COMPLETION_INDEX", "0"},
                        {"PADDLE_PSERVERS_IP_PORT_LIST", "a:1"}});
      }),
      "prdist[config.contradiction] PADDLE_PSERVERS_NUM='2' but PADDLE_PSERVERS_IP_PORT_LIST has 1: make them agree");
  auto const variables = v2_document;
  EXPECT_EQ(error_of([&] {
              return plan_of(variables, {{"job-name=paddle-cluster-job",
                                          {pod("a", "10.0.0.1"), pod("b", "10.0.0.2"), pod("c", "10.0.0.3")}}});
            }),
            "prdist[config.contradiction] k8s: this pod is none of the 3 that were listed (POD_NAME='', POD_IP='', "
            "HOSTNAME=''): set POD_NAME from the field metadata.name");
  EXPECT_EQ(
      error_of([] {
        return plan_of(
            {{"JOB_COMPLETION_INDEX", "9"}, {"PADDLE_TRAINERS_NUM", "2"}, {"PADDLE_PSERVERS_IP_PORT_LIST", "a:1"}});
      }).substr(0, 78),
      "prdist[config.contradiction] launcher: this is trainer 8, but the job has 2 tr");
}
