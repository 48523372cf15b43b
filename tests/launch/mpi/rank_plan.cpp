// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/mpi/rank_plan.hpp>

#include "../support.hpp"

using namespace prdist;
using launch_test::environment_of;
using launch_test::error_of;
using launch_test::TempFolder;
using launch_test::write_file;

namespace {

using Members = std::vector<JobMember>;

std::string list(NodePlan const& plan) {
  std::string text;
  for (auto const& each : plan.servers) text += concat(text.empty() ? "" : ",", to_string(each));
  return text;
}

prdist::Environment rank(int number, int size) {
  return environment_of({{"OMPI_COMM_WORLD_RANK", std::to_string(number)},
                         {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(size)}});
}

}  // namespace

TEST(RankPlan, ServersComeFirst) {
  RankFlags flags;
  flags.servers = 2;
  EXPECT_EQ(rank_plan(rank(1, 5), flags).members, (Members{{JobRole::server, 1}}));
  auto const plan = rank_plan(rank(4, 5), flags);
  EXPECT_EQ(plan.members, (Members{{JobRole::trainer, 2}}));
  EXPECT_EQ(plan.trainers, 3U);
  EXPECT_EQ(list(plan), "127.0.0.1:7164,127.0.0.1:7166") << "side by side: a server has two ports";
}

TEST(RankPlan, OneServerWhenNobodySaysOtherwise) {
  auto const plan = rank_plan(rank(1, 3), {});
  EXPECT_EQ(plan.servers.size(), 1U);
  EXPECT_EQ(plan.trainers, 2U);
}

// As prgen's start.sh has it: `node1:7000,node2:7000,node1:7003`.
TEST(RankPlan, MachinesTakeTurns) {
  TempFolder folder;
  write_file(folder / "machines", "node1 slots=2\nnode2\n");
  RankFlags flags;
  flags.servers = 3;
  flags.hostfile = folder / "machines";
  flags.ports = {7000, 2, 1, ""};
  EXPECT_EQ(list(rank_plan(rank(2, 4), flags)), "node1:7000,node2:7000,node1:7003");
}

TEST(RankPlan, EveryRankCanBeBoth) {
  RankFlags flags;
  flags.both = true;
  auto const plan = rank_plan(rank(1, 3), flags);
  EXPECT_EQ(plan.members, (Members{{JobRole::server, 1}, {JobRole::trainer, 1}}));
  EXPECT_EQ(plan.servers.size(), 3U);
  EXPECT_EQ(plan.trainers, 3U);
}

TEST(RankPlan, BatchSystemsNameTheirMachines) {
  TempFolder folder;
  write_file(folder / "nodes", "n1\nn1\nn2\n");
  auto const pbs =
      environment_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"PBS_NODEFILE", (folder / "nodes").string()}});
  RankFlags two;
  two.servers = 2;
  EXPECT_EQ(list(rank_plan(pbs, two)), "n1:7164,n2:7164");
  auto const slurm = environment_of(
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "3"}, {"SLURM_JOB_NUM_NODES", "3"}, {"SLURM_JOB_NODELIST", "gpu[1-3]"}});
  EXPECT_EQ(list(rank_plan(slurm, two)), "gpu1:7164,gpu2:7164");
}

TEST(RankPlan, ItsMarksAreOfOneRun) {
  auto const plan = rank_plan(environment_of({{"OMPI_COMM_WORLD_RANK", "0"},
                                              {"OMPI_COMM_WORLD_SIZE", "2"},
                                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                              {"PMIX_NAMESPACE", "42"}}),
                              {});
  EXPECT_EQ(plan.mark, "42");
  EXPECT_EQ(plan.marks, std::vector<std::string>{"42"});
  EXPECT_TRUE(rank_plan(rank(0, 2), {}).marks.empty());
}

TEST(RankPlan, WhatIsWrongIsNamed) {
  EXPECT_EQ(error_of([] { return rank_plan(environment_of({}), {}); }),
            "prdist[config.missing] mpi: no launcher has set a rank (OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK, "
            "SLURM_PROCID): start it by mpirun, mpiexec or srun, as in mpirun -n 3 prrun mpi -- ./train");
  RankFlags flags;
  flags.servers = 3;
  EXPECT_EQ(error_of([&] { return rank_plan(rank(0, 3), flags); }),
            "prdist[config.contradiction] mpi: 3 ranks, but 3 servers and at least one trainer are wanted: change "
            "mpirun -n, --server_num or --trainer_num");
  flags.servers = 1;
  flags.trainers = 4;
  EXPECT_NE(error_of([&] { return rank_plan(rank(0, 3), flags); }).find("3 ranks, but 1 servers and 4 trainers"),
            std::string::npos);
  EXPECT_EQ(
      error_of([] {
        return rank_plan(environment_of({{"PMIX_RANK", "0"}}), {});
      }),
      "prdist[config.missing] mpi: PMIX_RANK is set, but no number of ranks: give --server_num and --trainer_num");
  EXPECT_EQ(error_of([] {
              return rank_plan(environment_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "1"}}), {});
            }),
            "prdist[config.missing] mpi: the ranks are on several machines and nothing names them: give mpirun's "
            "hostfile to prrun as well, with --hostfile, or write a file 'machines'");
  RankFlags missing;
  missing.hostfile = "/no/such/machines";
  EXPECT_EQ(error_of([&] { return rank_plan(rank(0, 2), missing); }),
            "prdist[config.missing] mpi: the hostfile '/no/such/machines' cannot be read: check --hostfile");
  missing.hostfile = "/";
  EXPECT_EQ(error_of([&] { return rank_plan(rank(0, 2), missing); }),
            "prdist[config.missing] mpi: the hostfile '/' is a folder and not a file: check --hostfile");
  RankFlags high;
  high.servers = 3;
  high.ports.port = 65532;
  EXPECT_EQ(
      error_of([&] { return rank_plan(rank(0, 4), high); }),
      "prdist[config.invalid] mpi: 3 servers on 1 hosts from port 65532 need ports beyond 65535: begin lower with "
      "--port, or add hosts");
}

TEST(RankPlan, AServerOnTheWrongMachineIsNamed) {
  NodePlan plan;
  plan.servers = {{"127.0.0.1", 1}, {"192.0.2.1", 1}};
  plan.members = {{JobRole::server, 0}};
  check_placement(plan);
  plan.members = {{JobRole::trainer, 0}};
  check_placement(plan);
  plan.members = {{JobRole::server, 1}};
  EXPECT_EQ(error_of([&] { return check_placement(plan), 0; }),
            "prdist[config.contradiction] mpi: server 1 belongs on 192.0.2.1, which is not this machine: let ranks go "
            "round the machines (Open MPI: --map-by node, MPICH and Intel: -ppn 1), and name machines as they know "
            "themselves");
}
