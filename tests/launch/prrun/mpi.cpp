// SPDX-License-Identifier: Apache-2.0
// prrun mpi inside of a real mpirun, and with ranks of other launchers.
#include <poll.h>

#include <prdist/launch/ports.hpp>
#include <prdist/launch/program.hpp>
#include <sstream>

#include "../support.hpp"

using launch_test::has;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::run_prrun;
using launch_test::TempFolder;
using launch_test::write_file;
using prdist::concat;

namespace {

/// mpirun with `ranks` ranks of prrun, in `folder`; its output goes to FOLDER/out.
pid_t start_mpirun(TempFolder const& folder, int ranks, std::vector<std::string> const& words) {
  std::vector<std::string> arguments{"-c",
                                     R"(cd "$0" && exec mpirun --oversubscribe "$@")",
                                     folder.path().string(),
                                     "-n",
                                     std::to_string(ranks),
                                     PRRUN_PATH,
                                     "mpi"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  prdist::Descriptor const out(::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644));
  auto const pid = prdist::spawn({"/bin/sh",
                                  arguments,
                                  {"PATH=/usr/bin:/bin", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                   concat("HOME=", folder.path().string())},
                                  out.get(),
                                  -1});
  return pid.value();
}

std::optional<prdist::Ending> mpirun(TempFolder const& folder, int ranks, std::vector<std::string> const& words) {
  return launch_test::reap(start_mpirun(folder, ranks, words), launch_test::patience * 2);
}

class PrrunUnderMpirun : public testing::Test {
 protected:
  void SetUp() override {
    if (!prdist::find_program("mpirun", "/usr/bin:/bin", "")) {
      GTEST_SKIP() << "mpirun is not installed (Debian: openmpi-bin)";
    }
  }
  TempFolder folder_;
};

}  // namespace

TEST_F(PrrunUnderMpirun, RanksAreServersAndTrainers) {
  auto const ending = mpirun(folder_, 3,
                             {"--port", "7000", "--", "sh", "-c",
                              "echo $TRAINING_ROLE $PADDLE_PSERVER_ID$PADDLE_TRAINER_ID "
                              "$PADDLE_PSERVERS_IP_PORT_LIST $PADDLE_TRAINERS_NUM"});
  EXPECT_EQ(ending, prdist::Ending{}) << read_file(folder_ / "out");
  EXPECT_EQ(read_file(folder_ / "log/node_0/server.log"), "PSERVER 0 127.0.0.1:7000 2\n");
  EXPECT_EQ(read_file(folder_ / "log/node_0/train.log"), "TRAINER 0 127.0.0.1:7000 2\n");
  EXPECT_EQ(read_file(folder_ / "log/node_1/train.log"), "TRAINER 1 127.0.0.1:7000 2\n");
  EXPECT_TRUE(has(read_file(folder_ / "out"), "TRAINER 1 127.0.0.1:7000 2\n")) << "mpirun shows it too";
}

// Servers and trainers that find each other over a socket.
TEST_F(PrrunUnderMpirun, TheyTalkToEachOther) {
  // A port nobody has: it stays bound, not listening, so that a server with SO_REUSEADDR can have it.
  auto const port = prdist::bind_loopback().value();
  auto const ending = mpirun(folder_, 2, {"--port", std::to_string(port.endpoint.port), "--", FOREIGN_PATH});
  EXPECT_EQ(ending, prdist::Ending{}) << read_file(folder_ / "out");
  EXPECT_EQ(read_file(folder_ / "log/node_0/train.log"), "hello\n");
}

// Paddle's servers never end by themselves, and mpirun waits for every rank.
TEST_F(PrrunUnderMpirun, AServerThatNeverEndsIsEndedAfterTheTrainers) {
  auto const ending = mpirun(
      folder_, 3,
      {"--server_grace", "0.1", "--", "sh", "-c", "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; echo trained"});
  EXPECT_EQ(ending, prdist::Ending{}) << read_file(folder_ / "out");
  EXPECT_EQ(read_file(folder_ / "log/node_1/train.log"), "trained\n");
}

TEST_F(PrrunUnderMpirun, EveryRankCanBeBothAsStartMpiTrainHasIt) {
  auto const ending = mpirun(folder_, 2,
                             {"--both", "--server_grace", "0.1", "--", "sh", "-c",
                              "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; "
                              "echo $PADDLE_INIT_TRAINER_ID of $PADDLE_INIT_PSERVERS"});
  EXPECT_EQ(ending, prdist::Ending{}) << read_file(folder_ / "out");
  EXPECT_EQ(read_file(folder_ / "log/node_1/train.log"), "1 of 127.0.0.1,127.0.0.1\n");
}

TEST_F(PrrunUnderMpirun, AFailureEndsTheJobWithItsCode) {
  auto const ending =
      mpirun(folder_, 3, {"--", "sh", "-c", "[ \"$PADDLE_TRAINER_ID\" = 1 ] && exit 7; exec sleep 1000"});
  ASSERT_TRUE(ending) << "mpirun did not end";
  EXPECT_EQ(prdist::exit_code(*ending), 7) << read_file(folder_ / "out");
  EXPECT_TRUE(has(read_file(folder_ / "out"), "trainer 1 ended with exit code 7 after ")) << read_file(folder_ / "out");
}

