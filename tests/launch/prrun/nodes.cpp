// SPDX-License-Identifier: Apache-2.0
// Jobs on several nodes: a prrun for each, on addresses of 127.0.0.0/8, over a real etcd and over the first node's
// own store.
#include "nodes.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>

#include <prdist/launch/ports.hpp>

#include "etcd.hpp"

using launch_test::Etcd;
using launch_test::gone_within;
using launch_test::Mailbox;
using launch_test::patience;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::TempFolder;
using prdist::concat;
using Words = std::vector<std::string>;

namespace {

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// Waits until the file has that text; bounded.
bool shows(std::filesystem::path const& file, std::string const& text) {
  auto const deadline = std::chrono::steady_clock::now() + patience;
  while (!has(read_file(file), text)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

/// What a node of a job is started with: where all meet, its own flags, and the program behind them.
Words node_words(std::string const& nodes, std::string const& master, Words const& more, Words const& program) {
  Words words{"--nnodes", nodes, "--master", master};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

/// The process that supervises below the visible one.
pid_t worker_of(Prrun const& prrun) {
  pid_t pid = prrun.pid();
  for (int i = 0; i < 2; ++i) {  // the guard is between
    pid_t child = 0;
    std::ifstream(concat("/proc/", pid, "/task/", pid, "/children")) >> child;
    pid = child;
  }
  return pid;
}

class PrrunNodes : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "etcd") {
      if (!launch_test::etcd_is_there()) GTEST_SKIP() << "etcd is not installed (Debian: etcd-server)";
      etcd_.emplace();
      master_ = to_string(etcd_->master());
    } else {
      // Held, so that nobody else takes it; the first node may listen there all the same.
      port_ = prdist::bind_loopback().value();
      master_ = to_string(port_->endpoint);
    }
  }

  /// A node with an address of its own, that soon gives others up.
  std::unique_ptr<Prrun> node(int number, Words more, Words const& program) const {
    Words own{"--host", concat("127.0.0.", number), "--node_timeout", "2"};
    own.insert(own.end(), more.begin(), more.end());
    return std::make_unique<Prrun>(node_words("2", master_, own, program),
                                   Prrun::Variables{{"NODES_TEST_TOKEN", "do-not-tell"}});
  }
  static Words shell(std::string const& script) { return {"sh", "-c", script}; }

  std::optional<Etcd> etcd_;
  std::optional<prdist::BoundPort> port_;
  std::string master_;
};

std::string name_of_kind(testing::TestParamInfo<std::string> const& info) {
  return info.param;
}

/// A server that never ends, trainers that do what they are told; all say their pid first.
std::string trainers(std::string const& box, std::string const& script) {
  return concat("echo $$ >", box, "; [ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; ", script);
}

std::string const endless = "exec sleep 1000";

}  // namespace

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

TEST_P(PrrunNodes, AFailureEndsAllNodesWithItsCodeAndItsName) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Mailbox go(folder / "go");
  auto const say = (folder / "box").string();
  auto const first = node(1, {"--rank", "0", "--json", "report.json"}, shell(trainers(say, endless)));
  auto const second = node(2, {},
                           shell(trainers(say, concat("read word <", (folder / "go").string(),
                                                      "; echo no more rows for $NODES_TEST_TOKEN; exit 7"))));
  auto const pids = box.pids(4);
  std::ofstream(folder / "go") << "go\n";
  auto const one = first->finish();
  auto const two = second->finish();
  EXPECT_EQ(one.code(), 7) << one.error;
  EXPECT_EQ(two.code(), 7) << two.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2): trainer 1 ended with exit code 7 after ")) << one.error;
  EXPECT_TRUE(has(one.error, "log/workerlog.1 | no more rows for ***")) << one.error;
  EXPECT_FALSE(has(one.error, "do-not-tell")) << "a secret of one node on the console of another";
  EXPECT_TRUE(has(read_file(first->folder() / "report.json"), "(127.0.0.2): trainer 1 ended with exit code 7"));
  EXPECT_TRUE(has(two.error, "trainer 1 ended with exit code 7 after ")) << two.error;
  for (auto const pid : pids) EXPECT_TRUE(gone_within(pid));
}

