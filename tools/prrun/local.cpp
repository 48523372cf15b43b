// SPDX-License-Identifier: Apache-2.0
// prrun without a command: a whole job on this machine. The work is in prdist/launch; here is the command.

#include <cstdlib>
#include <iostream>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/suggest.hpp>
#include <prdist/launch/local.hpp>
#include <prdist/launch/printable.hpp>
#include <prdist/launch/program.hpp>

#include "job_flags.hpp"
#include "job_report.hpp"
#include "nodes.hpp"
#include "ssh.hpp"

namespace prrun {

using namespace prdist;

namespace {

constexpr char const* usage = "Usage: prrun [flags] [--] program [arguments]";

constexpr char const* description = R"(Examples:
  prrun -- ./train                                          1 server, 1 trainer
  prrun --server_num 2 --trainer_num 4 -- ./train --epochs 3
  prrun --server_num 2 --trainer_num 2 python3 -u train.py  a Paddle program, unchanged; was:
      python -m paddle.distributed.launch --server_num 2 --trainer_num 2 train.py
  prrun --servers 10.0.0.1:36000,10.0.0.2:36000 --trainers 10.0.0.1:36001,10.0.0.2:36001 -- ./train
                                                            on each node; was: fleetrun --servers=... --workers=...
  prrun --devices 6,7 python3 train.py                      a collective job; was:
      python -m paddle.distributed.launch --devices=6,7 train.py
  prrun --nnodes 2 -- ./train                               on two machines: prints the command for the other one
  prrun --nnodes 2 --master etcd://10.0.0.9:2379 -- ./train on each of two machines, which meet in etcd
  prrun --timeout 600 --json report.json --max_restart 2 -- ./train --resume
  prrun --hostfile machines --job_dispatch_package work -- ./train   a server and a trainer on each host, over ssh
  prrun k8s -- ./train          in a pod: this pod's share of the job    (prrun k8s --help)
  mpirun -n 3 prrun mpi -- ./train   this rank's share of the job        (prrun mpi --help)
  prrun -m config.yaml -b backend.yaml -- ./train   a job on a cluster, by mpirun or here (prrun submit --help)
  prrun status | logs | cancel JOB   a job that was submitted to Kubernetes
  prrun probe | version | check      a pod's health; what was built in; what works on this machine

Starts the servers and trainers of a job, or this machine's share of them, each with the environment that
paddle.distributed.launch would set, watches them and ends them together. Flags may be spelled with underscores or
hyphens; where a variable stands behind one it is used when the flag is not given.)";

constexpr char const* notes =
    R"(Logs: LOG_DIR/serverlog.N and LOG_DIR/workerlog.N hold both streams of each process; those of the run before
are kept as *.prev. Trainer 0's lines are also shown, behind "[trainer 0]".

Ports: prrun binds them itself, so that the system gives them to nobody else as free ones. A server of prdist takes
over the socket (PRDIST_LISTEN_FD); any other server binds PADDLE_PORT as usual, which works as long as it sets
SO_REUSEADDR, as nearly all do. For one that does not, --no-listen-fd gives the port free just before the program starts.

Exit code: 0 when every trainer exited with 0, else the first failure's own (128+N for signal N); 130 after
Ctrl-C, 143 after SIGTERM, 137 when a process had to be killed before it had saved then, 124 after --timeout, 64 for
wrong flags, 78 for a program or folder that cannot be used.)";

/// A first word that is no program may be a command with a slip. @throws Error
void look_for_command(Words const& words) {
  if (words.front().starts_with('-')) return;
  auto const* const path = std::getenv("PATH");
  auto const program = find_program(words.front(), path == nullptr ? "" : path, own_folder());
  if (program) return;
  auto const meant = did_you_mean(words.front(), command_names());
  if (!meant.empty()) {
    throw Error(program.error().code(), program.error().message(), "; did you mean 'prrun ", meant, "'?");
  }
}

}  // namespace

int run_here(Words const& words) {
  CommandLine line(description, notes, usage, "prrun --help");
  JobFlags flags;
  SshFlags ssh;
  Words command;
  NodesFlags nodes;
  declare(line.flags(), flags);
  declare(line.flags(), ssh);
  declare(line.flags(), nodes);
  line.keep_unknown([&] { return ssh.wanted(); });
  try {
    auto const checked = [&] {
      check(line.flags(), flags, process_environment);
      check(line.flags(), ssh);
      check(nodes, flags);
      flags.job.listed_patience = millis(nodes.wait);
      if (ssh.wanted() && nodes.terms.most > 1) {
        throw CLI::ValidationError("--hostfile", "names the nodes itself: leave --nnodes and --master out");
      }
      if (!ssh.wanted() && nodes.terms.most == 1) note_single_node(line.flags(), flags);
      if (!ssh.wanted()) note_unused(nodes, flags);
    };
    if (auto const code = line.parse(words, true, command, checked)) return *code;
    if (ssh.wanted()) return run_over_ssh(flags, ssh, command, line.unknown());
    look_for_command(words);
    prepare(flags, command);
    if (flags.dry_run) {
      for (auto const& warning : flags.warnings) std::cerr << "prrun: " << printable(warning) << '\n';
      auto const code = show_plan(flags, plan_local(flags.job).value().plan);
      if (flags.job.trainer_list.empty()) std::cout << "Ports are chosen anew at each start.\n";
      return std::cout.flush() ? code : 74;
    }
  } catch (Error const& error) {
    std::cerr << printable(error.what()) << '\n';
    return exit_code(error.code());
  }
  return run_and_report(flags, [&](Console& console) {
    return nodes.terms.most > 1 ? run_nodes(flags, nodes, words, console) : run_local(flags.job, console);
  });
}

}  // namespace prrun