// A process of one rank's prrun is killed: mpirun ends the other ranks, nothing is left, and the output says whose it
// was.
TEST_F(PrrunUnderMpirun, AKilledLauncherEndsTheJobAndIsNamed) {
  for (auto const& [generation, says] :
       {std::pair<int, std::string>{1, "the launcher was killed by SIGKILL after "},
        {2, " trainer 1: the launcher was killed by SIGKILL after "},
        {3, " trainer 1: the job was stopped because prrun itself was killed after "}}) {
    TempFolder folder;
    launch_test::Mailbox box(folder / "box");
    auto const pid = start_mpirun(folder, 3,
                                  {"--", "sh", "-c",
                                   "setsid sleep 1000 & echo how far; "
                                   "echo ${PADDLE_TRAINER_ID:-server} $! $$ >box; exec sleep 1000"});
    pid_t victim = 0;
    std::vector<pid_t> pids;
    for (int i = 0; i < 3; ++i) {
      std::istringstream words(box.next());
      std::string id;
      pid_t grandchild = 0;
      pid_t member = 0;
      words >> id >> grandchild >> member;
      ASSERT_GT(member, 1) << read_file(folder / "out");
      pids.insert(pids.end(), {grandchild, member});
      if (id == "1") victim = member;
    }
    ASSERT_GT(victim, 1);
    // A member may run before its launcher has noted that it does.
    for (auto left = 2000; !has(read_file(folder / "out"), "trainer 1 of 2, pid ") && left > 0; --left) {
      ::poll(nullptr, 0, 10);
    }
    for (int i = 0; i < generation; ++i) victim = launch_test::parent_of(victim);
    ASSERT_GT(victim, 1);
    ::kill(victim, SIGKILL);
    auto const ending = launch_test::reap(pid, launch_test::patience * 2);
    ASSERT_TRUE(ending) << "mpirun did not end";
    auto const out = read_file(folder / "out");
    EXPECT_EQ(prdist::exit_code(*ending), 137) << out;
    EXPECT_TRUE(has(out, says)) << out;
    if (generation == 1) {
      EXPECT_TRUE(has(out, "\n0     trainer 1  ") && has(out, "SIGKILL, stopped")) << out;
    }
    for (auto const each : pids) EXPECT_TRUE(launch_test::gone_within(each)) << out;
  }
}

// Nobody is left to end the ranks, so they do it themselves.
TEST_F(PrrunUnderMpirun, AKilledMpirunEndsTheJob) {
  launch_test::Mailbox box(folder_ / "box");
  auto const pid = start_mpirun(
      folder_, 2, {"--", "sh", "-c", "setsid sleep 1000 & echo $! $$ >box; trap 'exit 9' TERM; sleep 1000 & wait"});
  std::vector<pid_t> pids;
  for (int i = 0; i < 2; ++i) {
    std::istringstream words(box.next());
    pid_t grandchild = 0, member = 0;
    words >> grandchild >> member;
    ASSERT_GT(member, 1) << read_file(folder_ / "out");
    pids.insert(pids.end(), {grandchild, member, launch_test::parent_of(member)});
  }
  ::kill(pid, SIGKILL);
  EXPECT_EQ(launch_test::reap(pid), (prdist::Ending{0, SIGKILL, false}));
  for (auto const each : pids) EXPECT_TRUE(launch_test::gone_within(each)) << read_file(folder_ / "out");
}

TEST(PrrunMpi, RanksOfOtherLaunchersAreTaken) {
  for (auto const& [rank, size, more] : std::vector<std::tuple<std::string, std::string, Prrun::Variables>>{
           {"PMI_RANK", "PMI_SIZE", {{"MPI_LOCALNRANKS", "3"}}},
           {"SLURM_PROCID", "SLURM_NTASKS", {{"SLURM_JOB_NUM_NODES", "1"}}}}) {
    auto variables = more;
    variables[rank] = "2";
    variables[size] = "3";
    auto const finished =
        run_prrun({"mpi", "-q", "--", "sh", "-c", "echo $TRAINING_ROLE $PADDLE_TRAINER_ID"}, variables);
    EXPECT_EQ(finished.code(), 0) << finished.error;
    EXPECT_EQ(finished.out, "TRAINER 1\n");
    EXPECT_EQ(finished.error, "");
  }
}

// prgen's start.sh works roles out itself and then runs prrun mpi.
TEST(PrrunMpi, AScriptInFrontIsTakenAtItsWord) {
  Prrun::Variables variables{{"PMI_RANK", "0"},
                             {"PMI_SIZE", "9"},
                             {"TRAINING_ROLE", "TRAINER"},
                             {"PADDLE_TRAINER_ID", "1"},
                             {"PADDLE_TRAINERS_NUM", "2"},
                             {"PADDLE_PSERVERS_NUM", "1"},
                             {"PADDLE_PSERVERS_IP_PORT_LIST", "node1:7164"}};
  auto const finished =
      run_prrun({"mpi", "-q", "--", "sh", "-c", "echo $PADDLE_TRAINER_ID $PADDLE_PSERVERS_IP_PORT_LIST"}, variables);
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_EQ(finished.out, "1 node1:7164\n");
  variables.erase("PADDLE_PSERVERS_IP_PORT_LIST");
  auto const half = run_prrun({"mpi", "true"}, variables);
  EXPECT_EQ(half.code(), 78);
  EXPECT_TRUE(has(half.error, "mpi: TRAINING_ROLE is set, but not all of PADDLE_PSERVERS_IP_PORT_LIST")) << half.error;
}

TEST(PrrunMpi, WithoutARankItSaysHowToStart) {
  auto const finished = run_prrun({"mpi", "true"});
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "as in mpirun -n 3 prrun mpi -- ./train")) << finished.error;
}

TEST(PrrunMpi, AServerOfAnotherMachineIsRefused) {
  TempFolder folder;
  write_file(folder / "machines", "192.0.2.1\n");
  auto const finished =
      Prrun(folder, {"mpi", "--hostfile", "machines", "true"}, {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "mpi: server 0 belongs on 192.0.2.1, which is not this machine")) << finished.error;
}
