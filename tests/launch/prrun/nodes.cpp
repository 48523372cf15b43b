// SPDX-License-Identifier: Apache-2.0
// Jobs on several nodes: who meets whom, and what each is given.
#include <algorithm>
#include <fstream>

#include "node_fixture.hpp"

using launch_test::endless;
using launch_test::gone_within;
using launch_test::has;
using launch_test::Mailbox;
using launch_test::node_words;
using launch_test::patience;
using launch_test::Prrun;
using launch_test::PrrunNodes;
using launch_test::read_file;
using launch_test::shows;
using launch_test::TempFolder;
using launch_test::trainers;
using launch_test::Words;
using prdist::concat;

TEST_P(PrrunNodes, ServersAndTrainersOfAllNodesFindEachOther) {
  auto const first = node(1, {"--rank", "0"}, {PROBE_PATH});
  auto const second = node(2, {"--trainer_num", "2"}, {PROBE_PATH});
  auto const one = first->finish(patience * 2);
  auto const two = second->finish(patience * 2);
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
  std::string const greeted = "hello from server 0\nhello from server 1\n";
  EXPECT_EQ(first->log("workerlog.0"), greeted);
  EXPECT_EQ(second->log("workerlog.1"), greeted);
  EXPECT_EQ(second->log("workerlog.2"), greeted);
  EXPECT_TRUE(has(first->log("serverlog.0"), "listening=1")) << first->log("serverlog.0");
  EXPECT_TRUE(has(one.error, "is rank 0 of 2, run 1.1 of job default on " + master_)) << one.error;
  EXPECT_TRUE(has(two.error, "replicas 2[2:2], elastic False")) << two.error;
  EXPECT_TRUE(has(one.out, "[trainer 0] hello from server 1")) << one.out;
  EXPECT_FALSE(has(two.out, "[trainer 0]")) << "it runs on the other node";
}

TEST_P(PrrunNodes, EachHasTheEnvironmentThatPaddleSets) {
  auto const program = shell("env; [ $TRAINING_ROLE = TRAINER ] || exec sleep 1000");
  auto const first = node(1, {"--rank", "0", "--server_grace", "0.1"}, program);
  auto const second = node(2, {"--rank", "1", "--server_grace", "0.1"}, program);
  EXPECT_EQ(first->finish().code(), 0);
  EXPECT_EQ(second->finish().code(), 0);
  auto const trainer = second->log("workerlog.1");
  for (auto const* line :
       {"PADDLE_NNODES=2\n", "PADDLE_TRAINERS_NUM=2\n", "PADDLE_TRAINER_ID=1\n", "POD_IP=127.0.0.2\n"}) {
    EXPECT_TRUE(has(trainer, line)) << line << trainer;
  }
  EXPECT_TRUE(has(trainer, "PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:")) << trainer;
  EXPECT_TRUE(has(trainer, ",127.0.0.2:")) << trainer;
  EXPECT_TRUE(has(trainer, "PADDLE_GLOO_HTTP_ENDPOINT=127.0.0.1:")) << trainer;
  EXPECT_TRUE(has(second->log("serverlog.1"), "PADDLE_PSERVER_ID=1\n"));
}

TEST_P(PrrunNodes, ServersStayUntilTheTrainersOfAllNodesHaveFinished) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Mailbox go(folder / "go");
  auto const say = (folder / "box").string();
  auto const first = node(1, {"--server_grace", "0.1"}, shell(trainers(say, "exit 0")));
  auto const second =
      node(2, {"--server_grace", "0.1"}, shell(trainers(say, concat("read word <", (folder / "go").string()))));
  auto const pids = box.pids(4);
  ASSERT_EQ(pids.size(), 4U);
  // All have begun, and the first node's trainer has ended. Much longer than --server_grace its server is there.
  EXPECT_FALSE(gone_within(first->pid(), std::chrono::milliseconds(1500)));
  EXPECT_EQ(read_file(first->folder() / "stderr").find("Trainers completed"), std::string::npos);
  std::ofstream(folder / "go") << "go\n";
  auto const one = first->finish();
  auto const two = second->finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
  for (auto const pid : pids) EXPECT_TRUE(gone_within(pid));
}

