// SPDX-License-Identifier: Apache-2.0
// What an apiserver, its admission rules or a scheduler would refuse, and the names of pods.
#include <algorithm>
#include <prdist/core/text.hpp>

#include "check_job.hpp"
#include "check_values.hpp"
#include "checks.hpp"
#include "defaults.hpp"
#include "names.hpp"
#include "quantity.hpp"

namespace prdist::gen {

namespace {

void check_elastic(JobSpec& job, Diagnostics& diagnostics) {
  auto const trainers = job.trainer_num.value;
  if (job.elastic_min.given && job.elastic_min.value > trainers) {
    diagnostics.error("PR010", job.elastic_min.where, concat("more than trainer_num, which is ", trainers),
                      concat("write 1 to ", trainers));
  }
  if (job.elastic_max.given && job.elastic_max.value < trainers) {
    diagnostics.error("PR010", job.elastic_max.where, concat("less than trainer_num, which is ", trainers),
                      concat("write ", trainers, " or more"));
  }
  fill(job.elastic_min, trainers);
  fill(job.elastic_max, trainers);
}

/// Requests above limits are refused by the apiserver, in words about Go structs.
void check_cpu_limits(JobSpec const& job, Diagnostics& diagnostics) {
  auto const check = [&](Text const& request, Text const& limit) {
    auto const least = parse_quantity(request.value);
    auto const most = limit.value.empty() ? std::nullopt : parse_quantity(limit.value);
    if (!least || !most || *most >= *least) return;
    diagnostics.error("PR014", limit.where,
                      concat("the limit ", limit.value, " is below the ", request.value, " cores requested"),
                      concat("write ", request.value, " or more, or a smaller cpu"));
  };
  check(job.server_cpu, job.server_cpu_limit);
  check(job.trainer_cpu, job.trainer_cpu_limit);
}

/// The original asks for one core and 1Gi of both, whatever the limits are; less than that hangs for ever.
void check_legacy_limits(JobSpec const& job, Diagnostics& diagnostics) {
  auto const at_least = [&](Text const& limit, std::string const& request) {
    auto const amount = parse_quantity(limit.value);
    if (amount && *amount < *parse_quantity(request)) {
      diagnostics.error("PR014", limit.where,
                        concat("the limit ", limit.value, " is below the request ", request, " of --profile legacy"),
                        concat("write ", request, " or more, or leave --profile legacy out"));
    }
  };
  at_least(job.cpu, "1");
  at_least(job.memory, "1Gi");
  at_least(job.storage, "1Gi");
}

}  // namespace

void check_kubernetes(JobSpec& job, std::string const& target, Options const& options, Diagnostics& diagnostics) {
  if (!job.job_name.given) {
    missing(job, "job_name", "every object of the job is named after it", "add for example job_name: ctr-dnn",
            diagnostics);
  }
  check_label(job.job_name, diagnostics);
  check_label(job.name_space, diagnostics, &dns_label_fault);
  check_label(job.service_account, diagnostics, &subdomain_fault);
  if (!job.image.given) {
    missing(job, "submit.docker_image", "what the pods run", "add for example docker_image: hub.example.com/ctr:1.0",
            diagnostics);
  }
  check_image(job.image, diagnostics);
  check_mount(job.job_path, diagnostics);
  check_env(job, options, diagnostics);
  check_secrets(job, diagnostics);
  check_volumes(job, options, diagnostics);
  check_placement(job, diagnostics);
  check_metadata(job, diagnostics);
  check_security(job, options, diagnostics);
  check_cpu_limits(job, diagnostics);
  check_elastic(job, diagnostics);
  check_ports(job, options.profile == Profile::safe, diagnostics);
  if (target == "paddlejob") check_paddlejob(job, options, diagnostics);
  if (job.queue.given && !subdomain_fault(job.queue.value).empty()) {
    diagnostics.error("PR011", job.queue.where,
                      concat("'", job.queue.value, "' is not a queue's name: it ", subdomain_fault(job.queue.value)),
                      "kubectl get queues lists them");
  }
  if (job.discovery.value == "pods" && !job.name_space.given) {
    missing(job, "namespace", "the right to list pods is given to an account of a namespace",
            "add namespace: NAME, or -n NAME; discovery: dns needs no rights", diagnostics);
  }
  if (options.kube_minor < 24 && target == "k8s" && options.profile == Profile::safe) {
    diagnostics.error(
        "PR027", at({}, "--kube-version"),
        concat("Indexed Jobs are stable since Kubernetes 1.24, and the cluster has 1.", options.kube_minor),
        "for older clusters render --backend volcano");
  }
  if (target == "volcano" && job.queue.value == "root") {
    diagnostics.error("PR011", job.queue.where, "the queue 'root' holds the others and takes no jobs",
                      "kubectl get queues lists them");
  }
  if (options.profile == Profile::legacy && target == "volcano") check_legacy_limits(job, diagnostics);
  if (auto const name = longest_name(job, target, options);
      label_fault(job.job_name.value).empty() && name.size() > 63) {
    diagnostics.error(
        "PR016", job.job_name.where,
        concat("the longest name made of it, ", name, ", has ", name.size(), " characters; 63 is the most"),
        concat("take ", name.size() - 63, " away"));
  }
}

bool one_indexed_job(JobSpec const& job, Options const& options) {
  return job.parameter_servers() && !job.every_pod_is_both() && options.kube_minor >= 31 &&
         job.launcher.value == "prrun" && job.gpus.value == 0 && !job.server_command.given &&
         !job.trainer_command.given && job.server_cpu_limit.value == job.trainer_cpu_limit.value &&
         job.server_cpu.value == job.trainer_cpu.value && job.server_memory.value == job.trainer_memory.value &&
         job.server_storage.value == job.trainer_storage.value;
}

std::string longest_name(JobSpec const& job, std::string const& target, Options const& options) {
  auto const& name = job.job_name.value;
  auto const longest = [&](std::string const& server, std::string const& trainer) {
    auto a = concat(name, server, std::max<std::int64_t>(job.server_num.value - 1, 0));
    auto b = concat(name, trainer, std::max<std::int64_t>(job.trainer_num.value - 1, 0));
    return job.server_num.value > 0 && a.size() > b.size() ? a : b;
  };
  if (target == "paddlejob") {
    return job.paddlejob_api.value == "kubeflow.org" ? longest("-master-", "-worker-") : longest("-ps-", "-worker-");
  }
  if (target == "k8s" && (job.every_pod_is_both() || (options.profile == Profile::legacy && job.v2_cluster()))) {
    return concat(name, '-', std::max<std::int64_t>(job.trainer_num.value - 1, 0));
  }
  if (target == "k8s" && (one_indexed_job(job, options) || !job.parameter_servers())) {
    return concat(name, '-', std::max<std::int64_t>(job.pods() - 1, 0));
  }
  return longest("-pserver-", "-trainer-");
}

}  // namespace prdist::gen