// The node that keeps the store fails: the others hear why before the store goes.
TEST_P(PrrunNodes, TheFirstNodesFailureIsHeardToo) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Mailbox go(folder / "go");
  auto const say = (folder / "box").string();
  auto const first = node(1, {"--rank", "0"},
                          shell(trainers(say, concat("read word <", (folder / "go").string(), "; kill -SEGV $$"))));
  auto const second = node(2, {"--rank", "1"}, shell(trainers(say, endless)));
  auto const pids = box.pids(4);
  std::ofstream(folder / "go") << "go\n";
  auto const one = first->finish();
  auto const two = second->finish();
  EXPECT_EQ(one.code(), 139) << one.error;
  EXPECT_EQ(two.code(), 139) << two.error;
  EXPECT_TRUE(has(two.error, "(127.0.0.1): trainer 0 was killed by SIGSEGV")) << two.error;
  for (auto const pid : pids) EXPECT_TRUE(gone_within(pid));
}

TEST_P(PrrunNodes, CtrlCOnOneNodeEndsAll) {
  TempFolder folder;
  Mailbox box(folder / "box");
  auto const program = shell(trainers((folder / "box").string(), endless));
  auto const first = node(1, {}, program);
  auto const second = node(2, {}, program);
  auto const pids = box.pids(4);
  second->signal(SIGINT);
  auto const one = first->finish();
  EXPECT_EQ(second->finish().code(), 130);
  EXPECT_EQ(one.code(), 130) << one.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2): the job was stopped by SIGINT after ")) << one.error;
  for (auto const pid : pids) EXPECT_TRUE(gone_within(pid));
}

// The process people see is killed: its worker hears SIGTERM from the kernel, which is not what happened.
TEST_P(PrrunNodes, AKilledLauncherIsToldAsWhatItWas) {
  TempFolder folder;
  Mailbox box(folder / "box");
  auto const program = shell(trainers((folder / "box").string(), endless));
  auto const first = node(1, {"--rank", "0"}, program);
  auto const second = node(2, {"--rank", "1"}, program);
  auto const pids = box.pids(4);
  second->signal(SIGKILL);
  auto const one = first->finish();
  EXPECT_EQ(one.code(), 137) << one.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2): the job was stopped because prrun itself was killed after ")) << one.error;
  for (auto const pid : pids) EXPECT_TRUE(gone_within(pid));
}

TEST_P(PrrunNodes, ALostNodeEndsTheOthersWithItsName) {
  TempFolder folder;
  Mailbox box(folder / "box");
  auto const program = shell(trainers((folder / "box").string(), endless));
  auto const first = node(1, {"--rank", "0"}, program);
  auto const second = node(2, {"--rank", "1"}, program);
  auto const pids = box.pids(4);
  ::kill(worker_of(*second), SIGKILL);
  auto const one = first->finish();
  EXPECT_EQ(one.code(), 75) << one.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2) was lost, nothing is heard of its launcher")) << one.error;
  EXPECT_EQ(second->finish().code(), 137);
  for (auto const pid : pids) EXPECT_TRUE(gone_within(pid));
}

// A stopped machine that goes on later finds itself given up, and ends its own.
TEST_P(PrrunNodes, ANodeThatWasAwayTooLongEndsItself) {
  TempFolder folder;
  Mailbox box(folder / "box");
  auto const program = shell(trainers((folder / "box").string(), endless));
  auto const first = node(1, {"--rank", "0"}, program);
  auto const second = node(2, {"--rank", "1"}, program);
  auto const pids = box.pids(4);
  auto const worker = worker_of(*second);
  ::kill(worker, SIGSTOP);
  EXPECT_TRUE(shows(first->folder() / "stderr", "(127.0.0.2) was lost")) << read_file(first->folder() / "stderr");
  ::kill(worker, SIGCONT);
  auto const two = second->finish();
  EXPECT_EQ(two.code(), 75) << two.error;
  EXPECT_EQ(first->finish().code(), 75);
  for (auto const pid : pids) EXPECT_TRUE(gone_within(pid));
}

