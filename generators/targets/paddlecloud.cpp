// SPDX-License-Identifier: Apache-2.0
// The folder that PaddleCloud's client submits: job.sh, its configuration and two hooks. Keys and passwords are read
// from the environment by job.sh when it runs; none of the files holds one.
#include <prdist/core/text.hpp>

#include "../target.hpp"

namespace prdist::gen {

namespace {

Json flags(JobSpec const& job) {
  auto const threads = concat(job.model.threads.given ? job.model.threads.value : 2);
  Json list = Json::array();
  for (auto const& [name, standard] :
       std::vector<std::pair<std::string, std::string>>{{"FLAGS_communicator_is_sgd_optimizer", "0"},
                                                        {"FLAGS_communicator_send_queue_size", threads},
                                                        {"FLAGS_communicator_thread_pool_size", "32"},
                                                        {"FLAGS_communicator_max_merge_var_num", threads},
                                                        {"FLAGS_communicator_max_send_grad_num_before_recv", threads},
                                                        {"FLAGS_communicator_fake_rpc", "0"},
                                                        {"FLAGS_rpc_retry_times", "3"}}) {
    auto const own = job.communicator.get(name);
    list.push_back({{"name", name}, {"value", own.given ? own.value : standard}});
  }
  for (auto const& [name, value] : job.communicator.items) {
    bool known = false;
    for (auto const& flag : list) known = known || flag["name"] == name.value;
    if (!known) list.push_back({{"name", name.value}, {"value", value.value}});
  }
  return list;
}

}  // namespace

std::vector<File> render_paddlecloud(TargetInput const& input) {
  auto const& job = input.job;
  bool const k8s = job.cluster_type.value == "k8s";
  std::string const package = job.collective() ? "paddlepaddle-gpu" : "paddlepaddle";
  Json const data = {{"name", job.job_name.value},
                     {"k8s", k8s},
                     {"collective", job.collective()},
                     {"priority", job.priority.value},
                     {"group", job.group.value},
                     {"cluster", job.cluster.value},
                     {"version", job.version.value},
                     {"start_cmd", job.start_cmd.value},
                     {"files", job.files.value},
                     {"nodes", job.nodes.value},
                     {"trainers", job.trainer_num.value},
                     {"servers", job.server_num.value},
                     {"gpus", job.gpus.value},
                     {"trainer_cpu", job.trainer_cpu.value},
                     {"server_cpu", job.server_cpu.value},
                     {"own_conf", job.job_conf.value},
                     {"fs_name", job.fs_name.value},
                     {"output", job.fs_output.value},
                     {"train_data", job.train_data.value},
                     {"test_data", job.test_data.value},
                     {"thirdparty", job.thirdparty.value},
                     {"afs_mount", job.afs_mount.value},
                     {"python3", job.use_python3.value == "true" ? "1" : "0"},
                     {"threads", concat(job.model.threads.given ? job.model.threads.value : 2)},
                     {"log_level", concat(job.log_level.value)},
                     {"python", job.use_python3.value == "true" ? "python3" : "python"},
                     {"package", package},
                     {"requirement", concat(package, "==", job.paddle_version.value)},
                     {"before_hook", job.before_hook.value},
                     {"end_hook", job.end_hook.value},
                     {"flags", flags(job)}};
  std::vector<File> files{{"before_hook.sh", input.renderer.text("paddlecloud_before_hook.sh", data), true},
                          {"end_hook.sh", input.renderer.text("paddlecloud_end_hook.sh", data), true},
                          {"job.sh", input.renderer.text("paddlecloud_job.sh", data), true}};
  if (!job.job_conf.given) files.push_back({"config.ini.in", input.renderer.text("paddlecloud_config.ini", data)});
  if (job.model.source) files.push_back({"config.yaml", job.model.source->text});
  return files;
}

}  // namespace prdist::gen
