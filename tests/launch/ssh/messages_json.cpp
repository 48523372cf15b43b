// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/ssh/messages_json.hpp>

#include "../support.hpp"

using namespace prdist;
using launch_test::error_of;

namespace {

boost::json::object sent(boost::json::object const& message) {
  auto line = line_of(message);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1) << "one line, whatever it holds";
  line.pop_back();
  return parse_message(line);
}

}  // namespace

TEST(SshMessages, AJobArrivesAsItWasSent) {
  AgentJob job;
  job.job_id = "ctr";
  job.node = 1;
  job.host = "node1";
  job.nics = "eth0";
  job.members = {{JobRole::server, 1}, {JobRole::trainer, 3}};
  job.program = "./train";
  job.arguments = {"--x", "two\nlines", "\xff\xfe"};  // arguments are bytes
  job.environment = {"TOKEN=a \"b\""};
  job.port = 7164;
  job.width = 2;
  job.hand_over_sockets = false;
  job.grace = std::chrono::milliseconds(1500);
  auto const read = agent_job_of(sent(to_json(job)));
  EXPECT_EQ(to_json(read), to_json(job));
  EXPECT_EQ(read.arguments, job.arguments);
  EXPECT_EQ(read.members, job.members);
}

TEST(SshMessages, ReadinessPlanAndEndingsArriveAsTheyWereSent) {
  auto const ready = node_ready_of(sent(to_json(NodeReady{"10.0.0.1", {1, 65535}, 3})));
  EXPECT_EQ(ready.address, "10.0.0.1");
  EXPECT_EQ(ready.ports, (std::vector<std::uint16_t>{1, 65535}));
  LaunchPlan plan;
  plan.pod_name = "abcdef";
  plan.servers = {{"fd00::1", 1}};
  plan.trainers = {{"a", 2}, {"b", 3}};
  plan.gloo = {"a", 4};
  auto const read = plan_of_message(sent(plan_to_json(plan)));
  EXPECT_EQ(read.servers, plan.servers);
  EXPECT_EQ(read.trainers, plan.trainers);
  EXPECT_EQ(read.gloo, plan.gloo);
  MemberReport report{{JobRole::trainer, 7}, 12, Ending{0, SIGSEGV, true}, 1.5, false, "log"};
  auto const ended = ended_of(sent(ended_to_json(report)));
  EXPECT_EQ(ended.member, report.member);
  EXPECT_EQ(ended.ending, report.ending);
  EXPECT_EQ(ended.seconds, 1.5);
  report.ending = Ending{0, SIGKILL, false, true};
  EXPECT_EQ(ended_of(sent(ended_to_json(report))).ending, report.ending);
  EXPECT_FALSE(ended_of(sent(ended_to_json(report))).too_late);
  report.too_late = true;
  EXPECT_TRUE(ended_of(sent(ended_to_json(report))).too_late);
  report.ending.reset();
  EXPECT_FALSE(ended_of(sent(ended_to_json(report))).ending);
}

TEST(SshMessages, WhatIsNoMessageIsRefused) {
  for (std::string const line : {"", "Welcome to node1", "[]", "{}", "{\"say\":1}", "{\"say\":\"job\""}) {
    EXPECT_EQ(error_of([&] { return parse_message(line); }),
              concat("prdist[wire.message] ssh: '", line,
                     "' is no message of an agent: are both sides the same version of prrun?"));
  }
  auto const lacks = [](std::string_view name) {
    return concat("prdist[wire.message] ssh: a message lacks a right '", name,
                  "': are both sides the same version of prrun?");
  };
  auto message = to_json(AgentJob{});
  EXPECT_EQ(error_of([&] { return agent_job_of(message); }), lacks("members")) << "a node without members";
  message["members"] = boost::json::array{"servant 1"};
  EXPECT_EQ(error_of([&] { return agent_job_of(message); }), lacks("member"));
  message["members"] = boost::json::array{"server 1"};
  message["port"] = 70000;
  EXPECT_EQ(error_of([&] { return agent_job_of(message); }), lacks("port"));
  message.erase("program");
  EXPECT_EQ(error_of([&] { return agent_job_of(message); }), lacks("program"));
}