TEST_P(PrrunNodes, TheLossOfTheStoreEndsTheJobWithTheCause) {
  TempFolder folder;
  Mailbox box(folder / "box");
  auto const program = shell(trainers((folder / "box").string(), endless));
  auto const first = node(1, {"--rank", "0", "--store_patience", "1"}, program);
  auto const second = node(2, {"--rank", "1", "--store_patience", "1"}, program);
  auto const pids = box.pids(4);
  if (etcd_) {
    etcd_->kill();
  } else {
    ::kill(worker_of(*first), SIGKILL);
  }
  auto const two = second->finish();
  EXPECT_EQ(two.code(), 75) << two.error;
  EXPECT_TRUE(has(two.error, concat("the store ", master_))) << two.error;
  EXPECT_TRUE(has(two.error, " s ago: store: ")) << two.error;
  EXPECT_TRUE(has(two.error, "The job goes on for 1 s without its store")) << two.error;
  EXPECT_EQ(has(two.error, "(127.0.0.1) was lost"), !etcd_.has_value()) << two.error;
  EXPECT_EQ(first->finish().code(), etcd_ ? 75 : 137);
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

// Counted for the whole job, not on each node.
TEST_P(PrrunNodes, AFailureThatMayPassStartsAllMembersAgainAsOftenAsTheJobMay) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Mailbox go(folder / "go");
  auto const say = (folder / "box").string();
  Words const flags{"--max_restart", "1"};
  auto const first = node(1, flags, shell(trainers(say, endless)));
  auto const second =
      node(2, flags, shell(trainers(say, concat("read word <", (folder / "go").string(), "; exit 70"))));
  auto const before = box.pids(4);
  std::ofstream(folder / "go") << "go\n";
  auto const after = box.pids(4);
  for (auto const pid : before) EXPECT_TRUE(gone_within(pid));
  std::ofstream(folder / "go") << "go\n";
  auto const one = first->finish();
  auto const two = second->finish();
  EXPECT_EQ(one.code(), 70) << one.error;
  EXPECT_EQ(two.code(), 70) << two.error;
  EXPECT_TRUE(has(one.error, "the job forms again: node ")) << one.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2): trainer ")) << one.error;
  for (auto const pid : after) EXPECT_TRUE(gone_within(pid));
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

TEST_P(PrrunNodes, CtrlCWhileWaitingIs130) {
  auto const alone = node(1, {}, {"true"});
  ASSERT_TRUE(shows(alone->folder() / "stderr", "1 of 2 nodes has come"));
  alone->signal(SIGINT);
  auto const ended = alone->finish();
  EXPECT_EQ(ended.code(), 130) << ended.error;
  EXPECT_TRUE(has(ended.error, "the job was stopped by SIGINT")) << ended.error;
}

INSTANTIATE_TEST_SUITE_P(Over, PrrunNodes, testing::Values("first_node", "etcd"), name_of_kind);

// An etcd that comes back in time is no event.
TEST(PrrunNodesEtcd, AShortAbsenceOfEtcdIsSurvived) {
  if (!launch_test::etcd_is_there()) GTEST_SKIP() << "etcd is not installed (Debian: etcd-server)";
  Etcd etcd;
  TempFolder folder;
  Mailbox box(folder / "box");
  Mailbox go(folder / "go");
  auto const script = trainers((folder / "box").string(), concat("read word <", (folder / "go").string()));
  auto const words = [&](int number) {
    return node_words("2", to_string(etcd.master()), {"--host", concat("127.0.0.", number), "--server_grace", "0.1"},
                      {"sh", "-c", script});
  };
  Prrun first(words(1));
  Prrun second(words(2));
  (void)box.pids(4);
  etcd.kill();
  ASSERT_TRUE(shows(first.folder() / "stderr", "The job goes on for 60 s without its store"));
  etcd.start();
  EXPECT_TRUE(shows(first.folder() / "stderr", "answers again"));
  std::ofstream(folder / "go") << "go\ngo\n";
  auto const one = first.finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(second.finish().code(), 0);
}

