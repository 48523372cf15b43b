// SPDX-License-Identifier: Apache-2.0
// Machines started by mpirun: a hostfile, a script that starts all ranks, and one that each rank runs. Roles and
// endpoints are worked out where the job starts, from the hostfile, so that the scripts also serve hosts that a batch
// system chooses later.
#include <prdist/core/text.hpp>

#include "../target.hpp"

namespace prdist::gen {

namespace {

constexpr auto test_cluster_image = "typhoon1986/paddle-openmpi";

/// What a role runs, or nothing for what is run by default.
Json words_of(JobSpec const& job, TextList const& given) {
  auto command = Json::array();
  if (!given.given) return command;
  if (job.launcher.value == "prrun") {
    command = {"prrun", "mpi", "--"};
  } else if (given.items.front().value.find('=') != std::string::npos) {
    command = {"sh", "-c", "exec \"$@\"", "sh"};  // env would take the program for a variable
  }
  for (auto const& word : given.items) command.push_back(word.value);
  return command;
}

Json script_data(JobSpec const& job) {
  auto env = Json::array();
  env.push_back({{"name", "GLOG_v"}, {"value", concat(job.log_level.value)}});
  env.push_back({{"name", "GLOG_logtostderr"}, {"value", "1"}});
  if (job.model.threads.given) env.push_back({{"name", "CPU_NUM"}, {"value", concat(job.model.threads.value)}});
  if (job.v2_cluster()) env.push_back({{"name", "TRAIN_CONFIG_DIR"}, {"value", job.train_config_dir.value}});
  for (auto const& [name, value] : job.env.items) env.push_back({{"name", name.value}, {"value", value.value}});
  return {{"name", job.job_name.value},
          {"servers", job.server_num.value},
          {"trainers", job.trainer_num.value},
          {"ranks", job.pods()},
          {"port", job.port.value},
          {"width", job.ports_num.value + job.ports_num_for_sparse.value},
          {"ports_num", job.ports_num.value},
          {"ports_num_for_sparse", job.ports_num_for_sparse.value},
          {"nics", job.nics.value},
          {"job_path", job.job_path.value},
          {"hosts", job.hosts.given},
          {"env", env},
          {"command", words_of(job, job.command_of_trainers())},
          {"server_command", words_of(job, job.command_of_servers())},
          {"roles_differ", job.server_num.value > 0 && (job.server_command.given || job.trainer_command.given)},
          {"launcher", job.launcher.value == "prrun"},
          {"flavour", job.mpi.value},
          {"hpc", job.hpc.value},
          {"qconf", job.qconf.value},
          {"nodes", job.nodes.given ? job.nodes.value : job.server_num.value},
          {"fs_name", job.fs_name.value},
          {"fs_output", job.fs_output.value}};
}

}  // namespace

std::vector<File> render_mpi(TargetInput const& input) {
  auto const& job = input.job;
  auto const data = script_data(job);
  std::vector<File> files;
  if (job.hosts.given) {
    auto hosts = Json::array();
    for (auto const& host : job.hosts.items) hosts.push_back(host.value);
    Json const list = {{"hosts", hosts}, {"slots", job.slots.value}, {"openmpi", job.mpi.value == "openmpi"}};
    files.push_back({"machines", input.renderer.text("mpi_machines", list)});
  } else {
    input.diagnostics.note(
        "no hosts are named: run.sh takes them from $PBS_NODEFILE, or from a file 'machines' beside it");
  }
  files.push_back({"run.sh", input.renderer.text("mpi_run.sh", data), true});
  files.push_back({"start.sh", input.renderer.text("mpi_start.sh", data), true});
  if (job.model.source) files.push_back({"config.yaml", job.model.source->text});
  if (job.hpc.given) files.push_back({"submit.sh", input.renderer.text("mpi_submit.sh", data), true});
  if (job.package_build_script.given || job.submit_script.given || job.job_script.given) {
    input.diagnostics.note(
        "package, submit_scrpit and job_scrpit name hooks of PaddleRec, which these scripts replace");
  }
  if (job.test_cluster.value == "true") {
    auto const image = job.image.given ? job.image.value : std::string(test_cluster_image);
    // The document's names, behind the job's: two test clusters in one namespace stay apart.
    auto const pod = [&](char const* name) {
      return Json{{"name", concat(job.job_name.value, '-', name)}, {"container", name}, {"image", image}};
    };
    Json const cluster = {{"nodes", static_cast<std::int64_t>(job.hosts.items.empty() ? 3 : job.hosts.items.size())},
                          {"head", pod("mpi-header")},
                          {"node", pod("mpi-nodes")},
                          {"ssh", pod("ssh-servers")}};
    files.push_back({"cluster.yaml", input.renderer.yaml("mpi_cluster.yaml", cluster), false, true});
    input.diagnostics.warning("PR018", job.test_cluster.where, "the test cluster's pods run an SSH server as root",
                              "keep it to a namespace for tests");
  }
  return files;
}

}  // namespace prdist::gen
