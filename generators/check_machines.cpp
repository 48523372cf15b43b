// SPDX-License-Identifier: Apache-2.0
// What mpirun, a batch system or prrun would refuse: jobs on machines that are not Kubernetes'.
#include <algorithm>
#include <cctype>
#include <prdist/core/text.hpp>

#include "check_job.hpp"
#include "check_values.hpp"
#include "defaults.hpp"

namespace prdist::gen {

void check_machines(JobSpec& job, Diagnostics& diagnostics) {
  check_hosts(job, diagnostics);
  for (auto const& host : job.hosts.items) {
    if (host.value.find_first_of(":@[]") == std::string::npos) continue;
    diagnostics.error("PR028", host.where, concat("'", host.value, "' cannot stand in a hostfile of MPI"),
                      "write a bare name or IPv4 address; users and ports belong into ~/.ssh/config");
  }
  fill(job.job_name, "prdist-mpi");
  check_env(job, {}, diagnostics);
  auto const hosts_known = std::max<std::int64_t>(static_cast<std::int64_t>(job.hosts.items.size()), 1);
  auto const listening = job.parameter_servers() ? job.server_num.value : job.trainer_num.value;
  // Hosts that are not known yet are counted by start.sh.
  check_ports(job, false, diagnostics,
              job.hosts.items.empty() ? 1 : std::max<std::int64_t>((listening + hosts_known - 1) / hosts_known, 1));
  auto const ranks = job.pods();
  if (job.hosts.given && !job.hosts.items.empty()) {
    auto const hosts = static_cast<std::int64_t>(job.hosts.items.size());
    if (job.slots.given && job.slots.value * hosts < ranks) {
      diagnostics.error(
          "PR023", job.slots.where,
          concat(ranks, " processes do not fit on ", hosts, " hosts with ", job.slots.value, " slots each"),
          concat("write ", (ranks + hosts - 1) / hosts, " or more, or add hosts"));
    }
    if (!job.slots.given) job.slots.value = (ranks + hosts - 1) / hosts;
  }
  check_folder(job.job_name, diagnostics);
  if (job.test_cluster.value == "true") check_label(job.job_name, diagnostics);
  if (job.hpc.given) {
    // submit.sh would hand over empty words, which qsub_f takes for the names of files.
    auto const need = [&](Text const& text, std::string const& path, std::string const& what, std::string const& help) {
      if (text.value.empty()) missing(job, path, what, help, diagnostics);
    };
    need(job.qconf, "submit.qconf", "the configuration that qsub_f reads", "add for example qconf: ./qconf.conf");
    need(job.fs_name, "fs.name", "the file system of the job", "add for example name: hdfs://host:port below fs");
    need(job.fs_output, "fs.output", "where the output goes", "add for example output: /user/me/out below fs");
  }
}

void check_local(JobSpec const& job, Diagnostics& diagnostics) {
  check_env(job, {}, diagnostics);
  check_folder(job.job_name, diagnostics);
  constexpr std::int64_t most = 1024;
  if (job.server_num.value == 0 && !job.parameter_servers()) {
    diagnostics.error("PR023", job.mode.where,
                      concat("prrun starts jobs with servers, and mode ", job.mode.value, " has none"),
                      "take the mode away and write server_num");
  }
  for (auto const* const count : {&job.server_num, &job.trainer_num}) {
    if (count->value > most) {
      diagnostics.error("PR010", count->where, concat(count->value, " processes on one machine"),
                        concat("write ", most, " or less"));
    }
  }
  bool const plain = std::all_of(job.job_name.value.begin(), job.job_name.value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (!plain) {
    diagnostics.error("PR011", job.job_name.where, concat("'", job.job_name.value, "' is not a name that prrun takes"),
                      "write letters, digits, '.', '_' and '-'");
  }
}

}  // namespace prdist::gen
