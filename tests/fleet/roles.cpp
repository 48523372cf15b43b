#include <prdist/fleet/roles.hpp>

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "../support/thrown.hpp"
#include "environment.hpp"

using namespace prdist;
using test::thrown;
using test::Variables;

namespace {

constexpr auto* list = "10.89.176.11:36000,10.89.176.12:36000";

// The example that everybody copies: two machines, on each a server and a trainer.
Variables server(std::string const& address) {
  return {{{"PADDLE_PSERVERS_IP_PORT_LIST", list},
           {"TRAINING_ROLE", "PSERVER"},
           {"POD_IP", address},
           {"PADDLE_PORT", "36000"},
           {"PADDLE_TRAINERS_NUM", "2"}}};
}

Variables trainer(std::string const& id) {
  return {{{"PADDLE_PSERVERS_IP_PORT_LIST", list},
           {"TRAINING_ROLE", "TRAINER"},
           {"PADDLE_TRAINERS_NUM", "2"},
           {"PADDLE_TRAINER_ID", id}}};
}

void expect_refused(Variables const& variables, Errc code, std::string const& text) {
  auto const error = thrown([&] { (void)roles_from_env(variables); });
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_EQ(error.message(), text);
}

constexpr auto* unset = " is not set: a launcher sets it (try prrun), or export it as docs/launch_contract.md shows";

}  // namespace

TEST(Roles, TheTwoMachineExampleGivesItsFourRoles) {
  std::vector<Endpoint> const servers{{"10.89.176.11", 36000}, {"10.89.176.12", 36000}};
  for (std::uint32_t index = 0; index < 2; ++index) {
    auto const of_server = roles_from_env(server(servers[index].host));
    EXPECT_EQ(of_server.role, Role::server);
    EXPECT_EQ(of_server.index, index);
    EXPECT_EQ(of_server.servers, servers);
    EXPECT_EQ(of_server.workers, 2U);
    EXPECT_EQ(of_server.listen_descriptor, -1);
    auto const of_trainer = roles_from_env(trainer(std::to_string(index)));
    EXPECT_EQ(of_trainer.role, Role::worker);
    EXPECT_EQ(of_trainer.index, index);
    EXPECT_EQ(of_trainer.servers, servers);
    EXPECT_EQ(of_trainer.workers, 2U);
  }
}

TEST(Roles, WhereTheWorkersAreIsTakenAsItIsSaid) {
  EXPECT_TRUE(roles_from_env(trainer("1")).worker_endpoints.empty());
  auto const said = trainer("1").with("PADDLE_TRAINER_ENDPOINTS", "10.89.176.11:36001,10.89.176.12:36001");
  EXPECT_EQ(roles_from_env(said).worker_endpoints,
            (std::vector<std::string>{"10.89.176.11:36001", "10.89.176.12:36001"}));
}

TEST(Roles, AMissingVariableIsNamedWithTheWayOut) {
  for (auto const* name :
       {"PADDLE_PSERVERS_IP_PORT_LIST", "TRAINING_ROLE", "POD_IP", "PADDLE_PORT", "PADDLE_TRAINERS_NUM"}) {
    expect_refused(server("10.89.176.11").without(name), Errc::config_missing, concat(name, unset));
  }
  for (auto const* name :
       {"PADDLE_PSERVERS_IP_PORT_LIST", "TRAINING_ROLE", "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ID"}) {
    expect_refused(trainer("0").without(name), Errc::config_missing, concat(name, unset));
  }
}

TEST(Roles, AnEmptyVariableIsNotAMissingOne) {
  for (auto const* name :
       {"PADDLE_PSERVERS_IP_PORT_LIST", "TRAINING_ROLE", "POD_IP", "PADDLE_PORT", "PADDLE_TRAINERS_NUM"}) {
    expect_refused(server("10.89.176.11").with(name, ""), Errc::config_invalid,
                   concat(name, "='' is empty: give it a value"));
  }
  expect_refused(trainer("0").with("PADDLE_TRAINER_ID", ""), Errc::config_invalid,
                 "PADDLE_TRAINER_ID='' is empty: give it a value");
}