TEST_P(PrrunNodes, ASecondJobOfTheSameNameIsRefusedAndTheFirstGoesOn) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Mailbox go(folder / "go");
  auto const wait = concat("read word <", (folder / "go").string());
  auto const program = shell(trainers((folder / "box").string(), wait));
  Words const flags{"--server_grace", "0.1", "--job_id", "ctr"};
  auto const first = node(1, flags, program);
  auto const second = node(2, flags, program);
  auto const pids = box.pids(4);
  auto const late = node(3, {"--job_id", "ctr"}, {"true"})->finish();
  EXPECT_EQ(late.code(), 78) << late.error;
  EXPECT_TRUE(has(late.error, "launcher: job 'ctr' runs already, on node ")) << late.error;
  std::ofstream(folder / "go") << "go\ngo\n";
  auto const one = first->finish();
  auto const two = second->finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
}

TEST_P(PrrunNodes, ARankThatIsTakenIsRefusedAndTheJobGoesOn) {
  auto const first = node(1, {"--rank", "0"}, {"true"});
  ASSERT_TRUE(shows(first->folder() / "stderr", "1 of 2 nodes has come")) << read_file(first->folder() / "stderr");
  EXPECT_TRUE(has(read_file(first->folder() / "stderr"), "; rank 1 is missing"));
  auto const wrong = node(3, {"--rank", "0"}, {"true"})->finish();
  EXPECT_EQ(wrong.code(), 78);
  EXPECT_TRUE(has(wrong.error, "(127.0.0.3) belongs to node ")) << wrong.error;
  EXPECT_TRUE(has(wrong.error, "(127.0.0.1) already")) << wrong.error;
  auto const second = node(2, {"--rank", "1"}, {"true"});
  EXPECT_EQ(first->finish().code(), 0);
  EXPECT_EQ(second->finish().code(), 0);
}

TEST_P(PrrunNodes, WaitingIsBoundedAndSaysWhoHasCome) {
  auto const alone = node(1, {"--wait", "1"}, {"true"})->finish();
  EXPECT_EQ(alone.code(), 75);
  EXPECT_TRUE(has(alone.error, "launcher: not all nodes were there within 1 s, 1 of 2 nodes has come, node "))
      << alone.error;
  EXPECT_TRUE(has(alone.error, "(127.0.0.1); 1 is missing: start the others with the same --master")) << alone.error;
  // Nothing of it is left: two others meet as if it had never come.
  auto const first = node(1, {}, {"true"});
  auto const second = node(2, {}, {"true"});
  EXPECT_EQ(first->finish().code(), 0);
  EXPECT_EQ(second->finish().code(), 0);
}

TEST_P(PrrunNodes, TheJobsTimeLimitHoldsWhileItWaits) {
  auto const alone = node(1, {"--timeout", "1", "--json", "report.json"}, {"true"});
  auto const ended = alone->finish();
  EXPECT_EQ(ended.code(), 124) << ended.error;
  EXPECT_TRUE(has(ended.error, "not all nodes were there within 1 s, 1 of 2 nodes has come")) << ended.error;
  EXPECT_TRUE(has(ended.error, "the job passed its time limit after ")) << ended.error;
  EXPECT_TRUE(has(read_file(alone->folder() / "report.json"), " s, before all its nodes had come: raise --timeout"));
}

TEST_P(PrrunNodes, CtrlCWhileWaitingIs130) {
  auto const alone = node(1, {}, {"true"});
  ASSERT_TRUE(shows(alone->folder() / "stderr", "1 of 2 nodes has come"));
  alone->signal(SIGINT);
  auto const ended = alone->finish();
  EXPECT_EQ(ended.code(), 130) << ended.error;
  EXPECT_TRUE(has(ended.error, "the job was stopped by SIGINT")) << ended.error;
}