// As Paddle's document has it: the first node prints the command for the others.
TEST(PrrunNodesInvite, TheFirstNodePrintsTheCommandForTheOthers) {
  Prrun first(
      {"--nnodes=2", "--host", "127.0.0.1", "--rank", "0", "--", "sh", "-c", "echo it\\'s trainer $PADDLE_TRAINER_ID"});
  std::string const dashes(80, '-');
  ASSERT_TRUE(shows(first.folder() / "stdout", dashes + "\n")) << read_file(first.folder() / "stderr");
  ASSERT_TRUE(shows(first.folder() / "stderr", "1 of 2 nodes has come"));
  auto const text = read_file(first.folder() / "stdout");
  auto const head = concat("Copy the following command to other nodes to run.\n", dashes, '\n');
  ASSERT_TRUE(text.starts_with(head)) << text;
  auto const command = text.substr(head.size(), text.find('\n', head.size()) - head.size());
  EXPECT_TRUE(has(command, "/prrun --master 127.0.0.1:")) << command;
  EXPECT_TRUE(command.ends_with(" --nnodes=2 -- sh -c 'echo it\\'\\''s trainer $PADDLE_TRAINER_ID'")) << command;
  TempFolder folder;
  auto const pid = prdist::spawn({"/bin/sh",
                                  {"-c", concat("cd ", folder.path().string(), " && exec ", command, " >out 2>&1")},
                                  {"PATH=/usr/bin:/bin"},
                                  STDERR_FILENO,
                                  -1})
                       .value();
  EXPECT_EQ(launch_test::reap(pid), prdist::Ending{}) << read_file(folder / "out");
  EXPECT_EQ(first.finish().code(), 0);
  EXPECT_EQ(read_file(folder / "log/workerlog.1"), "it's trainer 1\n");
}

TEST(PrrunNodesInvite, WhatIsThisNodesOwnIsLeftOutAndWhatTheEnvironmentSaidIsPutIn) {
  prrun::NodesFlags flags;
  flags.nodes_text = "3";
  Words const words{"--host=10.0.0.4", "--rank", "0", "--server-num", "2", "--", "./train", "--rank", "5", "a b"};
  EXPECT_EQ(prrun::command_for_others("prrun", {"10.0.0.4", 2500}, flags, "ctr", words, 4),
            "prrun --master 10.0.0.4:2500 --nnodes 3 --job_id ctr --server-num 2 -- ./train --rank 5 'a b'");
}

TEST(PrrunNodesInvite, ShowsNoSecretAndIsOneLine) {
  prrun::NodesFlags flags;
  flags.nodes_text = "2";
  Words const words{"--nnodes",  "2",   "--", "./train",       "--token=abc", "PASSWORD=def",
                    "--api-key", "ghi", "sh", "a\n\tb'\\\x1b", "plain"};
  EXPECT_EQ(prrun::command_for_others("prrun", {"10.0.0.4", 2500}, flags, "default", words, 8),
            "prrun --master 10.0.0.4:2500 --nnodes 2 -- ./train '--token=***' 'PASSWORD=***' --api-key '***' sh "
            "$'a\\n\\tb\\'\\\\\\x1b' plain");
  Prrun first({"--nnodes=2", "--host", "127.0.0.1", "--wait", "0.2", "--", "true", "--token=abc123", "x_my-hidden_y"},
              {{"MY_TOKEN", "my-hidden"}});
  auto const finished = first.finish();
  EXPECT_TRUE(has(finished.out, " -- true '--token=***' 'x_***_y'\n")) << finished.out;
  EXPECT_TRUE(has(finished.error, "*** in this command stands for what is secret: fill it in on the other nodes"));
  for (auto const& text : {finished.out, finished.error}) {
    EXPECT_FALSE(has(text, "abc123") || has(text, "my-hidden")) << text;
  }
}

TEST(PrrunNodesFlags, WhatIsWrongIs64) {
  for (auto const& [words, message] : std::initializer_list<std::pair<Words, std::string>>{
           {{"--nnodes", "2", "--master", "etcd://etcd-svc", "true"},
            "--master: launcher: --master 'etcd://etcd-svc' has no port: write host:port"},
           {{"--nnodes", "2", "--master", "http://x:1", "true"},
            "--master: launcher: --master 'http://x:1' has a scheme that is not etcd://: write host:port, for example "
            "10.0.0.4:36000, or etcd://host:2379"},
           {{"--nnodes", "two", "true"}, "--nnodes: 'two' is not a number from 1 to 1024, nor LEAST:MOST of them"},
           {{"--nnodes", "4:2", "true"}, "--nnodes: '4:2' is not a number"},
           {{"--nnodes", "2", "--elastic_sync", "true"}, "--elastic_sync: needs a range, such as --nnodes 2:4"},
           {{"--nnodes", "2", "--rank", "2", "true"}, "--rank: 2 is not below --nnodes 2"}}) {
    auto const finished = launch_test::run_prrun(words);
    EXPECT_EQ(finished.code(), 64) << message;
    EXPECT_TRUE(has(finished.error, message)) << finished.error;
  }
}

