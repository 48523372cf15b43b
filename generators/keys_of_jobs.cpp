// SPDX-License-Identifier: Apache-2.0
// What a job may say whatever runs it, by topic.
#include <prdist/core/text.hpp>

#include "key_rows.hpp"
#include "target.hpp"

namespace prdist::gen {

namespace {

using J = JobSpec;
constexpr std::int64_t many = 65536;
constexpr std::int64_t year = 31'536'000;
constexpr std::int64_t largest_id = 2'147'483'647;

std::string_view target_names() {
  static std::string const names = [] {
    std::string all;
    for (auto const& target : targets()) all += concat(all.empty() ? "" : " ", target.name);
    return all;
  }();
  return names;
}

Topic job() {
  return {"Job",
          {choice("backend", &J::backend, target_names(), "what runs the job", ""),
           row(Rule::name, "job_name", &J::job_name, "name of the job and of every object it makes", ""),
           row(Rule::name, "namespace", &J::name_space, "Kubernetes namespace; -n overrides it", in_pods,
               "that of kubectl"),
           row(Rule::text, "workspace", &J::workspace, "replaces {workspace} in other values", ""),
           choice("mode", &J::mode, "ps collective single",
                  "parameter servers, trainers that talk to each other, or one trainer alone", "",
                  "ps; collective if config.yaml says so and there are no servers"),
           choice("launcher", &J::launcher, "prrun none",
                  "prrun starts the command and watches it; none runs it bare, for images without prrun", with_images,
                  "prrun"),
           row(Rule::list, "command", &J::command,
               "what each pod or process runs, word by word; in pods [] is the image's own entrypoint", with_commands,
               "prtrain -m $(PRDIST_CONFIG)"),
           row(Rule::path, "job_path", &J::job_path, "where data and output of the job are mounted; JOB_PATH",
               with_images, "/home/jobpath"),
           row(Rule::text, "train_config_dir", &J::train_config_dir,
               "Paddle v2: folder of the training files below JOB_PATH/JOB_NAME; TRAIN_CONFIG_DIR", with_images)}};
}

Topic roles() {
  return {"Roles",
          {number("submit.server_num", &J::server_num, 0, many, "parameter servers", ""),
           number("submit.trainer_num", &J::trainer_num, 1, many, "trainers", ""),
           row(Rule::list, "submit.server.command", &J::server_command, "what servers run instead of command",
               with_images, "as command"),
           row(Rule::list, "submit.trainer.command", &J::trainer_command, "what trainers run instead of command",
               with_images, "as command"),
           number("submit.port", &J::port, 1, 65535, "first port of a server; PADDLE_PORT", with_images,
                  "30240; paddlejob 36000; mpi and Paddle v2 7164"),
           choice("submit.discovery", &J::discovery, "dns pods",
                  "how pods find each other: by names, or by listing pods, which needs a Role", in_pods, "dns"),
           number("submit.elastic.min", &J::elastic_min, 1, many, "the least number of trainers that may start",
                  "volcano paddlejob", "as submit.trainer_num"),
           number("submit.elastic.max", &J::elastic_max, 1, many, "the largest number of trainers", "paddlejob",
                  "as submit.trainer_num")}};
}

Topic image() {
  return {"Image and environment",
          {row(Rule::image, "submit.docker_image", &J::image, "container image", with_images),
           choice("submit.image_pull_policy", &J::image_pull_policy, "Always IfNotPresent Never",
                  "when a node fetches the image", in_pods, "Always without a version, else IfNotPresent"),
           row(Rule::list, "submit.image_pull_secrets", &J::image_pull_secrets,
               "Secrets that open the image's registry", in_pods),
           row(Rule::path, "submit.workdir", &J::workdir, "folder that the command starts in", in_pods,
               "that of the image"),
           number("submit.log_level", &J::log_level, 0, 10, "GLOG_v", "", "0"),
           row(Rule::map, "submit.env", &J::env, "further environment variables, name: value", with_commands),
           records("submit.secrets", &J::secrets, "env secret key", "environment variables from Secrets of the cluster",
                   in_pods)}};
}

Topic resources() {
  constexpr std::string_view cores = "k8s volcano paddlejob paddlecloud";
  return {
      "Resources",
      {row(Rule::quantity, "submit.cpu", &J::cpu, "cores that each pod requests", cores,
           "threads of config.yaml, else 2"),
       row(Rule::quantity, "submit.cpu_limit", &J::cpu_limit, "the most cores that a pod may use", in_pods, "no limit"),
       row(Rule::quantity, "submit.memory", &J::memory, "memory of each pod, as request and as limit", with_images,
           "4Gi"),
       row(Rule::quantity, "submit.storage", &J::storage, "ephemeral storage of each pod, as request and as limit",
           in_pods, "10Gi"),
       number("submit.gpus", &J::gpus, 0, 64, "GPUs of each trainer", cores, "0"),
       row(Rule::text, "submit.gpu_resource", &J::gpu_resource, "resource name of a GPU", in_pods, "nvidia.com/gpu"),
       row(Rule::quantity, "submit.server.cpu", &J::server_cpu, "cores that a server requests", cores, "as submit.cpu"),
       row(Rule::quantity, "submit.server.cpu_limit", &J::server_cpu_limit, "the most cores of a server", in_pods,
           "as submit.cpu_limit"),
       row(Rule::quantity, "submit.server.memory", &J::server_memory, "memory of a server", in_pods,
           "as submit.memory"),
       row(Rule::quantity, "submit.server.storage", &J::server_storage, "ephemeral storage of a server", in_pods,
           "as submit.storage"),
       row(Rule::quantity, "submit.trainer.cpu", &J::trainer_cpu, "cores that a trainer requests", cores,
           "as submit.cpu"),
       row(Rule::quantity, "submit.trainer.cpu_limit", &J::trainer_cpu_limit, "the most cores of a trainer", in_pods,
           "as submit.cpu_limit"),
       row(Rule::quantity, "submit.trainer.memory", &J::trainer_memory, "memory of a trainer", in_pods,
           "as submit.memory"),
       row(Rule::quantity, "submit.trainer.storage", &J::trainer_storage, "ephemeral storage of a trainer", in_pods,
           "as submit.storage")}};
}

Topic placement() {
  return {
      "Placement",
      {choice("submit.scheduler", &J::scheduler, "default volcano", "with backend k8s, volcano renders a Volcano Job",
              in_pods, "default"),
       row(Rule::name, "submit.queue", &J::queue, "queue of the scheduler", "volcano paddlejob", "default"),
       row(Rule::name, "submit.priority_class", &J::priority_class, "PriorityClass of the pods", in_pods,
           "that of the cluster"),
       row(Rule::map, "submit.node_selector", &J::node_selector, "labels that a node must have", in_pods),
       records("submit.tolerations", &J::tolerations, "key operator value effect",
               "taints of nodes that do not hinder the pods", in_pods),
       row(Rule::map, "submit.labels", &J::labels, "further labels of every object and pod", in_pods),
       row(Rule::map, "submit.annotations", &J::annotations, "further annotations of every object and pod", in_pods)}};
}

Topic security() {
  return {"Security",
          {row(Rule::name, "submit.service_account", &J::service_account, "an account that exists", in_pods,
               "one of the job's own"),
           number("submit.run_as_user", &J::run_as_user, 0, largest_id,
                  "user id of the processes; 0 is root, which Pod Security restricted refuses", in_pods, "10001"),
           number("submit.run_as_group", &J::run_as_group, 0, largest_id,
                  "group id of the processes, and of the volumes", in_pods, "10001"),
           row(Rule::flag, "submit.writable_root", &J::writable_root,
               "whether programs may write outside /tmp, job_path and volumes", in_pods, "false"),
           row(Rule::flag, "submit.network_policy", &J::network_policy,
               "whether a NetworkPolicy lets only the job's own pods in", in_pods, "true")}};
}

Topic storage() {
  return {"Storage",
          {records("submit.volumes", &J::volumes, "name mount pvc config_map secret empty_dir host_path read_only",
                   "storage, each with one of pvc, config_map, secret (a name), empty_dir (a size such as 5Gi), "
                   "host_path (a path)",
                   in_pods)}};
}

Topic lifetime() {
  return {"Lifetime",
          {number("submit.max_restart", &J::max_restart, 0, 100, "further tries after a failure", in_pods, "3"),
           number("submit.grace", &J::grace, 0, 3600, "seconds for a checkpoint when a pod has to go", in_pods, "120"),
           number("submit.ttl", &J::ttl, 0, year, "seconds until a finished job is removed", in_pods, "86400"),
           number("submit.time_limit", &J::time_limit, 1, year, "seconds that the whole job may take", "k8s local",
                  "no limit")}};
}

}  // namespace

std::vector<Topic> job_keys() {
  return {job(), roles(), image(), resources(), placement(), security(), storage(), lifetime()};
}

}  // namespace prdist::gen