TEST(Roles, ANumberThatIsNoneIsShownWithItsBounds) {
  for (std::string const wrong : {"two", "-1", "+1", "1.5", " 1", "1 ", "0x10", "99999999999999999999"}) {
    auto const says = [&](std::string const& name, std::string const& bounds) {
      return concat(name, "='", wrong, "': a number from ", bounds, " is expected");
    };
    expect_refused(trainer("0").with("PADDLE_TRAINERS_NUM", wrong), Errc::config_invalid,
                   says("PADDLE_TRAINERS_NUM", "1 to 65536"));
    expect_refused(trainer(wrong), Errc::config_invalid, says("PADDLE_TRAINER_ID", "0 to 65535"));
    expect_refused(trainer("0").with("PADDLE_PSERVERS_NUM", wrong), Errc::config_invalid,
                   says("PADDLE_PSERVERS_NUM", "1 to 65536"));
    expect_refused(server("10.89.176.11").with("PADDLE_PORT", wrong), Errc::config_invalid,
                   says("PADDLE_PORT", "1 to 65535"));
    expect_refused(server("10.89.176.11").with("PADDLE_PSERVER_ID", wrong), Errc::config_invalid,
                   says("PADDLE_PSERVER_ID", "0 to 65535"));
    expect_refused(server("10.89.176.11").with("PRDIST_LISTEN_FD", wrong), Errc::config_invalid,
                   says("PRDIST_LISTEN_FD", "3 to 1048576"));
  }
}

TEST(Roles, NumbersBeyondTheirBoundsAreRefused) {
  for (auto const& [name, value] : std::vector<std::pair<std::string, std::string>>{{"PADDLE_TRAINERS_NUM", "0"},
                                                                                    {"PADDLE_TRAINERS_NUM", "65537"},
                                                                                    {"PADDLE_PORT", "0"},
                                                                                    {"PADDLE_PORT", "65536"},
                                                                                    {"PADDLE_PSERVERS_NUM", "0"},
                                                                                    {"PADDLE_PSERVER_ID", "65536"},
                                                                                    {"PRDIST_LISTEN_FD", "2"},
                                                                                    {"PRDIST_LISTEN_FD", "1048577"}}) {
    auto const variables = server("10.89.176.11").with(name, value);
    auto const error = thrown([&] { (void)roles_from_env(variables); });
    EXPECT_EQ(error.code(), Errc::config_invalid) << name << '=' << value;
    EXPECT_TRUE(test::holds(error.what(), concat(name, "='", value, "'")));
  }
  EXPECT_EQ(roles_from_env(trainer("65535").with("PADDLE_TRAINERS_NUM", "65536")).index, 65535U);
}

TEST(Roles, ATrainerBeyondTheNumberOfTrainersIsAContradiction) {
  expect_refused(trainer("2"), Errc::config_contradiction,
                 "PADDLE_TRAINER_ID='2' but PADDLE_TRAINERS_NUM='2': ids run from 0 to 1");
}

TEST(Roles, ATrainerNeedsNothingOfAServer) {
  // And does not stumble over what a shared environment holds for servers.
  auto const roles = roles_from_env(
      trainer("1").with("POD_IP", "nonsense").with("PADDLE_PORT", "nonsense").with("PRDIST_LISTEN_FD", "x"));
  EXPECT_EQ(roles.index, 1U);
  EXPECT_EQ(roles.listen_descriptor, -1);
}

TEST(Roles, AServerNeedsNoTrainerId) {
  EXPECT_EQ(roles_from_env(server("10.89.176.12").with("PADDLE_TRAINER_ID", "x")).index, 1U);
}

TEST(Roles, ARoleIsPserverOrTrainer) {
  for (auto const* role : {"pserver", "SERVER", "WORKER", "TRAINER "}) {
    expect_refused(trainer("0").with("TRAINING_ROLE", role), Errc::config_invalid,
                   concat("TRAINING_ROLE='", role, "': PSERVER or TRAINER is expected"));
  }
}

