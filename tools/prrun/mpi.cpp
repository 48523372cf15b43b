// SPDX-License-Identifier: Apache-2.0
// prrun mpi: this rank's share of a job that mpirun, mpiexec or srun started.

#include <unistd.h>

#include <filesystem>
#include <string>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/k8s/pod_plan.hpp>
#include <prdist/launch/mpi/rank_plan.hpp>
#include <prdist/launch/node.hpp>

#include "job_report.hpp"
#include "node_flags.hpp"

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

constexpr char const* usage = "Usage: mpirun -n RANKS prrun mpi [flags] [--] program [arguments]";

constexpr char const* description = R"(Examples:
  mpirun -n 3 prrun mpi -- ./train                          1 server, 2 trainers, on this machine
  mpirun --hostfile machines --map-by node -n 6 prrun mpi --hostfile machines --server_num 2 -- ./train
  mpirun --hostfile machines -n 3 prrun mpi --both --hostfile machines -- python3 train.py
                                                            3 servers and 3 trainers, as start_mpi_train.sh has it
  srun -n 6 prrun mpi --server_num 2 -- ./train             Slurm names the nodes itself

Every rank runs one server or one trainer, servers first, with the environment that PaddleCloudRoleMaker reads.)";

constexpr char const* notes =
    R"(Ranks come from OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK or SLURM_PROCID. Machines come from --hostfile, from
$PBS_NODEFILE, from Slurm, or from a file 'machines' here; ranks have to go round them (--map-by node, -ppn 1). A
script in front that has set TRAINING_ROLE and the endpoints, such as prgen's start.sh, is taken at its word.

Logs: LOG_DIR/node_N/{server,train}.log; LOG_DIR is 'log'. A server whose program never ends by itself is ended when
every trainer has finished, which it sees in LOG_DIR when the machines share that folder.

Exit code: the program's own, 128+N for signal N, 124 after --timeout, 64 for wrong flags, 78 for ranks, machines or a
program that cannot be used.)";

struct Flags {
  NodeFlags node;
  RankFlags rank;
  std::string hostfile;
};

void declare(CLI::App& app, Flags& flags) {
  declare(app, flags.node);
  app.add_option("--hostfile", flags.hostfile, "the machines, one per line; what mpirun was given")->type_name("FILE");
  app.add_option("--port", flags.rank.ports.port, "first port of each machine's servers")
      ->check(within(1, 65535, "a port"))
      ->type_name("PORT")
      ->capture_default_str();
  app.add_option(spelled("ports_num"), flags.rank.ports.dense, "ports of a server for dense parameters (Paddle v2)")
      ->check(within(1, 1024, "a number"))
      ->type_name("N")
      ->capture_default_str();
  app.add_option(spelled("ports_num_for_sparse"), flags.rank.ports.sparse,
                 "ports of a server for sparse parameters (Paddle v2)")
      ->check(within(0, 1024, "a number"))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--both", flags.rank.both, "every rank runs a server and a trainer");
}

NodePlan plan_of(Flags const& flags, Environment const& environment) {
  if (!has_roles(environment)) {
    auto rank = flags.rank;
    rank.servers = flags.node.servers;
    rank.trainers = flags.node.trainers;
    rank.hostfile = flags.hostfile;
    auto plan = rank_plan(environment, rank);
    check_placement(plan);
    return plan;
  }
  auto const half = [](PodQuery const&) -> std::vector<Pod> {
    throw Error(Errc::config_missing, "mpi: TRAINING_ROLE is set, but not all of PADDLE_PSERVERS_IP_PORT_LIST, ",
                "PADDLE_TRAINERS_NUM and the id: set them all, or none, and ranks tell");
  };
  bool const listed = environment("PADDLE_PSERVERS_IP_PORT_LIST").has_value();
  if (!listed && environment("PADDLE_PSERVERS_NUM")) half({});
  PodFlags given;
  given.servers = flags.node.servers;
  given.trainers = flags.node.trainers;
  auto plan = completed(read_pod(environment, given), environment, half);
  name_run(plan, environment);
  return plan;
}

int run(Flags const& flags, Words const& command, JobLedger& ledger) {
  Environment const environment = process_environment;
  try {
    NodeJob job;
    job.ledger = &ledger;
    job.plan = plan_of(flags, environment);
    apply(flags.node, job);
    job.output = fs::absolute(flags.node.log_dir.empty() ? "log" : flags.node.log_dir);
    job.progress = node_folder(job.output, job.plan.members.back().index) / "progress";
    job.program = program_of(command, environment);
    job.arguments.assign(command.begin() + 1, command.end());
    return run_to_end(job, environment);
  } catch (Error const& error) {
    return give_up(error, environment);
  }
}

}  // namespace

int run_mpi(Words const& words) {
  CommandLine line(description, notes, usage, "prrun mpi --help");
  Flags flags;
  Words command;
  declare(line.flags(), flags);
  if (auto const code = line.parse(words, true, command)) return *code;
  // Who kills mpirun, or its daemon, means the ranks too, and nobody is left to tell them.
  return run_share([&](JobLedger& ledger) { return run(flags, command, ledger); }, ::getppid());
}

}  // namespace prrun
