#include <prdist/launch/environment.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

using namespace prdist;

namespace {

LaunchPlan plan_2_2() {
  LaunchPlan plan;
  plan.pod_name = "tzioxw";
  plan.log_dir = "/job/log";
  plan.servers = {{"127.0.0.1", 63334}, {"127.0.0.1", 63335}};
  plan.trainers = {{"127.0.0.1", 63336}, {"127.0.0.1", 63337}};
  plan.gloo = {"127.0.0.1", 63338};
  return plan;
}

std::map<std::string, std::string> map_of(std::vector<Variable> const& variables) {
  std::map<std::string, std::string> map;
  for (auto const& [name, value] : variables) EXPECT_TRUE(map.emplace(name, value).second) << name << " stands twice";
  return map;
}

/// What paddle.distributed.launch sets for every process of a job of 2 servers and 2 trainers.
std::map<std::string, std::string> const paddle_common{
    {"PADDLE_GLOO_FS_PATH", "/job/log/gloo"},
    {"PADDLE_GLOO_HTTP_ENDPOINT", "127.0.0.1:63338"},
    {"PADDLE_GLOO_RENDEZVOUS", "3"},
    {"PADDLE_LOG_DIR", "/job/log"},
    {"PADDLE_NNODES", "1"},
    {"PADDLE_PSERVERS_IP_PORT_LIST", "127.0.0.1:63334,127.0.0.1:63335"},
    {"PADDLE_TRAINERS_NUM", "2"},
    {"PADDLE_TRAINER_ENDPOINTS", "127.0.0.1:63336,127.0.0.1:63337"},
    {"PADDLE_WITH_GLOO", "1"},
    {"POD_IP", "127.0.0.1"},
    {"POD_NAME", "tzioxw"},
    {"PYTHONUNBUFFERED", "1"},
};

}  // namespace

TEST(Environment, OfAServerIsPaddlesAndOurs) {
  auto expected = paddle_common;
  expected.insert({{"PADDLE_PORT", "63335"},
                   {"PADDLE_ROLE", "PSERVER"},
                   {"TRAINING_ROLE", "PSERVER"},
                   {"PADDLE_PSERVER_ID", "1"},
                   {"PRDIST_LISTEN_FD", "7"}});
  EXPECT_EQ(map_of(variables_of(plan_2_2(), {JobRole::server, 1}, 7)), expected);
}

TEST(Environment, OfATrainerIsPaddlesAndOurs) {
  auto expected = paddle_common;
  expected.insert({{"PADDLE_PORT", "63336"},
                   {"PADDLE_ROLE", "TRAINER"},
                   {"TRAINING_ROLE", "TRAINER"},
                   {"PADDLE_TRAINER_ID", "0"},
                   {"PRDIST_PROGRESS", "/job/log/progress.0"}});
  EXPECT_EQ(map_of(variables_of(plan_2_2(), {JobRole::trainer, 0})), expected);
}

TEST(Environment, OfPaddleV2HasEachTrainersOwnId) {
  auto plan = plan_2_2();
  plan.paddle_v2 = true;
  EXPECT_EQ(map_of(variables_of(plan, {JobRole::trainer, 1})).at("PADDLE_INIT_TRAINER_ID"), "1");
  EXPECT_FALSE(map_of(variables_of(plan, {JobRole::server, 1})).contains("PADDLE_INIT_TRAINER_ID"));
}

// As captured from paddle.distributed.launch --nproc_per_node 2, and PADDLE_AUTO_CLUSTER of later versions.
TEST(Environment, OfACollectiveProcessIsPaddlesAndOurs) {
  LaunchPlan plan;
  plan.mode = JobMode::collective;
  plan.pod_name = "dgpwme";
  plan.log_dir = "/job/log";
  plan.trainers = {{"127.0.0.1", 61614}, {"127.0.0.1", 61615}};
  plan.gloo = {"127.0.0.1", 61613};
  std::map<std::string, std::string> expected{{"PADDLE_AUTO_CLUSTER", "0"},
                                              {"PADDLE_CURRENT_ENDPOINT", "127.0.0.1:61615"},
                                              {"PADDLE_DISTRI_BACKEND", "gloo"},
                                              {"PADDLE_GLOBAL_RANK", "1"},
                                              {"PADDLE_GLOBAL_SIZE", "2"},
                                              {"PADDLE_LOCAL_RANK", "1"},
                                              {"PADDLE_LOCAL_SIZE", "2"},
                                              {"PADDLE_LOG_DIR", "/job/log"},
                                              {"PADDLE_MASTER", "127.0.0.1:61613"},
                                              {"PADDLE_NNODES", "1"},
                                              {"PADDLE_RANK_IN_NODE", "1"},
                                              {"PADDLE_TRAINERS_NUM", "2"},
                                              {"PADDLE_TRAINER_ENDPOINTS", "127.0.0.1:61614,127.0.0.1:61615"},
                                              {"PADDLE_TRAINER_ID", "1"},
                                              {"POD_NAME", "dgpwme"},
                                              {"PRDIST_PROGRESS", "/job/log/progress.1"},
                                              {"PYTHONUNBUFFERED", "1"}};
  EXPECT_EQ(map_of(variables_of(plan, {JobRole::trainer, 1})), expected);
  plan.cards = {"1", "2"};
  auto const variables = map_of(variables_of(plan, {JobRole::trainer, 1}));
  EXPECT_EQ(variables.at("FLAGS_selected_gpus"), "2");
  EXPECT_FALSE(variables.contains("PADDLE_DISTRI_BACKEND"));
}