TEST(Roles, TwoVariablesForTheRoleMustAgree) {
  for (auto const* other : {"PADDLE_TRAINING_ROLE", "PADDLE_ROLE"}) {
    EXPECT_EQ(roles_from_env(trainer("0").with(other, "TRAINER")).role, Role::worker);
    expect_refused(trainer("0").with(other, "PSERVER"), Errc::config_contradiction,
                   concat("TRAINING_ROLE='TRAINER' but ", other, "='PSERVER': unset one of them"));
  }
}

TEST(Roles, AListThatIsWrongIsShownWithThePlace) {
  auto const refused = [](std::string const& value, Errc code, std::string const& what) {
    expect_refused(trainer("0").with("PADDLE_PSERVERS_IP_PORT_LIST", value), code,
                   concat("PADDLE_PSERVERS_IP_PORT_LIST='", value, "': ", what));
  };
  auto const way_out = ": write host:port, for example 10.0.0.4:36000";
  refused("a:1,b", Errc::config_invalid, concat("'b' has no port", way_out));
  refused("a:1,,b:2", Errc::config_invalid, concat("'' has no port", way_out));
  refused("a:1,", Errc::config_invalid, concat("'' has no port", way_out));
  refused(",", Errc::config_invalid, concat("'' has no port", way_out));
  refused("a:1, b:2", Errc::config_invalid, concat("' b:2' has a character no host name has", way_out));
  refused("a:1;b:2", Errc::config_invalid, concat("'a:1;b:2' looks like IPv6 without brackets", way_out));
  refused("a:0", Errc::config_invalid, concat("'a:0' has no port between 1 and 65535", way_out));
  refused("a:1,b:1,a:1", Errc::config_contradiction, "a:1 stands there twice");
  refused("[::1]:1,[::1]:1", Errc::config_contradiction, "[::1]:1 stands there twice");
}

TEST(Roles, TheSameHostOnTwoPortsIsTwoServers) {
  auto const roles = roles_from_env(trainer("0").with("PADDLE_PSERVERS_IP_PORT_LIST", "127.0.0.1:1,127.0.0.1:2"));
  EXPECT_EQ(roles.servers.size(), 2U);
}

TEST(Roles, TheNumberOfServersMustFitTheList) {
  EXPECT_EQ(roles_from_env(trainer("0").with("PADDLE_PSERVERS_NUM", "2")).servers.size(), 2U);
  expect_refused(trainer("0").with("PADDLE_PSERVERS_NUM", "3"), Errc::config_contradiction,
                 concat("PADDLE_PSERVERS_NUM='3' but PADDLE_PSERVERS_IP_PORT_LIST='", list, "' has 2"));
}

TEST(Roles, AServerThatIsNotInTheListIsTold) {
  expect_refused(server("10.89.176.13"), Errc::config_contradiction,
                 concat("POD_IP='10.89.176.13' and PADDLE_PORT='36000' give 10.89.176.13:36000, which is not in "
                        "PADDLE_PSERVERS_IP_PORT_LIST='",
                        list, "': correct one of them, or set PADDLE_PSERVER_ID"));
  auto const other_port = server("10.89.176.11").with("PADDLE_PORT", "36001");
  EXPECT_EQ(thrown([&] { (void)roles_from_env(other_port); }).code(), Errc::config_contradiction);
}

TEST(Roles, AnAddressHasNoBrackets) {
  expect_refused(server("[::1]"), Errc::config_invalid, "POD_IP='[::1]': an address without brackets is expected");
}

TEST(Roles, AServerIdSaysItAll) {
  auto const by_id = server("10.89.176.11").without("POD_IP").without("PADDLE_PORT");
  EXPECT_EQ(roles_from_env(by_id.with("PADDLE_PSERVER_ID", "1")).index, 1U);
  // An address behind a name: the list need not hold it.
  EXPECT_EQ(roles_from_env(server("172.17.0.2").with("PADDLE_PSERVER_ID", "0")).index, 0U);
  expect_refused(
      by_id.with("PADDLE_PSERVER_ID", "2"), Errc::config_contradiction,
      concat("PADDLE_PSERVER_ID='2' but PADDLE_PSERVERS_IP_PORT_LIST='", list, "' has 2: ids run from 0 to 1"));
}

