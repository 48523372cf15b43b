// SPDX-License-Identifier: Apache-2.0
// PaddleJob, of paddle-operator (batch.paddlepaddle.org) or of Kubeflow's training operator (kubeflow.org). The first
// operator tells pods who they are by a ConfigMap; the second does not, so its pods carry ids and endpoints here.
#include <prdist/core/text.hpp>

#include "../target.hpp"
#include "pod.hpp"

namespace prdist::gen {

namespace {

constexpr auto replica_index = "metadata.labels['training.kubeflow.org/replica-index']";

/// Without what the operator sets itself: a second value in the manifest would beat the operator's.
Json without_operators_own(Json env, bool fixed_port) {
  Json kept = Json::array();
  for (auto& entry : env) {
    auto const name = entry["name"].get<std::string>();
    if (name == "POD_IP" || name == "PADDLE_TRAINERS_NUM" || (name == "PADDLE_PORT" && !fixed_port)) continue;
    kept.push_back(std::move(entry));
  }
  return kept;
}

Json replica(JobSpec const& job, PodRole role, std::int64_t count) {
  auto const& name = job.job_name.value;
  bool const kubeflow = job.paddlejob_api.value == "kubeflow.org";
  Json env;
  if (kubeflow) {
    // A headless service per replica has the replica's own name.
    auto const servers = endpoint_list(name + "-master-", job.server_num.value, "", job.port.value);
    env = common_env(job, job.parameter_servers() ? servers : "");
    env.push_back(env_value("TRAINING_ROLE", std::string(training_role(role))));
    env.push_back(env_value("PADDLE_TRAINING_ROLE", std::string(training_role(role))));
    env.push_back(env_field(role == PodRole::server ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID", replica_index));
    if (job.collective()) append_trainer_endpoints(job, "-worker-", "", env);
  } else {
    // With services the operator writes 36000 into the endpoints and a random PADDLE_PORT beside them; say it again.
    env = without_operators_own(common_env(job, ""), job.intranet.value == "Service");
  }
  auto pod = pod_data(job, role, std::move(env));
  pod["containers"][0]["name"] = "paddle";  // both operators look for this name
  pod["restart_policy"] = "";               // each has a rule of its own
  if (kubeflow && job.collective()) pod["containers"][0]["port"] = job.port.value;
  return {{"replicas", count}, {"pod", std::move(pod)}};
}

/// As the document shows it: the image, its command, GPUs, and shared memory beside them.
std::vector<File> legacy(TargetInput const& input) {
  auto const& job = input.job;
  auto words = Json::array();
  for (auto const& word : job.command.items) words.push_back(word.value);
  Json data = {{"name", job.job_name.value},
               {"namespace", job.name_space.value},
               {"image", job.image.value},
               {"command", ""},
               {"arguments", Json::array()},
               {"gpu_resource", job.gpu_resource.value},
               {"with_gloo", job.with_gloo.value},
               {"has_gloo", job.with_gloo.given},
               {"intranet", job.intranet.given ? job.intranet.value : ""},
               {"clean_pod_policy", job.clean_pod_policy.given ? job.clean_pod_policy.value : ""}};
  if (!words.empty()) {
    data["command"] = words.front();
    words.erase(words.begin());
    data["arguments"] = words;
  }
  auto roles = Json::array({{{"server", false}, {"replicas", job.trainer_num.value}, {"gpus", job.gpus.value}}});
  if (job.server_num.value > 0) roles.push_back({{"server", true}, {"replicas", job.server_num.value}, {"gpus", 0}});
  data["roles"] = roles;
  return {{"paddlejob.yaml", input.renderer.yaml("paddlejob_legacy.yaml", data), false, true}};
}

}  // namespace

std::vector<File> render_paddlejob(TargetInput const& input) {
  auto const& job = input.job;
  if (input.options.profile == Profile::legacy) return legacy(input);
  auto data = object_data(job);
  bool const kubeflow = job.paddlejob_api.value == "kubeflow.org";
  data["trainers"] = replica(job, PodRole::trainer, job.trainer_num.value);
  data["has_servers"] = job.server_num.value > 0;
  data["servers"] = job.server_num.value > 0 ? replica(job, PodRole::server, job.server_num.value) : Json::object();
  data["with_gloo"] = job.with_gloo.value;
  data["intranet"] = job.intranet.value;
  data["clean_pod_policy"] = job.clean_pod_policy.value;
  data["elastic"] = job.elastic_min.given || job.elastic_max.given;
  data["least"] = job.elastic_min.value;
  data["most"] = job.elastic_max.value;
  data["volcano"] = job.scheduler.value == "volcano";
  data["queue"] = job.queue.value;
  data["min_available"] = job.server_num.value + job.elastic_min.value;
  if (!kubeflow) {
    input.diagnostics.note(
        "paddle-operator adds an init container without a security context: namespaces that enforce "
        "Pod Security 'restricted' refuse its pods",
        "enforce 'baseline' there, or render backend k8s, which needs no operator");
  }
  return {{"paddlejob.yaml", input.renderer.yaml(kubeflow ? "paddlejob_kubeflow.yaml" : "paddlejob.yaml", data), false,
           true}};
}

}  // namespace prdist::gen
