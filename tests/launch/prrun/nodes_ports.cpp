// SPDX-License-Identifier: Apache-2.0
// Where nodes of a job are told to meet and to listen: ports that are asked for, and stores that are none or lose what
// they had.
#include <gtest/gtest.h>

#include <poll.h>

#include <memory>

#include <prdist/launch/rendezvous/address.hpp>

#include "etcd.hpp"
#include "nodes.hpp"
#include "responder.hpp"

using launch_test::Mailbox;
using launch_test::patience;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::run_prrun;
using launch_test::TempFolder;
using prdist::concat;
using Words = std::vector<std::string>;

namespace {

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// A number that is free on this address, and the `count` behind it.
std::uint16_t free_ports(std::string const& host, std::size_t count) {
  for (;;) {
    auto const first = prdist::bind_free_port(host).value().endpoint.port;
    bool fits = first + count <= 65535;
    for (std::size_t i = 0; fits && i < count; ++i) {
      auto const port = prdist::bind_endpoint({host, static_cast<std::uint16_t>(first + i)});
      fits = port && prdist::start_listening(*port);
    }
    if (fits) return first;
  }
}

std::unique_ptr<Prrun> node(int number, std::string const& master, Words more, Words const& program) {
  Words words{"--nnodes", "2", "--master", master, "--host", concat("127.0.0.", number), "--node_timeout", "3"};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return std::make_unique<Prrun>(words);
}

}  // namespace

TEST(PrrunNodesPorts, AreThoseThatAreAskedForOnEachNode) {
  auto const meeting = prdist::bind_loopback().value();
  auto const master = to_string(meeting.endpoint);
  auto const one = free_ports("127.0.0.1", 3);
  auto const two = free_ports("127.0.0.2", 2);
  auto const gloo = free_ports("127.0.0.1", 1);
  Words const script{"sh", "-c",
                     "echo $PADDLE_PSERVERS_IP_PORT_LIST $PADDLE_TRAINER_ENDPOINTS $PADDLE_GLOO_HTTP_ENDPOINT "
                     "$PADDLE_WITH_GLOO"};
  auto const flags = [&](std::uint16_t first) {
    return Words{"--start_port", concat(first), "--gloo_port", concat(gloo), "--with_gloo", "2"};
  };
  auto first_flags = flags(one);
  first_flags.insert(first_flags.end(), {"--rank", "0", "--trainer_num", "2"});
  auto const first = node(1, master, first_flags, script);
  auto const second = node(2, master, flags(two), script);
  auto const ended = first->finish(patience * 2);
  EXPECT_EQ(ended.code(), 0) << ended.error;
  EXPECT_EQ(second->finish(patience * 2).code(), 0);
  EXPECT_EQ(first->log("workerlog.0"),
            concat("127.0.0.1:", one, ",127.0.0.2:", two, " 127.0.0.1:", one + 1, ",127.0.0.1:", one + 2,
                   ",127.0.0.2:", two + 1, " 127.0.0.1:", gloo, " 2\n"));
  EXPECT_EQ(second->log("workerlog.2"), first->log("workerlog.0"));
}

TEST(PrrunNodesPorts, OneThatSomebodyHasIsNamed) {
  auto const taken = prdist::bind_endpoint({"127.0.0.1", 0}).value();
  ASSERT_TRUE(prdist::start_listening(taken));
  auto const first = node(1, to_string(prdist::bind_loopback().value().endpoint),
                          {"--start_port", concat(taken.endpoint.port)}, {"true"});
  auto const ended = first->finish();
  EXPECT_EQ(ended.code(), 78) << ended.error;
  EXPECT_TRUE(has(ended.error, concat("prdist[transport.in_use] launcher: ", to_string(taken.endpoint),
                                      " cannot be bound: Address already in use")))
      << ended.error;
}

TEST(PrrunNodesFlags, WhatAJobHasNoUseForIsSaid) {
  std::string const alone = "master is not used: the job is on this node alone; give nnodes where others meet it";
  auto const by_flag = run_prrun({"--master", "127.0.0.1:1", "--server_grace", "0", "--", "true"});
  EXPECT_EQ(by_flag.code(), 0) << by_flag.error;
  EXPECT_TRUE(has(by_flag.error, alone)) << by_flag.error;
  auto const by_variable = run_prrun({"--server_grace", "0", "--", "true"}, {{"PADDLE_MASTER", "etcd://127.0.0.1:1"}});
  EXPECT_TRUE(has(by_variable.error, alone)) << by_variable.error;
  auto const listed = run_prrun(
      {"--master", "127.0.0.1:1", "--servers", "127.0.0.1:1", "--trainers", "127.0.0.1:2", "--dry_run", "--", "true"});
  EXPECT_TRUE(has(listed.error, "master is not used: the lists name the nodes, which need not meet")) << listed.error;
  EXPECT_FALSE(has(run_prrun({"--dry_run", "--", "true"}).error, "master is not used"));
  auto const level = [](Words const& more) {
    Words words{"--nnodes", "2", "--dry_run"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "true"});
    return run_prrun(words).error;
  };
  std::string const unused =
      " is not used: max_restart says how often the job starts again, and a range of nnodes lets "
      "trainers come and go";
  EXPECT_TRUE(has(level({"--elastic_level", "0"}), "elastic_level 0" + unused)) << level({"--elastic_level", "0"});
  EXPECT_TRUE(has(level({"--elastic_level", "1"}), "elastic_level 1" + unused)) << level({"--elastic_level", "1"});
  EXPECT_FALSE(has(level({"--elastic_level", "1", "--max_restart", "2"}), "elastic_level"));
  EXPECT_FALSE(has(level({}), "elastic_level"));
}