TEST(Roles, Ipv6StandsInBracketsInTheListAndBareInPodIp) {
  auto const variables = server("fd00::2").with("PADDLE_PSERVERS_IP_PORT_LIST", "[fd00::1]:36000,[fd00::2]:36000");
  auto const roles = roles_from_env(variables);
  EXPECT_EQ(roles.index, 1U);
  EXPECT_EQ(roles.servers[0].host, "fd00::1");
  auto const absent = thrown([&] { (void)roles_from_env(variables.with("POD_IP", "fd00::3")); });
  EXPECT_TRUE(test::holds(absent.what(),
                          "give [fd00::3]:36000, which is not in "
                          "PADDLE_PSERVERS_IP_PORT_LIST='[fd00::1]:36000,[fd00::2]:36000'"));
}

TEST(Roles, AServerTakesASocketFromTheLauncher) {
  EXPECT_EQ(roles_from_env(server("10.89.176.11").with("PRDIST_LISTEN_FD", "7")).listen_descriptor, 7);
}

TEST(Roles, WithoutAnArgumentTheProcessIsAsked) {
  auto const* const name = "PRDIST_TEST_VARIABLE";
  EXPECT_EQ(process_environment(name), std::nullopt);
  ASSERT_EQ(::setenv(name, "", 1), 0);
  EXPECT_EQ(process_environment(name), "") << "empty is set";
  ASSERT_EQ(::setenv(name, "7", 1), 0);
  EXPECT_EQ(process_environment(name), "7");
  ::unsetenv(name);
  for (auto const& [each, value] : trainer("1").all) ASSERT_EQ(::setenv(each.c_str(), value.c_str(), 1), 0);
  EXPECT_EQ(roles_from_env().index, 1U);
  for (auto const& [each, value] : trainer("1").all) ::unsetenv(each.c_str());
}

namespace {

// What seed documents of Paddle v2 export, on the second of two trainers.
Variables v2() {
  return {{{"PADDLE_INIT_USE_GPU", "False"},
           {"PADDLE_INIT_TRAINER_COUNT", "1"},
           {"PADDLE_INIT_PORT", "7164"},
           {"PADDLE_INIT_PORTS_NUM", "2"},
           {"PADDLE_INIT_PORTS_NUM_FOR_SPARSE", "3"},
           {"PADDLE_INIT_NUM_GRADIENT_SERVERS", "2"},
           {"PADDLE_INIT_TRAINER_ID", "1"},
           {"PADDLE_INIT_PSERVERS", "10.0.0.1,10.0.0.2,10.0.0.1"}}};
}

}  // namespace

TEST(Roles, APaddleV2TrainerIsUnderstood) {
  auto const roles = roles_from_env(v2());
  EXPECT_EQ(roles.role, Role::worker);
  EXPECT_EQ(roles.index, 1U);
  EXPECT_EQ(roles.workers, 2U);
  EXPECT_EQ(roles.ports, (PortLayout{2, 3}));
  EXPECT_EQ(roles.servers, (std::vector<Endpoint>{{"10.0.0.1", 7164}, {"10.0.0.2", 7164}, {"10.0.0.1", 7169}}));
  EXPECT_EQ(roles_from_env(v2().with("TRAINING_ROLE", "TRAINER")).index, 1U);
}

TEST(Roles, PaddleV2sDefaultsAreThoseOfItsDocuments) {
  auto const roles = roles_from_env(Variables{{{"PADDLE_INIT_PSERVERS", "127.0.0.1"}}});
  EXPECT_EQ(roles.index, 0U);
  EXPECT_EQ(roles.workers, 1U);
  EXPECT_EQ(roles.ports, (PortLayout{1, 1}));
  EXPECT_EQ(roles.servers, (std::vector<Endpoint>{{"127.0.0.1", 7164}}));
}

