// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/identity.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::environment_of;
using launch_test::error_of;

namespace {

using Variables = std::map<std::string, std::string>;
constexpr auto server = JobRole::server;
constexpr auto trainer = JobRole::trainer;

std::vector<Endpoint> const two_servers{{"10.0.0.1", 41234}, {"10.0.0.10", 41234}};

std::optional<JobMember> identity(Variables const& variables, GivenIdentity const& given = {},
                                  std::size_t servers = 2) {
  return identity_from_env(environment_of(variables), given, two_servers, servers);
}

}  // namespace

TEST(Identity, EachSourceGoesBeforeTheNext) {
  Variables all{{"TRAINING_ROLE", "TRAINER"}, {"PADDLE_TRAINER_ID", "6"}, {"JOB_COMPLETION_INDEX", "5"},
                {"VC_TASK_INDEX", "4"},       {"PMI_RANK", "3"},          {"PMI_SIZE", "9"}};
  EXPECT_EQ(identity(all, {trainer, 7}), (JobMember{trainer, 7}));
  EXPECT_EQ(identity(all), (JobMember{trainer, 6}));
  all.erase("PADDLE_TRAINER_ID");
  EXPECT_EQ(identity(all), (JobMember{trainer, 5}));
  all.erase("JOB_COMPLETION_INDEX");
  EXPECT_EQ(identity(all), (JobMember{trainer, 4}));
  all.erase("VC_TASK_INDEX");
  EXPECT_EQ(identity(all), (JobMember{trainer, 1})) << "ranks count the servers as well";
  all.erase("PMI_RANK");
  EXPECT_EQ(identity(all), std::nullopt);
}

TEST(Identity, InOneIndexedJobTheFirstPodsAreServers) {
  EXPECT_EQ(identity({{"JOB_COMPLETION_INDEX", "0"}}), (JobMember{server, 0}));
  EXPECT_EQ(identity({{"JOB_COMPLETION_INDEX", "1"}}), (JobMember{server, 1}));
  EXPECT_EQ(identity({{"JOB_COMPLETION_INDEX", "2"}}), (JobMember{trainer, 0}));
  EXPECT_EQ(identity({{"JOB_COMPLETION_INDEX", "9"}}), (JobMember{trainer, 7}));
}

TEST(Identity, AnIdTellsTheRoleAndGoesBeforeAnIndex) {
  EXPECT_EQ(identity({{"PADDLE_TRAINER_ID", "3"}, {"JOB_COMPLETION_INDEX", "0"}}), (JobMember{trainer, 3}));
  EXPECT_EQ(identity({{"PADDLE_PSERVER_ID", "1"}, {"JOB_COMPLETION_INDEX", "7"}}), (JobMember{server, 1}));
  EXPECT_EQ(identity({{"PADDLE_TRAINER_ID", "2"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "9"}}), (JobMember{trainer, 2}));
  EXPECT_EQ(
      error_of([] {
        return identity({{"PADDLE_TRAINER_ID", "2"}, {"PADDLE_PSERVER_ID", "1"}});
      }),
      "prdist[config.contradiction] PADDLE_TRAINER_ID='2' and PADDLE_PSERVER_ID='1' name two members: unset one of "
      "them, or say by TRAINING_ROLE which it is");
}

TEST(Identity, WithARoleTheIndexCountsWithinIt) {
  EXPECT_EQ(identity({{"TRAINING_ROLE", "PSERVER"}, {"VC_TASK_INDEX", "1"}}), (JobMember{server, 1}));
  EXPECT_EQ(identity({{"PADDLE_TRAINING_ROLE", "TRAINER"}, {"VK_TASK_INDEX", "0"}}), (JobMember{trainer, 0}));
}

// A trainer's id on a server's pod is paddle-operator's habit; it is no server's id.
TEST(Identity, AServerFindsItselfInTheList) {
  Variables pod{{"TRAINING_ROLE", "PSERVER"}, {"PADDLE_TRAINER_ID", "0"}, {"POD_IP", "10.0.0.10"}};
  pod["PADDLE_PORT"] = "41234";
  EXPECT_EQ(identity(pod), (JobMember{server, 1}));
  // With intranet: Service its PADDLE_PORT is another one than that of the endpoints.
  pod["PADDLE_PORT"] = "55555";
  EXPECT_EQ(identity(pod), (JobMember{server, 1}));
  // 10.0.0.1 begins 10.0.0.10 and is not it.
  pod["POD_IP"] = "10.0.0.100";
  EXPECT_EQ(identity(pod), std::nullopt);
}

TEST(Identity, AHostOfTwoServersIsNotEnough) {
  std::vector<Endpoint> const shared{{"node", 1}, {"node", 2}};
  auto const env = environment_of({{"TRAINING_ROLE", "PSERVER"}, {"POD_IP", "node"}});
  EXPECT_EQ(identity_from_env(env, {}, shared, 2), std::nullopt);
}

TEST(Identity, RolesMustAgree) {
  EXPECT_EQ(error_of([] {
              return identity({{"TRAINING_ROLE", "PSERVER"}, {"PADDLE_ROLE", "TRAINER"}});
            }),
            "prdist[config.contradiction] PADDLE_ROLE='TRAINER' but TRAINING_ROLE says otherwise: unset one of them");
  EXPECT_EQ(error_of([] {
              return identity({{"TRAINING_ROLE", "pserver"}});
            }),
            "prdist[config.invalid] TRAINING_ROLE='pserver': PSERVER or TRAINER is expected");
  EXPECT_EQ(error_of([] {
              return identity({{"TRAINING_ROLE", "TRAINER"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "3"}});
            }),
            "prdist[config.contradiction] PMI_RANK='1' is a server of a job with 2 servers, but the role is trainer: "
            "servers come first; unset TRAINING_ROLE or change --server_num");
}
