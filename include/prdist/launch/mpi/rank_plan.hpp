// SPDX-License-Identifier: Apache-2.0
// What a rank of mpirun's or srun's has to run. Ranks go round the machines, servers first, and several servers of one
// machine stand side by side: the same rule on every rank, so that nothing has to be exchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/hostfile.hpp>
#include <prdist/launch/identity.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/mpi/hosts.hpp>
#include <prdist/launch/node_plan.hpp>
#include <prdist/launch/ranks.hpp>

namespace prdist {

/// Flags of `prrun mpi`.
struct RankFlags {
  std::optional<std::size_t> servers;   ///< 1 when nobody says otherwise
  std::optional<std::size_t> trainers;  ///< the rest of the ranks when nobody says otherwise
  bool both = false;                    ///< every rank is a server and a trainer, as start_mpi_train.sh has it
  std::filesystem::path hostfile;
  ServerPorts ports;
};

/// The endpoint of each of `count` servers: machines take turns, and a machine's next server has the next free ports.
/// @throws Error config.invalid when the ports run out
[[nodiscard]] inline std::vector<Endpoint> endpoints_round(std::vector<std::string> const& hosts, std::size_t count,
                                                           ServerPorts const& ports) {
  std::vector<Endpoint> endpoints;
  for (std::size_t i = 0; i < count; ++i) {
    auto const port = ports.port + ports.width() * (i / hosts.size());
    if (port + ports.width() - 1 > 65535) {
      throw Error(Errc::config_invalid, "mpi: ", count, " servers on ", hosts.size(), " hosts from port ", ports.port,
                  " need ports beyond 65535: begin lower with --port, or add hosts");
    }
    endpoints.push_back({hosts[i % hosts.size()], static_cast<std::uint16_t>(port)});
  }
  return endpoints;
}

namespace detail {

/// Whether all ranks are on this machine, as far as the launcher tells.
[[nodiscard]] inline bool all_local(Environment const& environment, Rank const& rank) {
  for (std::string_view const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"}) {
    if (auto const local = number_in(environment, name, 1, 1'000'000)) return rank.size == *local;
  }
  for (std::string_view const name : {"SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
    if (auto const nodes = number_in(environment, name, 1, 1'000'000)) return *nodes == 1;
  }
  return false;
}

[[nodiscard]] inline std::vector<std::string> hosts_in(std::filesystem::path const& file) {
  return parse_hostfile(file.string(), hostfile_text("mpi", file));
}

}  // namespace detail

/// The machines: those of --hostfile, this one when all ranks are here, the batch system's, or a file `machines` in the
/// current folder. @throws Error config.missing, config.invalid
[[nodiscard]] inline std::vector<std::string> mpi_hosts(Environment const& environment, Rank const& rank,
                                                        std::filesystem::path const& hostfile) {
  if (!hostfile.empty()) return detail::hosts_in(hostfile);
  if (detail::all_local(environment, rank)) return {"127.0.0.1"};
  if (auto const file = environment("PBS_NODEFILE")) return detail::hosts_in(*file);
  for (std::string_view const name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (auto const list = environment(name)) return expand_nodelist(*list);
  }
  std::error_code ignored;
  if (std::filesystem::exists("machines", ignored)) return detail::hosts_in("machines");
  throw Error(Errc::config_missing, "mpi: the ranks are on several machines and nothing names them",
              ": give mpirun's hostfile to prrun as well, with --hostfile, or write a file 'machines'");
}

/// Marks of this run are known by the launcher's name for it.
inline void name_run(NodePlan& plan, Environment const& environment) {
  plan.mark = run_id_from_env(environment);
  if (!plan.mark.empty()) plan.marks = {plan.mark};
}

/// The plan of this rank. @throws Error config.missing, config.invalid, config.contradiction
[[nodiscard]] inline NodePlan rank_plan(Environment const& environment, RankFlags const& flags) {
  auto const rank = rank_from_env(environment);
  if (!rank) {
    throw Error(Errc::config_missing, "mpi: no launcher has set a rank (OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK, ",
                "SLURM_PROCID): start it by mpirun, mpiexec or srun, as in mpirun -n 3 prrun mpi -- ./train");
  }
  auto const given_servers = number_in(environment, "PADDLE_PSERVERS_NUM", 1, 65536);
  std::size_t const servers = flags.servers ? *flags.servers : given_servers.value_or(1);
  if (!rank->size && !flags.trainers) {
    throw Error(Errc::config_missing, "mpi: ", rank->variable, " is set, but no number of ranks",
                ": give --server_num and --trainer_num");
  }
  std::size_t const ranks = rank->size ? *rank->size : flags.both ? *flags.trainers : servers + *flags.trainers;
  NodePlan plan;
  plan.job_name = environment("JOB_NAME").value_or("default");
  name_run(plan, environment);
  plan.ports = flags.ports;
  auto const hosts = mpi_hosts(environment, *rank, flags.hostfile);
  if (flags.both) {
    plan.trainers = ranks;
    plan.servers = endpoints_round(hosts, ranks, flags.ports);
    plan.members = {{JobRole::server, rank->rank}, {JobRole::trainer, rank->rank}};
    return plan;
  }
  bool const fits = ranks > servers && (!flags.trainers || ranks == servers + *flags.trainers);
  if (!fits) {
    throw Error(Errc::config_contradiction, "mpi: ", ranks, " ranks, but ", servers, " servers and ",
                flags.trainers ? concat(*flags.trainers, " trainers") : std::string("at least one trainer"),
                " are wanted: change mpirun -n, --server_num or --trainer_num");
  }
  plan.trainers = ranks - servers;
  plan.servers = endpoints_round(hosts, servers, flags.ports);
  bool const server = rank->rank < servers;
  plan.members = {{server ? JobRole::server : JobRole::trainer, server ? rank->rank : rank->rank - servers}};
  return plan;
}

/// Whether a script in front, such as prgen's start.sh, has worked out role and endpoints already.
[[nodiscard]] inline bool has_roles(Environment const& environment) {
  return role_from_env(environment).has_value();
}

/// A server on another machine than its endpoint says would never be found. @throws Error config.contradiction
inline void check_placement(NodePlan const& plan) {
  for (auto const& member : plan.members) {
    if (member.role != JobRole::server) continue;
    auto const& host = plan.servers.at(member.index).host;
    if (is_this_machine(host)) continue;
    throw Error(Errc::config_contradiction, "mpi: ", to_string(member), " belongs on ", host,
                ", which is not this machine: let ranks go round the machines (Open MPI: --map-by node, MPICH and ",
                "Intel: -ppn 1), and name machines as they know themselves");
  }
}

}  // namespace prdist
