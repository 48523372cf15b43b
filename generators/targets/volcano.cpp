// SPDX-License-Identifier: Apache-2.0
// A Volcano Job. Its env and svc plugins give each pod an index and a stable host name, so that nothing has to ask the
// apiserver who is there; --profile legacy renders the Job that PaddleRec's own template made.
#include <algorithm>
#include <prdist/core/text.hpp>

#include "../quoting.hpp"
#include "../target.hpp"
#include "pod.hpp"

namespace prdist::gen {

namespace {

/// What prrun would find out. The env plugin's index comes too late to be referred to and under a name of its own; the
/// annotation is there before the pod is. A server finds itself in the list by its host name, which needs no index.
void append_own_ids(JobSpec const& job, PodRole role, Json& env) {
  if (role == PodRole::trainer) {
    env.push_back(env_field("PADDLE_TRAINER_ID", "metadata.annotations['volcano.sh/task-index']"));
    return;
  }
  auto const address = std::find_if(env.begin(), env.end(), [](Json const& e) { return e["name"] == "POD_IP"; });
  if (address != env.end()) env.erase(address);
  env.push_back(env_value("POD_IP", concat("$(POD_NAME).", job.job_name.value)));
}

Json task(JobSpec const& job, PodRole role, std::int64_t count, std::int64_t least, std::string const& endpoints) {
  auto env = common_env(job, endpoints);
  env.push_back(env_value("TRAINING_ROLE", std::string(training_role(role))));
  env.push_back(env_value("PADDLE_TRAINING_ROLE", std::string(training_role(role))));
  if (job.launcher.value == "none") append_own_ids(job, role, env);
  // The svc plugin gives a pod its own name as host name; the env plugin's index comes too late to be referred to.
  if (job.collective()) append_trainer_endpoints(job, "-trainer-", "." + job.job_name.value, env);
  auto pod = pod_data(job, role, std::move(env));
  if (job.collective()) pod["containers"][0]["port"] = job.port.value;
  return {{"name", role == PodRole::server ? "pserver" : "trainer"},
          {"replicas", count},
          {"min_available", least},
          {"completes_job", role == PodRole::trainer},
          {"pod", std::move(pod)}};
}

std::vector<File> legacy(TargetInput const& input) {
  auto const& job = input.job;
  auto const task_of = [&](PodRole role, std::int64_t count) {
    return Json{{"name", role == PodRole::server ? "pserver" : "trainer"},
                {"role", training_role(role)},
                {"server", role == PodRole::server},
                {"replicas", count}};
  };
  Json const data = {
      {"name", job.job_name.value},
      {"namespace", job.name_space.value},
      {"min_available", job.pods()},
      {"image", job.image.value},
      {"log_level", concat(job.log_level.value)},
      {"trainers", concat(job.trainer_num.value)},
      {"servers", concat(job.server_num.value)},
      {"cpu", job.cpu.value},
      {"memory", job.memory.value},
      {"storage", job.storage.value},
      {"tasks", {task_of(PodRole::server, job.server_num.value), task_of(PodRole::trainer, job.trainer_num.value)}}};
  auto const config = job.model.source ? concat("config.yaml=", shell_quoted(job.model.source->name)) : "config.yaml";
  input.diagnostics.note(
      "the pods read set_k8s_env.sh and config.yaml from a ConfigMap 'modelconfig', which is not rendered",
      concat("kubectl create configmap modelconfig --from-file=set_k8s_env.sh --from-file=", config));
  return {{"k8s.yaml", input.renderer.yaml("volcano_legacy.yaml", data), false, true}};
}

}  // namespace

std::vector<File> render_volcano(TargetInput const& input) {
  auto const& job = input.job;
  if (input.options.profile == Profile::legacy) return legacy(input);
  auto const& name = job.job_name.value;
  auto const endpoints = endpoint_list(name + "-pserver-", job.server_num.value, "." + name, job.port.value);
  auto data = object_data(job);
  auto tasks = Json::array();
  if (job.parameter_servers())
    tasks.push_back(task(job, PodRole::server, job.server_num.value, job.server_num.value, endpoints));
  tasks.push_back(task(job, PodRole::trainer, job.trainer_num.value, job.elastic_min.value,
                       job.parameter_servers() ? endpoints : std::string{}));
  data["tasks"] = tasks;
  data["min_available"] = job.server_num.value + job.elastic_min.value;
  data["queue"] = job.queue.value;
  if (job.launcher.value == "none") {
    input.diagnostics.note("without prrun, trainers learn their ids from the annotation volcano.sh/task-index",
                           "it takes Volcano 1.9 or newer");
  }
  return {{"job.yaml", input.renderer.yaml("volcano.yaml", data), false, true}};
}

}  // namespace prdist::gen
