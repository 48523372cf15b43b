// SPDX-License-Identifier: Apache-2.0
// Jobs on several nodes of which a member, a node or the store fails.
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "node_fixture.hpp"

using launch_test::endless;
using launch_test::Etcd;
using launch_test::gone_within;
using launch_test::has;
using launch_test::Mailbox;
using launch_test::node_words;
using launch_test::Prrun;
using launch_test::PrrunNodes;
using launch_test::read_file;
using launch_test::shows;
using launch_test::TempFolder;
using launch_test::trainers;
using launch_test::Words;
using launch_test::worker_of;
using prdist::concat;

namespace {

/// Two nodes with members that run until they are ended. When a test is over, all of them have to be gone.
class PrrunEndlessNodes : public PrrunNodes {
 protected:
  void begin(Words const& more = {}) {
    Mailbox box(folder_ / "box");
    auto const program = shell(trainers((folder_ / "box").string(), endless));
    for (int number = 1; number <= 2; ++number) {
      Words flags{"--rank", std::to_string(number - 1)};
      flags.insert(flags.end(), more.begin(), more.end());
      (number == 1 ? first_ : second_) = node(number, flags, program);
    }
    pids_ = box.pids(4);
  }
  void TearDown() override {
    for (auto const pid : pids_) EXPECT_TRUE(gone_within(pid));
  }

  TempFolder folder_;
  std::unique_ptr<Prrun> first_, second_;
  std::vector<pid_t> pids_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Over, PrrunEndlessNodes, testing::Values("first_node", "etcd"),
                         [](auto const& with) { return with.param; });

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

TEST_P(PrrunEndlessNodes, CtrlCOnOneNodeEndsAll) {
  begin();
  second_->signal(SIGINT);
  auto const one = first_->finish();
  EXPECT_EQ(second_->finish().code(), 130);
  EXPECT_EQ(one.code(), 130) << one.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2): the job was stopped by SIGINT after ")) << one.error;
}

// A job that may form again after a failure does not when it is asked to end.
TEST_P(PrrunEndlessNodes, CtrlCEndsAJobThatMayFormAgain) {
  begin({"--max_restart", "1"});
  second_->signal(SIGINT);
  EXPECT_EQ(first_->finish().code(), 130);
  EXPECT_EQ(second_->finish().code(), 130);
}

TEST_P(PrrunEndlessNodes, CtrlCOnTheFirstNodeEndsAJobThatMayFormAgain) {
  begin({"--max_restart", "1"});
  first_->signal(SIGTERM);
  auto const two = second_->finish();
  EXPECT_EQ(two.code(), 143) << two.error;
  EXPECT_TRUE(has(two.error, "(127.0.0.1): the job was stopped by SIGTERM after ")) << two.error;
  EXPECT_EQ(first_->finish().code(), 143);
}

// The process people see is killed: its worker hears SIGTERM from the kernel, which is not what happened.
TEST_P(PrrunEndlessNodes, AKilledLauncherIsToldAsWhatItWas) {
  begin();
  second_->signal(SIGKILL);
  auto const one = first_->finish();
  EXPECT_EQ(one.code(), 137) << one.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2): the job was stopped because prrun itself was killed after ")) << one.error;
}

TEST_P(PrrunEndlessNodes, ALostNodeEndsTheOthersWithItsName) {
  begin();
  ::kill(worker_of(second_->pid()), SIGKILL);
  auto const one = first_->finish();
  EXPECT_EQ(one.code(), 75) << one.error;
  EXPECT_TRUE(has(one.error, "(127.0.0.2) was lost, nothing is heard of its launcher")) << one.error;
  EXPECT_EQ(second_->finish().code(), 137);
}

// A stopped machine that goes on later finds itself given up, and ends its own.
TEST_P(PrrunEndlessNodes, ANodeThatWasAwayTooLongEndsItself) {
  begin();
  auto const worker = worker_of(second_->pid());
  ::kill(worker, SIGSTOP);
  EXPECT_TRUE(shows(first_->folder() / "stderr", "(127.0.0.2) was lost")) << read_file(first_->folder() / "stderr");
  ::kill(worker, SIGCONT);
  auto const two = second_->finish();
  EXPECT_EQ(two.code(), 75) << two.error;
  EXPECT_EQ(first_->finish().code(), 75);
}

TEST_P(PrrunEndlessNodes, TheLossOfTheStoreEndsTheJobWithTheCause) {
  begin({"--store_patience", "1"});
  if (etcd_) {
    etcd_->kill();
  } else {
    ::kill(worker_of(first_->pid()), SIGKILL);
  }
  auto const two = second_->finish();
  EXPECT_EQ(two.code(), 75) << two.error;
  EXPECT_TRUE(has(two.error, concat("the store ", master_))) << two.error;
  EXPECT_TRUE(has(two.error, " s ago: store: ")) << two.error;
  EXPECT_TRUE(has(two.error, "The job goes on for 1 s without its store")) << two.error;
  EXPECT_EQ(has(two.error, "(127.0.0.1) was lost"), !etcd_.has_value()) << two.error;
  EXPECT_EQ(first_->finish().code(), etcd_ ? 75 : 137);
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