// Ranks are counted over the nodes, by their rank.
TEST_P(PrrunNodes, ProcessesOfACollectiveJobKnowThoseOfAllNodes) {
  auto const first = node(1, {"--rank", "0", "--nproc_per_node", "2"}, shell("env"));
  auto const second = node(2, {"--rank", "1", "--nproc_per_node", "1"}, shell("env"));
  auto const one = first->finish();
  auto const two = second->finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
  auto const last = second->log("workerlog.2");
  for (auto const* line : {"PADDLE_TRAINER_ID=2\n", "PADDLE_TRAINERS_NUM=3\n", "PADDLE_GLOBAL_SIZE=3\n",
                           "PADDLE_GLOBAL_RANK=2\n", "PADDLE_LOCAL_SIZE=1\n", "PADDLE_LOCAL_RANK=0\n",
                           "PADDLE_NNODES=2\n", "PADDLE_CURRENT_ENDPOINT=127.0.0.2:", "PADDLE_MASTER=127.0.0.1:"}) {
    EXPECT_TRUE(has(last, line)) << line << last;
  }
  auto const line_of = [](std::string const& text, std::string const& name) {
    auto const begin = text.find("\n" + name + "=") + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  for (auto const* name : {"PADDLE_TRAINER_ENDPOINTS", "PADDLE_MASTER"}) {
    EXPECT_EQ(line_of(first->log("workerlog.1"), name), line_of(last, name));
  }
  auto const endpoints = line_of(last, "PADDLE_TRAINER_ENDPOINTS");
  EXPECT_EQ(std::ranges::count(endpoints, ','), 2) << endpoints;
  EXPECT_FALSE(has(last, "TRAINING_ROLE")) << "there are no servers";
}

// Nodes on one machine, or on a shared disk, may have one log folder.
TEST(PrrunNodesLogs, NodesMayShareTheLogFolder) {
  auto const port = prdist::bind_loopback().value();
  TempFolder folder;
  auto const words = [&](std::string const& rank) {
    return node_words("2", to_string(port.endpoint), {"--rank", rank, "--log_dir", (folder / "log").string(), "-q"},
                      {"sh", "-c", "echo $TRAINING_ROLE"});
  };
  Prrun first(words("0"));
  Prrun second(words("1"));
  auto const one = first.finish();
  auto const two = second.finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
  for (auto const* name : {"log/serverlog.0", "log/serverlog.1"}) EXPECT_EQ(read_file(folder / name), "PSERVER\n");
  for (auto const* name : {"log/workerlog.0", "log/workerlog.1"}) EXPECT_EQ(read_file(folder / name), "TRAINER\n");
}

// The logs of a job that runs are not taken from it by another one.
TEST(PrrunNodesLogs, AnotherJobMayNotShareTheLogFolder) {
  TempFolder folder;
  Mailbox box(folder / "box");
  auto const log = (folder / "log").string();
  std::vector<prdist::BoundPort> ports;  // held, so that nobody else takes them
  auto const job = [&](std::string const& id, std::string const& script) {
    ports.push_back(prdist::bind_loopback().value());
    return node_words("1:2", to_string(ports.back().endpoint),
                      {"--elastic_timeout", "1", "--job_id", id, "--log_dir", log}, {"sh", "-c", script});
  };
  Prrun first(job("one", trainers((folder / "box").string(), endless)));
  (void)box.pids(2);
  auto const other = Prrun(job("two", "true")).finish();
  EXPECT_EQ(other.code(), 78) << other.error;
  EXPECT_TRUE(has(other.error, concat("launcher: the log '", log, "/serverlog.0' is written by ",
                                      "another job: give another folder with --log_dir")))
      << other.error;
  first.signal(SIGTERM);
  EXPECT_EQ(first.finish().code(), 143);
}

// As Paddle's launcher takes it; the nodes need not spell it alike.
TEST(PrrunNodesHttp, TheFirstNodesAddressMayBeWrittenAsAUrl) {
  auto const port = prdist::bind_loopback().value();
  auto const words = [&](std::string const& scheme) {
    return node_words("2", scheme + to_string(port.endpoint), {"-q"}, {"true"});
  };
  Prrun first(words("http://"));
  Prrun second(words(""));
  auto const one = first.finish();
  auto const two = second.finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
}

// Of nodes_failing.cpp, too.
INSTANTIATE_TEST_SUITE_P(Over, PrrunNodes, testing::Values("first_node", "etcd"),
                         [](auto const& each) { return each.param; });
