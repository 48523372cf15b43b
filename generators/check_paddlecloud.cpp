// SPDX-License-Identifier: Apache-2.0
// What PaddleCloud needs and what it cannot do, with the defaults of PaddleRec 1.8.
#include <algorithm>
#include <prdist/core/text.hpp>

#include "check_job.hpp"
#include "check_values.hpp"
#include "defaults.hpp"
#include "names.hpp"

namespace prdist::gen {

namespace {

/// config.ini has no escapes.
void check_ini(JobSpec const& job, Diagnostics& diagnostics) {
  auto const check = [&](Text const& text) {
    bool const bad = std::any_of(text.value.begin(), text.value.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '"'; });
    if (bad) {
      diagnostics.error("PR002", text.where, "a quote, a line break or a control character cannot stand in config.ini",
                        "take it away");
    }
  };
  for (auto const* const text :
       {&job.fs_name, &job.fs_output, &job.train_data, &job.test_data, &job.thirdparty, &job.afs_mount}) {
    check(*text);
  }
  for (auto const& [name, value] : job.communicator.items) {
    check(value);
    if (!env_name(name.value)) {
      diagnostics.error("PR020", name.where, concat("'", name.value, "' is not the name of a flag"),
                        "they are called FLAGS_ and a word");
    }
  }
}

}  // namespace

void check_paddlecloud(JobSpec& job, Diagnostics& diagnostics) {
  check_ini(job, diagnostics);
  fill(job.job_name, "PaddleRecClusterJob");
  fill(job.start_cmd, "python -m paddlerec.run -m config.yaml");
  fill(job.cluster_type, job.nodes.given || job.dialect != "flat" ? "mpi" : "");
  fill(job.nodes, 1);
  if (job.cluster_type.value.empty()) {
    missing(job, "cluster_type", "the kind of PaddleCloud cluster", "write cluster_type: mpi or cluster_type: k8s",
            diagnostics);
  }
  check_folder(job.job_name, diagnostics);
  bool const gpu = job.model.device.value == "gpu";
  bool const collective = job.model.fleet_mode.value == "collective" || job.collective();
  if (job.cluster_type.value == "mpi" && (gpu || collective)) {
    diagnostics.error("PR023", gpu ? job.model.device.where : job.model.fleet_mode.where,
                      "PaddleCloud with MPI trains on CPUs with parameter servers only",
                      "write cluster_type: k8s, or device: cpu and fleet_mode: ps in config.yaml");
  }
  if (job.cluster_type.value == "k8s" && gpu != collective) {
    diagnostics.error("PR023", gpu ? job.model.device.where : job.model.fleet_mode.where,
                      "PaddleCloud trains either on CPUs with parameter servers or on GPUs in collective mode",
                      "let device and fleet_mode of config.yaml agree: cpu and ps, or gpu and collective");
  }
  job.mode.value = collective ? "collective" : "ps";
  fill(job.trainer_num, 1);
  fill(job.server_num, collective ? 0 : 1);
  fill(job.gpus, collective ? 1 : 0);
  fill(job.trainer_cpu, job.cpu.given ? job.cpu.value : collective ? "1" : "2");
  fill(job.server_cpu, job.cpu.given ? job.cpu.value : "2");
  if (!job.job_conf.given) {
    if (!job.fs_name.given)
      missing(job, job.dialect == "flat" ? "config.fs_name" : "fs.name", "the file system of the job",
              "add for example fs_name: afs://...", diagnostics);
    if (job.cluster_type.value == "mpi" && !job.train_data.given) {
      missing(job, job.dialect == "flat" ? "config.train_data_path" : "fs.train_data", "the training data",
              "add the path of the data on the file system", diagnostics);
    }
  }
  if (!job.job_conf.given && job.fs_output.value.empty() && job.cluster_type.value == "mpi") {
    // The configuration says that the path may be used again, so it has to name one.
    missing(job, job.dialect == "flat" ? "config.output_path" : "fs.output", "where the output goes",
            "add a path on the file system, for example /user/me/output", diagnostics);
  }
  if (!job.start_cmd.given && !job.model.source) {
    diagnostics.note("no -m config.yaml: start_cmd reads the one that submit.files sends along");
  }
  if (!job.files.given) {
    missing(job, "submit.files", "the files that the job needs", "add for example files: \"./*.py ./*.yaml\"",
            diagnostics);
  }
}

}  // namespace prdist::gen