// As Paddle has it: with lists nobody has to meet, however many nodes there are.
TEST(PrrunNodesFlags, ListsOfEndpointsNeedNoMeeting) {
  auto const finished = launch_test::run_prrun(
      {"--nnodes", "2", "--servers", "127.0.0.1:7001", "--trainers", "127.0.0.1:7002", "--dry_run", "true"});
  EXPECT_EQ(finished.code(), 0) << finished.error;
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

TEST(PrrunNodesFlags, AnAddressOfAnotherMachineIsRefused) {
  auto const finished = launch_test::run_prrun({"--nnodes", "2", "--host", "192.0.2.1", "true"});
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "no port of '192.0.2.1' can be bound, is it an address of this machine?"))
      << finished.error;
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

namespace {

/// An elastic job of two to three nodes, over a real etcd.
class PrrunElastic : public testing::Test {
 protected:
  void SetUp() override {
    if (!launch_test::etcd_is_there()) GTEST_SKIP() << "etcd is not installed (Debian: etcd-server)";
    etcd_.emplace();
  }

  /// Every trainer says "id pid" and waits for a word of its own: FOLDER/go.ID.
  std::unique_ptr<Prrun> node(int number, Words more = {}) {
    auto const folder = folder_.path().string();
    Words own{"--host",
              concat("127.0.0.", number),
              "--job_id",
              "ctr",
              "--rank",
              number == 1 ? "0" : "-1",
              "--elastic_timeout",
              "0.5",
              "--node_timeout",
              "2",
              "--server_grace",
              "0.1"};
    own.insert(own.end(), more.begin(), more.end());
    auto const script = concat("[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; F=", folder,
                               "; [ -e $F/go.$PADDLE_TRAINER_ID ] || mkfifo $F/go.$PADDLE_TRAINER_ID; ",
                               "echo waits ${PRDIST_ELASTIC_TIMEOUT:-0} s; ",
                               "echo $PADDLE_TRAINER_ID $PADDLE_TRAINERS_NUM ${PRDIST_ELASTIC:-none} $$ >$F/box; ",
                               "read word <$F/go.$PADDLE_TRAINER_ID; exit $word");
    return std::make_unique<Prrun>(node_words("2:3", to_string(etcd_->master()), own, {"sh", "-c", script}));
  }

  /// The next trainer that has begun: its id and what it was told; the pid apart.
  std::pair<std::string, pid_t> begun() {
    auto const line = box_.next();
    auto const space = line.rfind(' ');
    pid_t pid = 0;
    EXPECT_TRUE(space != std::string::npos && prdist::parse_number(line.substr(space + 1), pid)) << "'" << line << "'";
    return {line.substr(0, space), pid};
  }
  std::map<std::string, pid_t> begun(std::size_t count) {
    std::map<std::string, pid_t> all;
    while (count-- > 0) all.insert(begun());
    return all;
  }
  void end(std::string const& id, int code) { std::ofstream(folder_ / ("go." + id)) << code << '\n'; }

  static bool lives(pid_t pid) { return ::kill(pid, 0) == 0 && !gone_within(pid, std::chrono::milliseconds(0)); }

  std::optional<Etcd> etcd_;
  TempFolder folder_;
  Mailbox box_{folder_ / "box"};
};

std::string stderr_of(Prrun const& prrun) {
  return read_file(prrun.folder() / "stderr");
}

}  // namespace