TEST(Environment, AListThatNoEnvironmentCouldHoldIsLeftOut) {
  auto plan = plan_2_2();
  auto const endpoint = to_string(plan.trainers.front());
  plan.trainers.assign(120 * 1024 / (endpoint.size() + 1), plan.trainers.front());
  auto const variables = map_of(variables_of(plan, {JobRole::trainer, 1}));
  ASSERT_LT(variables.at("PADDLE_TRAINER_ENDPOINTS").size(), 120U * 1024);
  plan.trainers.push_back(plan.trainers.front());
  EXPECT_FALSE(map_of(variables_of(plan, {JobRole::trainer, 1})).contains("PADDLE_TRAINER_ENDPOINTS"));
}

TEST(Environment, WithoutASocketNamesNone) {
  EXPECT_FALSE(map_of(variables_of(plan_2_2(), {JobRole::server, 0})).contains("PRDIST_LISTEN_FD"));
}

TEST(Environment, BracketsIpv6HostsInLists) {
  auto plan = plan_2_2();
  plan.servers = {{"fd00::1", 36000}};
  auto const variables = map_of(variables_of(plan, {JobRole::server, 0}));
  EXPECT_EQ(variables.at("PADDLE_PSERVERS_IP_PORT_LIST"), "[fd00::1]:36000");
  EXPECT_EQ(variables.at("POD_IP"), "fd00::1");
}

TEST(Environment, PassesOnWhatIsInheritedButProxiesAndWhatIsAnotherMembers) {
  std::vector<std::string> const inherited{"HOME=/home/me",
                                           "http_proxy=http://p:1",
                                           "HTTPS_PROXY=http://p:1",
                                           "all_proxy=socks://",
                                           "PADDLE_TRAINER_ID=9",
                                           "PRDIST_LISTEN_FD=3",
                                           "TRAINING_ROLE=OLD",
                                           "PADDLE_TRAINING_ROLE=TRAINER",
                                           "PADDLE_PSERVERS_NUM=7",
                                           "EMPTY=",
                                           "ODD"};
  std::vector<Variable> const own{{"TRAINING_ROLE", "PSERVER"}, {"PADDLE_PSERVER_ID", "0"}};
  std::vector<std::string> const expected{"HOME=/home/me", "EMPTY=", "ODD", "TRAINING_ROLE=PSERVER",
                                          "PADDLE_PSERVER_ID=0"};
  EXPECT_EQ(environment_with(inherited, own), expected);
}

TEST(Environment, OfThisProcessIsReadWhole) {
  ASSERT_EQ(::setenv("PRDIST_TEST_MARK", "a=b c", 1), 0);
  auto const environment = current_environment();
  EXPECT_NE(std::ranges::find(environment, "PRDIST_TEST_MARK=a=b c"), environment.end());
  ::unsetenv("PRDIST_TEST_MARK");
}

TEST(Environment, AnElasticJobSaysHowItBeganAndHowFarItGoes) {
  auto plan = plan_2_2();
  EXPECT_FALSE(map_of(variables_of(plan, {JobRole::trainer, 1})).contains("PRDIST_ELASTIC"));
  plan.trainers.push_back({"127.0.0.1", 63339});
  plan.trainers_num = 2;
  plan.elastic = "2:8";
  auto const variables = map_of(variables_of(plan, {JobRole::trainer, 2}));
  EXPECT_EQ(variables.at("PRDIST_ELASTIC"), "2:8");
  EXPECT_EQ(variables.at("PADDLE_TRAINERS_NUM"), "2");
  EXPECT_EQ(variables.at("PADDLE_TRAINER_ID"), "2");
}
