// SPDX-License-Identifier: Apache-2.0
// Plain Kubernetes. Servers and trainers share one Indexed Job where they can: its success policy ends the servers when
// the trainers have succeeded, without an operator. Where roles differ, or the cluster is too old, or no launcher is
// there to tell roles apart, each role gets a Job of its own. Pods of Paddle v2 are servers and trainers at once.
#include <prdist/core/text.hpp>

#include "../checks.hpp"
#include "../target.hpp"
#include "pod.hpp"

namespace prdist::gen {

namespace {

constexpr auto completion_index = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

/// A Job named `name` of `count` pods.
Json job_data(JobSpec const& job, Options const& options, std::string const& name, std::int64_t count, Json pod) {
  pod["subdomain"] = job.job_name.value;
  return {{"meta", job_metadata_of(job, name)},
          {"count", count},
          {"pod", std::move(pod)},
          {"success_indexes", ""},
          {"servers", 0},
          {"per_index", options.kube_minor >= 29},
          {"failure_policy", options.kube_minor >= 26},
          // Before 1.29 the schema asks for the list in every rule, even where it must be empty.
          {"needs_conditions", options.kube_minor < 29},
          {"backoff", job.max_restart.value * count}};
}

Json one_job(JobSpec const& job, Options const& options) {
  auto const servers = job.server_num.value;
  auto const& name = job.job_name.value;
  auto const endpoints = endpoint_list(name + "-", servers, "." + name, job.port.value);
  auto data = job_data(job, options, name, job.pods(), pod_data(job, PodRole::either, common_env(job, endpoints)));
  auto const last = job.pods() - 1;
  data["servers"] = servers;
  data["success_indexes"] = servers == last ? concat(last) : concat(servers, '-', last);
  return Json::array({data});
}

Json role_env(JobSpec const& job, PodRole role, std::string const& endpoints) {
  auto env = common_env(job, endpoints);
  env.push_back(env_value("TRAINING_ROLE", std::string(training_role(role))));
  env.push_back(env_value("PADDLE_TRAINING_ROLE", std::string(training_role(role))));
  env.push_back(env_field(role == PodRole::server ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID", completion_index));
  return env;
}

Json two_jobs(JobSpec const& job, Options const& options) {
  auto const& name = job.job_name.value;
  auto const endpoints = endpoint_list(name + "-pserver-", job.server_num.value, "." + name, job.port.value);
  return Json::array({job_data(job, options, name + "-pserver", job.server_num.value,
                               pod_data(job, PodRole::server, role_env(job, PodRole::server, endpoints))),
                      job_data(job, options, name + "-trainer", job.trainer_num.value,
                               pod_data(job, PodRole::trainer, role_env(job, PodRole::trainer, endpoints)))});
}

/// Each pod is a node of Paddle v2, with a server and a trainer; it has ended when both have.
Json nodes(JobSpec const& job, Options const& options) {
  auto const& name = job.job_name.value;
  auto const endpoints = endpoint_list(name + "-", job.server_num.value, "." + name, job.port.value);
  return Json::array({job_data(
      job, options, name, job.trainer_num.value,
      pod_data_of_both(job, role_env(job, PodRole::server, endpoints), role_env(job, PodRole::trainer, endpoints)))});
}

/// Trainers that talk to each other: every one knows all endpoints and its own.
Json trainers_alone(JobSpec const& job, Options const& options) {
  auto const& name = job.job_name.value;
  auto env = role_env(job, PodRole::trainer, {});
  if (job.collective()) {
    env.push_back(env_value("PADDLE_TRAINER_ENDPOINTS",
                            endpoint_list(name + "-", job.trainer_num.value, "." + name, job.port.value)));
    env.push_back(
        env_value("PADDLE_CURRENT_ENDPOINT", concat(name, "-$(PADDLE_TRAINER_ID).", name, ':', job.port.value)));
  }
  auto pod = pod_data(job, PodRole::trainer, std::move(env));
  if (job.collective()) pod["containers"][0]["port"] = job.port.value;
  return Json::array({job_data(job, options, name, job.trainer_num.value, std::move(pod))});
}

/// The Job of Paddle's v2 document: each pod is a server and a trainer, started by the image's own script.
std::vector<File> v2_legacy(TargetInput const& input) {
  auto const& job = input.job;
  auto volumes = Json::array();
  for (auto const& record : job.volumes.items) {
    if (record.get("host_path").given) {
      volumes.push_back({{"name", record.get("name").value},
                         {"path", record.get("host_path").value},
                         {"mount", record.get("mount").value}});
    }
  }
  auto command = Json::array();
  for (auto const& word : job.command.items) command.push_back(word.value);
  if (command.empty()) command = {"bin/bash", "-c", "/root/start.sh"};
  Json const data = {{"name", job.job_name.value},
                     {"namespace", job.name_space.value},
                     {"job_namespace", job.name_space.given ? job.name_space.value : "default"},
                     {"count", job.trainer_num.value},
                     {"image", job.image.value},
                     {"command", command},
                     {"job_path", job.job_path.value},
                     {"train_config_dir", job.train_config_dir.value},
                     {"nics", job.nics.value},
                     {"port", concat(job.port.value)},
                     {"ports_num", concat(job.ports_num.value)},
                     {"ports_num_sparse", concat(job.ports_num_for_sparse.value)},
                     {"gradient_num", concat(job.trainer_num.value)},
                     {"volumes", volumes}};
  return {{"job.yaml", input.renderer.yaml("k8s_legacy.yaml", data), false, true}};
}

}  // namespace

std::vector<File> render_k8s(TargetInput const& input) {
  auto const& job = input.job;
  if (input.options.profile == Profile::legacy && job.v2_cluster()) return v2_legacy(input);
  auto data = object_data(job);
  bool const shared = one_indexed_job(job, input.options);
  data["jobs"] = !job.parameter_servers()  ? trainers_alone(job, input.options)
                 : job.every_pod_is_both() ? nodes(job, input.options)
                 : shared                  ? one_job(job, input.options)
                                           : two_jobs(job, input.options);
  data["replacement_policy"] = input.options.kube_minor >= 29;
  if (job.parameter_servers() && job.launcher.value == "none") {
    input.diagnostics.note("without prrun nobody ends servers that do not end by themselves",
                           concat("when the trainers have finished: kubectl delete job ", job.job_name.value,
                                  job.every_pod_is_both() ? "" : "-pserver"));
  }
  if (job.parameter_servers() && !job.every_pod_is_both() && input.options.kube_minor < 31) {
    input.diagnostics.note(concat("Kubernetes 1.", input.options.kube_minor,
                                  " has no success policy for Jobs: servers and trainers get a Job each"));
  }
  return {{"job.yaml", input.renderer.yaml("k8s.yaml", data), false, true}};
}

}  // namespace prdist::gen