TEST_F(PrrunElastic, TrainersComeAndGoWhileTheOthersKeepTheirProcesses) {
  auto const first = node(1);
  auto const second = node(2, {"--server_num", "1"});
  auto const start = begun(2);
  ASSERT_TRUE(start.contains("0 2 2:3") && start.contains("1 2 2:3")) << start.begin()->first;
  EXPECT_TRUE(has(stderr_of(*first), "replicas 2[2:3], elastic True")) << stderr_of(*first);
  // A third comes later, with trainers only.
  auto third = node(3);
  auto const [third_says, third_pid] = begun();
  EXPECT_EQ(third_says, "2 2 2:3") << "the number it began with";
  EXPECT_EQ(third->log("serverlog.2"), "");
  // It is asked to go: no failure of the job.
  third->signal(SIGTERM);
  EXPECT_EQ(third->finish().code(), 143);
  EXPECT_TRUE(gone_within(third_pid));
  // Another has its place, and is lost with its machine.
  third = node(3);
  auto const [again_says, again_pid] = begun();
  EXPECT_EQ(again_says, "2 2 2:3");
  ::kill(worker_of(*third), SIGKILL);
  EXPECT_EQ(third->finish().code(), 137);
  EXPECT_TRUE(gone_within(again_pid));
  for (auto const& [says, pid] : start) EXPECT_TRUE(lives(pid)) << says;
  end("0", 0);
  end("1", 0);
  auto const one = first->finish();
  auto const two = second->finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
}

// Beside servers and elsewhere, and the report of a job that succeeds names it all the same.
TEST_F(PrrunElastic, AFallenTrainerIsStartedAgainAsOftenAsTheWholeJobMay) {
  auto const first = node(1, {"--max_restart", "2", "--json", "report.json"});
  auto const second = node(2, {"--max_restart", "2"});
  auto const start = begun(2);
  auto const third = node(3, {"--max_restart", "2"});
  auto const [says, pid] = begun();
  EXPECT_EQ(says, "2 2 2:3");
  end("2", 70);
  auto const [again, another_pid] = begun();
  EXPECT_EQ(again, "2 2 2:3") << "the same id";
  EXPECT_NE(another_pid, pid);
  ASSERT_TRUE(shows(first->folder() / "stderr", "(127.0.0.3): trainer 2 ended with exit code 70 after "));
  ::kill(start.at("0 2 2:3"), SIGKILL);
  EXPECT_EQ(begun().first, "0 2 2:3") << "beside servers";
  ASSERT_TRUE(shows(first->folder() / "stderr", "; it is started again, restart 2 of 2 of the job"));
  end("2", 70);
  auto const three = third->finish();
  EXPECT_EQ(three.code(), 70) << three.error;
  EXPECT_TRUE(has(three.error, "the job has no restart left of its --max_restart 2")) << three.error;
  EXPECT_TRUE(has(three.error, "log/workerlog.2, not started again")) << three.error;
  EXPECT_TRUE(lives(start.at("1 2 2:3")));
  end("0", 0);
  end("1", 0);
  auto const one = first->finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(second->finish().code(), 0);
  EXPECT_TRUE(has(one.error, concat("Fallen: trainer 0, pid ", start.at("0 2 2:3"), ", SIGKILL after "))) << one.error;
  EXPECT_TRUE(has(one.error, "log/workerlog.0, started again")) << one.error;
  EXPECT_TRUE(has(read_file(first->folder() / "report.json"), "\"fallen\":[{\"role\":\"trainer\"")) << one.error;
}

// The job goes on without it as long as the least number is there, and its servers stay.
TEST_F(PrrunElastic, ATrainerThatIsNotStartedAgainIsDoneWithout) {
  auto const first = node(1, {"--max_restart", "0", "--server_grace", "1"});
  auto const second = node(2, {"--max_restart", "0"});
  auto const third = node(3, {"--max_restart", "0", "--server_num", "0"});
  auto const start = begun(3);
  ASSERT_TRUE(start.contains("2 3 2:3")) << start.begin()->first;
  ::kill(start.at("0 3 2:3"), SIGKILL);
  ASSERT_TRUE(shows(first->folder() / "stderr", "the job has no restart left of its --max_restart 0"));
  EXPECT_FALSE(gone_within(first->pid(), std::chrono::milliseconds(1500))) << "its servers are needed";
  end("1", 0);
  end("2", 0);
  auto const one = first->finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_TRUE(has(one.error, "log/workerlog.0, not started again")) << one.error;
  EXPECT_EQ(second->finish().code(), 0);
  EXPECT_EQ(third->finish().code(), 0);
}