TEST(Roles, TheListOfEndpointsGoesBeforePaddleV2) {
  auto both = trainer("0");
  both.all.merge(v2().all);
  auto const roles = roles_from_env(both);
  EXPECT_EQ(roles.index, 0U);
  EXPECT_EQ(roles.servers.front(), (Endpoint{"10.89.176.11", 36000}));
  EXPECT_EQ(roles.ports, PortLayout{}) << "these servers have one port each";
}

TEST(Roles, WhatIsWrongInPaddleV2IsNamed) {
  expect_refused(v2().without("PADDLE_INIT_TRAINER_ID"), Errc::config_missing, concat("PADDLE_INIT_TRAINER_ID", unset));
  expect_refused(
      v2().with("PADDLE_INIT_TRAINER_ID", "2"), Errc::config_contradiction,
      "PADDLE_INIT_TRAINER_ID='2' but PADDLE_INIT_NUM_GRADIENT_SERVERS='2', which is the number of trainers: "
      "ids run from 0 to 1");
  expect_refused(v2().with("PADDLE_INIT_PORT", "0"), Errc::config_invalid,
                 "PADDLE_INIT_PORT='0': a number from 1 to 65535 is expected");
  expect_refused(v2().with("PADDLE_INIT_PORTS_NUM", "0"), Errc::config_invalid,
                 "PADDLE_INIT_PORTS_NUM='0': a number from 1 to 1024 is expected");
  expect_refused(
      v2().with("PADDLE_INIT_PSERVERS", "h:7164"), Errc::config_invalid,
      "PADDLE_INIT_PSERVERS='h:7164': 'h:7164' has a port: hosts stand there alone, their first port is given "
      "apart");
  expect_refused(v2().with("PADDLE_INIT_PSERVERS", ""), Errc::config_invalid,
                 "PADDLE_INIT_PSERVERS='' is empty: give it a value");
  expect_refused(v2().with("TRAINING_ROLE", "PSERVER"), Errc::config_contradiction,
                 "TRAINING_ROLE='PSERVER' with PADDLE_INIT_PSERVERS and without PADDLE_PSERVERS_IP_PORT_LIST: start "
                 "servers by prserver, or set the list");
}

TEST(Roles, AnElasticJobHasIdsUpToItsMost) {
  EXPECT_EQ(roles_from_env(trainer("1")).elastic, std::nullopt);
  auto const of_newcomer = roles_from_env(trainer("3").with("PRDIST_ELASTIC", "1:4"));
  EXPECT_EQ(of_newcomer.elastic, (Elastic{1, 4}));
  EXPECT_EQ(of_newcomer.index, 3U);
  EXPECT_EQ(of_newcomer.workers, 2U);
  EXPECT_EQ(roles_from_env(server("10.89.176.11").with("PRDIST_ELASTIC", "2:2")).elastic, (Elastic{2, 2}));
}

TEST(Roles, AnElasticJobThatContradictsItselfIsRefused) {
  expect_refused(trainer("4").with("PRDIST_ELASTIC", "1:4"), Errc::config_contradiction,
                 "PADDLE_TRAINER_ID='4' but PRDIST_ELASTIC='1:4': ids run from 0 to 3");
  expect_refused(trainer("0").with("PRDIST_ELASTIC", "3:4"), Errc::config_contradiction,
                 "PADDLE_TRAINERS_NUM='2' but PRDIST_ELASTIC='3:4': a job begins with as many trainers as it may have");
  expect_refused(trainer("0").with("PRDIST_ELASTIC", "1:1"), Errc::config_contradiction,
                 "PADDLE_TRAINERS_NUM='2' but PRDIST_ELASTIC='1:1': a job begins with as many trainers as it may have");
  expect_refused(trainer("0").with("PRDIST_ELASTIC", "2"), Errc::config_invalid,
                 "PRDIST_ELASTIC='2': two numbers from 1 to 65536 are expected, as in 2:4");
}
