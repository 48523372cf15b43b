// SPDX-License-Identifier: Apache-2.0
// Checks that look at more than one value: how large a job may get, what an operator makes of it, and whether the
// model's config.yaml agrees.
#include <prdist/core/text.hpp>

#include "check_job.hpp"
#include "checks.hpp"
#include "target.hpp"

namespace prdist::gen {

namespace {

constexpr std::int64_t pods_of_one_job = 100'000;       // the apiserver's limit for an Indexed Job
constexpr std::size_t longest_variable = 131'072 - 64;  // Linux gives name, '=' and value together 128 KiB
constexpr std::int64_t operators_port = 36000;

/// Everything of an endpoint but the index.
std::string endpoint_frame(JobSpec const& job, std::string const& target, Options const& options) {
  auto const& name = job.job_name.value;
  auto const port = concat(':', job.port.value);
  auto const role = job.parameter_servers() ? "-pserver-" : "-trainer-";
  if (target == "volcano") return concat(name, role, '.', name, port);
  if (target == "k8s") {
    bool const plain = !job.parameter_servers() || job.every_pod_is_both() || one_indexed_job(job, options);
    return concat(name, plain ? "-" : role, '.', name, port);
  }
  if (target == "paddlejob") {
    bool const kubeflow = job.paddlejob_api.value == "kubeflow.org";
    if (!kubeflow && job.intranet.value != "Service") return "255.255.255.255:65535";
    return concat(name, !job.parameter_servers() ? "-worker-" : kubeflow ? "-master-" : "-ps-", port);
  }
  std::string longest = "255.255.255.255";
  for (auto const& host : job.hosts.items) longest = host.value.size() > longest.size() ? host.value : longest;
  return concat(longest, port);
}

}  // namespace

void check_scale(JobSpec const& job, std::string const& target, Options const& options, Diagnostics& diagnostics) {
  auto const* const found = find_target(target);
  if (found == nullptr || (!found->kubernetes && target != "mpi")) return;
  bool const legacy = options.profile == Profile::legacy && target != "paddlejob" && found->kubernetes;
  if (legacy || job.mode.value == "single") return;  // no pod has a list
  if (target == "k8s" && one_indexed_job(job, options) && job.pods() > pods_of_one_job) {
    diagnostics.error("PR010", job.trainer_num.where,
                      concat(job.pods(), " pods are more than one Job takes, which is ", pods_of_one_job),
                      "write fewer, or give trainers and servers different resources, and so a Job each");
  }
  auto const& count = job.parameter_servers() ? job.server_num : job.trainer_num;
  auto const frame = endpoint_frame(job, target, options).size() + 1;
  std::size_t bytes = 0;
  std::int64_t fit = 0;
  for (std::int64_t i = 0; i < count.value; ++i) {
    bytes += frame + concat(i).size();
    if (bytes <= longest_variable) fit = i + 1;
  }
  if (bytes <= longest_variable) return;
  diagnostics.error(
      "PR010", count.where,
      concat("the list of ", count.value, " endpoints has ", bytes, " bytes; a variable takes ", longest_variable),
      concat("write ", fit, " or less; a shorter job_name makes room for more"));
}

void check_paddlejob(JobSpec const& job, Options const& options, Diagnostics& diagnostics) {
  if (options.profile == Profile::legacy) return;  // it writes neither elastic nor port, and says so
  bool const kubeflow = job.paddlejob_api.value == "kubeflow.org";
  if (job.elastic_min.given || job.elastic_max.given) {
    auto const& where = job.elastic_min.given ? job.elastic_min.where : job.elastic_max.where;
    if (kubeflow) {
      diagnostics.error("PR023", where, "trainers of kubeflow.org's PaddleJob know each other by a list that is fixed",
                        "take elastic away, or write paddlejob_api: batch.paddlepaddle.org and mode: collective");
    } else if (!job.collective()) {
      diagnostics.error("PR023", where,
                        "paddle-operator tells the pods of an elastic job neither the servers nor their number",
                        "take elastic away, or write mode: collective; Volcano Jobs take elastic with servers");
    } else if (!job.env.get("PADDLE_ELASTIC_SERVER").given) {
      diagnostics.note("trainers of an elastic PaddleJob find each other in etcd",
                       "name it by submit.env: {PADDLE_ELASTIC_SERVER: HOST:2379}");
    }
  }
  if (kubeflow) return;
  if (job.port.given && job.port.value != operators_port) {
    bool const service = job.intranet.value == "Service";
    diagnostics.error("PR015", job.port.where,
                      concat("paddle-operator ",
                             service ? "writes port 36000 into every endpoint" : "chooses the port of servers itself",
                             ", whatever is asked for"),
                      "take the key away, or write 36000");
  }
  if (job.intranet.value == "Host") {
    diagnostics.warning("PR018", job.intranet.where,
                        "pods share the network of their nodes: no NetworkPolicy guards them, and namespaces that "
                        "enforce Pod Security 'restricted' or 'baseline' refuse them",
                        "write intranet: PodIP or Service where you can");
  }
}

void check_model(JobSpec const& job, std::string const& target, Diagnostics& diagnostics) {
  auto const* const found = find_target(target);
  if (found == nullptr || target == "paddlecloud") return;
  auto const& model = job.model;
  bool const gpubox = model.strategy.value == "gpubox";
  if (found->kubernetes && job.gpus.value == 0 && (model.device.value == "gpu" || gpubox)) {
    diagnostics.warning("PR022", gpubox ? model.strategy.where : model.device.where,
                        "the model wants GPUs, and the pods ask for none", "add for example submit.gpus: 1");
  }
  if (model.fleet_mode.value == "collective" && job.parameter_servers() && !job.mode.given) {
    diagnostics.warning("PR022", model.fleet_mode.where,
                        concat("the model says collective, and the job has ", job.server_num.value, " servers"),
                        "take server_num away, or write mode: ps to keep them");
  }
  if (model.strategy.value == "heter") {
    diagnostics.warning("PR022", model.strategy.where, "heterogeneous workers are not rendered",
                        "servers and trainers are all there is: write sync_mode: async");
  }
  if (model.strategy.value == "sync" && job.elastic_min.given && job.elastic_min.value < job.trainer_num.value) {
    diagnostics.warning("PR023", job.elastic_min.where,
                        "trainers in step wait for all others, so that fewer cannot begin",
                        "take elastic away, or train with the strategy async");
  }
}

}  // namespace prdist::gen
