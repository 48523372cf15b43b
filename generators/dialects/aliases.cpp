// SPDX-License-Identifier: Apache-2.0
#include "aliases.hpp"

#include <array>

namespace prdist::gen {

namespace {

constexpr std::array engine{
    // the words of the document's explanation, which are not those of its example
    Alias{"submit.worker_num", "submit.trainer_num", true},
    Alias{"submit.mermory", "submit.memory", true},
    // PaddleCloud, May 2020
    Alias{"submit.jobname", "job_name"},
    Alias{"submit_scrpit", "submit_script"},
    Alias{"scrpit", "submit_script"},
    Alias{"job_scrpit", "job_script"},
    // MPI, May 2020
    Alias{"hdfs.name", "fs.name"},
    Alias{"hdfs.ugi", "fs.ugi"},
    Alias{"hdfs.output", "fs.output"},
    Alias{"submit.hdfs", "fs.name"},
    Alias{"submit.ugi", "fs.ugi"},
    Alias{"submit.hout", "fs.output"},
    Alias{"submit.before_hook", "before_hook"},
    Alias{"submit.end_hook", "end_hook"},
    // spellings of the PaddleJob resource
    Alias{"submit.withGloo", "submit.with_gloo"},
    Alias{"submit.cleanPodPolicy", "submit.clean_pod_policy"},
    Alias{"submit.schedulerName", "submit.scheduler"},
};

constexpr std::array flat{
    Alias{"cluster_type", "submit.cluster_type"},
    Alias{"submit.job_name", "job_name"},
    Alias{"submit.jobname", "job_name"},
    Alias{"submit.k8s_trainers", "submit.trainer_num"},
    Alias{"submit.k8s_ps_num", "submit.server_num"},
    Alias{"submit.k8s_cpu_cores", "submit.trainer.cpu"},
    Alias{"submit.k8s_ps_cores", "submit.server.cpu"},
    Alias{"submit.k8s_gpu_card", "submit.gpus"},
    Alias{"submit.k8s_memory", "submit.trainer.memory"},
    Alias{"submit.k8s_ps_memory", "submit.server.memory"},
    Alias{"submit.k8s_image_addr", "submit.docker_image"},
    Alias{"submit.worker_num", "submit.trainer_num", true},
    Alias{"submit.mermory", "submit.memory", true},
    Alias{"config.fs_name", "fs.name"},
    Alias{"config.fs_ugi", "fs.ugi"},
    Alias{"config.output_path", "fs.output"},
    Alias{"config.train_data_path", "fs.train_data"},
    Alias{"config.test_data_path", "fs.test_data"},
    Alias{"config.thirdparty_path", "fs.thirdparty"},
    Alias{"config.afs_remote_mount_point", "fs.afs_mount"},
    Alias{"config.paddle_version", "paddle_version"},
    Alias{"config.use_python3", "use_python3"},
    Alias{"config.paddlecloud_job_version", "submit.version"},
    Alias{"config.before_hook_file_path", "before_hook"},
    Alias{"config.end_hook_file_path", "end_hook"},
    Alias{"config.communicator", "communicator"},
    Alias{"submit.withGloo", "submit.with_gloo"},
    Alias{"submit.cleanPodPolicy", "submit.clean_pod_policy"},
};

}  // namespace

std::span<Alias const> engine_aliases() {
  return engine;
}

std::span<Alias const> flat_aliases() {
  return flat;
}

}  // namespace prdist::gen