// Servers are on the first two of three nodes that begin the job, so the third may go.
TEST_F(PrrunElastic, OneThatBeganTheJobMayGoWhenItHasNoServers) {
  auto const first = node(1);
  auto const second = node(2, {"--rank", "1"});
  auto const third = node(3, {"--rank", "2"});
  auto const start = begun(3);
  ASSERT_TRUE(start.contains("2 3 2:3")) << start.begin()->first;
  EXPECT_EQ(third->log("serverlog.2"), "");
  EXPECT_TRUE(has(first->log("workerlog.0"), "waits 1 s")) << first->log("workerlog.0");
  third->signal(SIGTERM);
  EXPECT_EQ(third->finish().code(), 143);
  ASSERT_TRUE(shows(first->folder() / "stderr", "(127.0.0.3) has left: the job was stopped by SIGTERM"));
  EXPECT_TRUE(lives(start.at("0 3 2:3")) && lives(start.at("1 3 2:3")));
  end("0", 0);
  end("1", 0);
  auto const one = first->finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(second->finish().code(), 0);
}

TEST_F(PrrunElastic, NodesMayHaveServersOnlyOrTrainersOnly) {
  // Long enough for another to come on a slow machine.
  Words const trains{"--server_num", "0", "--elastic_timeout", "5"};
  auto const first = node(1, {"--trainer_num", "0", "--server_num", "2", "--elastic_timeout", "5"});
  auto const second = node(2, trains);
  auto third = node(3, trains);
  auto const start = begun(2);
  ASSERT_TRUE(start.contains("0 2 2:3") && start.contains("1 2 2:3")) << start.begin()->first;
  // Below the least the others wait for a while, and another comes in time.
  third->signal(SIGTERM);
  EXPECT_EQ(third->finish().code(), 143);
  third = node(3, trains);
  auto const [says, pid] = begun();
  EXPECT_TRUE(says == "1 2 2:3" || says == "0 2 2:3") << says;
  end("0", 0);
  end("1", 0);
  for (auto const& each : {&first, &second}) {
    auto const ended = (*each)->finish();
    EXPECT_EQ(ended.code(), 0) << ended.error;
  }
  EXPECT_EQ(third->finish().code(), 0);
}

TEST_F(PrrunElastic, TooFewForTooLongIs75AndSaysWhoIsMissing) {
  auto const first = node(1);
  auto const second = node(2, {"--server_num", "0"});
  auto const start = begun(2);
  ::kill(worker_of(*second), SIGKILL);
  EXPECT_EQ(second->finish().code(), 137);
  auto const one = first->finish();
  EXPECT_EQ(one.code(), 75) << one.error;
  EXPECT_TRUE(
      has(one.error, "Waiting for trainers, 0.5 s at most: 1 trainer is there and at least 2 are needed: node "))
      << one.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2) was lost, for 0.5 s: giving up")) << one.error;
  for (auto const& [says, pid] : start) EXPECT_TRUE(gone_within(pid)) << says;
}

TEST_F(PrrunElastic, AJobThatReFormsStartsAgainWithThoseThatAreThere) {
  Words const sync{"--elastic_sync", "--max_restart", "1"};
  auto const first = node(1, sync);
  auto const second = node(2, sync);
  auto const start = begun(2);
  ASSERT_TRUE(start.contains("0 2 none") && start.contains("1 2 none")) << start.begin()->first;
  auto const third = node(3, sync);
  auto const three = begun(3);
  EXPECT_TRUE(three.contains("2 3 none")) << three.begin()->first;
  for (auto const& [says, pid] : start) EXPECT_TRUE(gone_within(pid)) << says;
  EXPECT_TRUE(has(stderr_of(*first), "the job forms again: node ")) << stderr_of(*first);
  ::kill(worker_of(*third), SIGKILL);
  auto const two = begun(2);
  EXPECT_TRUE(two.contains("0 2 none") && two.contains("1 2 none")) << two.begin()->first;
  for (auto const& [says, pid] : three) EXPECT_TRUE(gone_within(pid)) << says;
  // That was the one restart, as to come is no failure; the next failure ends the job.
  end("1", 70);
  auto const one = first->finish();
  EXPECT_EQ(one.code(), 70) << one.error;
  EXPECT_EQ(second->finish().code(), 70);
}