TEST(PrrunNodesStore, AnotherProgramAtTheMastersPortEndsTheWaitingAtOnce) {
  launch_test::Responder const responder(501,
                                         "<!DOCTYPE HTML>\n<html lang=\"en\">\n<p>Unsupported method</p>\n</html>\n");
  for (auto const& master : {to_string(responder.endpoint()), concat("etcd://", to_string(responder.endpoint()))}) {
    auto const ended = node(1, master, {}, {"true"})->finish();
    EXPECT_EQ(ended.code(), 78) << ended.error;
    EXPECT_TRUE(has(ended.error, ", status 501, <!DOCTYPE HTML>: check --master, another program may have that port\n"))
        << ended.error;
    EXPECT_FALSE(has(ended.error, "<html")) << ended.error;
  }
  EXPECT_EQ(responder.asked(), 2);
}

TEST(PrrunNodesStore, AnEtcdThatComesBackEmptyIsNamedAsTheCause) {
  if (!launch_test::etcd_is_there()) GTEST_SKIP() << "etcd is not installed (Debian: etcd-server)";
  launch_test::Etcd etcd;
  TempFolder folder;
  Mailbox box(folder / "box");
  Words const script{"sh", "-c", concat("echo $$ >", (folder / "box").string(), "; exec sleep 1000")};
  auto const first = node(1, to_string(etcd.master()), {}, script);
  auto const second = node(2, to_string(etcd.master()), {}, script);
  ASSERT_EQ(box.pids(4).size(), 4U) << read_file(first->folder() / "stderr");
  etcd.kill();
  etcd.start_empty();
  for (auto* each : {first.get(), second.get()}) {
    auto const ended = each->finish(patience * 2);
    EXPECT_EQ(ended.code(), 75) << ended.error;
    EXPECT_TRUE(
        has(ended.error, "the store has lost the state of the job, as one that is started again with empty data"))
        << ended.error;
    EXPECT_FALSE(has(ended.error, "given this one up")) << ended.error;
  }
}

TEST(PrrunNodesReport, NamesWhatBecameOfEveryNode) {
  auto const meeting = prdist::bind_loopback().value();
  auto const master = to_string(meeting.endpoint);
  Words const script{
      "sh", "-c", "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; [ $PADDLE_TRAINER_ID = 0 ] || exit 7; sleep 1000"};
  auto const first = node(1, master, {"--rank", "0", "--json", "report.json"}, script);
  auto const second = node(2, master, {"--rank", "1", "--json", "report.json"}, script);
  for (auto* each : {first.get(), second.get()}) {
    auto const ended = each->finish(patience * 2);
    EXPECT_EQ(ended.code(), 7) << ended.error;
    EXPECT_TRUE(has(ended.error, " (127.0.0.2): failed with exit code 7\n")) << ended.error;
    EXPECT_TRUE(has(ended.error, "LAUNCH INFO ") && has(ended.error, " Node 0, ")) << ended.error;
    auto const report = read_file(each->folder() / "report.json");
    EXPECT_TRUE(has(report, R"("host":"127.0.0.2","state":"failed","exit_code":7})")) << report;
  }
  EXPECT_TRUE(has(read_file(first->folder() / "report.json"), R"("nodes":[{"rank":0,"name":")"));
}

TEST(PrrunNodesRestart, WaitsAndKeepsTheLogsOfTheFirstTry) {
  auto const meeting = prdist::bind_loopback().value();
  auto const master = to_string(meeting.endpoint);
  Words const script{"sh", "-c",
                     "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; [ $PADDLE_TRAINER_ID = 1 ] || sleep 1000; "
                     "echo try >>tries; echo failure $(wc -l <tries); exit 3"};
  Words const again{"--max_restart", "2", "--restart_delay", "0.3"};
  auto const first = node(1, master, again, script);
  auto const second = node(2, master, {"--rank", "1", "--max_restart", "2", "--restart_delay", "0.3"}, script);
  auto const one = first->finish(patience * 2);
  auto const two = second->finish(patience * 2);
  EXPECT_EQ(one.code(), 3) << one.error;
  EXPECT_EQ(two.code(), 3) << two.error;
  EXPECT_TRUE(has(two.error, "Restart 1 of 2 of the job in 0.3 s\n")) << two.error;
  EXPECT_TRUE(has(two.error, "Restart 2 of 2 of the job in 0.6 s\n")) << two.error;
  EXPECT_EQ(second->log("workerlog.1.try1"), "failure 1\n");
  EXPECT_EQ(second->log("workerlog.1.prev"), "failure 2\n");
  EXPECT_EQ(second->log("workerlog.1"), "failure 3\n");
}
