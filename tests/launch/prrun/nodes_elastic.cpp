// SPDX-License-Identifier: Apache-2.0
// Elastic jobs: trainers come and go while the others keep their processes.
#include <fstream>
#include <map>
#include <memory>

#include "node_fixture.hpp"

using launch_test::Etcd;
using launch_test::gone_within;
using launch_test::has;
using launch_test::Mailbox;
using launch_test::node_words;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::shows;
using launch_test::stderr_of;
using launch_test::TempFolder;
using launch_test::Words;
using launch_test::worker_of;
using prdist::concat;

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
  ::kill(worker_of(third->pid()), SIGKILL);
  EXPECT_EQ(third->finish().code(), 137);
  EXPECT_TRUE(gone_within(again_pid));
  for (auto const& [says, pid] : start) EXPECT_TRUE(lives(pid)) << says;
  end("0", 0);
  end("1", 0);
  auto const one = first->finish();
  auto const two = second->finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
  // By its own word, or because nothing is heard of it.
  auto const gone = one.error.find(" Gone: node ");
  ASSERT_NE(gone, std::string::npos) << one.error;
  EXPECT_TRUE(has(one.error.substr(gone, 100), " (127.0.0.3) ")) << one.error;
}

// It waits to be started again, and the data comes to its end: nobody has failed.
TEST_F(PrrunElastic, ATrainerThatFellBeforeTheEndOfTheDataFailsNobody) {
  Words const patient{"--max_restart", "2", "--restart_delay", "600"};
  auto const first = node(1, patient);
  auto const second = node(2, patient);
  auto const start = begun(2);
  auto const third = node(3, patient);
  auto const [says, pid] = begun();
  ::kill(pid, SIGKILL);
  ASSERT_TRUE(shows(first->folder() / "stderr", "; it is started again, restart 1 of 2 of the job")) << says;
  end("0", 0);
  end("1", 0);
  for (auto const* const each : {&first, &second, &third}) {
    auto const finished = (*each)->finish();
    EXPECT_EQ(finished.code(), 0) << finished.error;
  }
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
  ::kill(worker_of(second->pid()), SIGKILL);
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
  ::kill(worker_of(third->pid()), SIGKILL);
  auto const two = begun(2);
  EXPECT_TRUE(two.contains("0 2 none") && two.contains("1 2 none")) << two.begin()->first;
  for (auto const& [says, pid] : three) EXPECT_TRUE(gone_within(pid)) << says;
  // That was the one restart, as to come is no failure; the next failure ends the job.
  end("1", 70);
  auto const one = first->finish();
  EXPECT_EQ(one.code(), 70) << one.error;
  EXPECT_EQ(second->finish().code(), 70);
}
