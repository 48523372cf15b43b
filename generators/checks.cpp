// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include <algorithm>
#include <cctype>
#include <prdist/core/text.hpp>

#include "check_values.hpp"
#include "defaults.hpp"
#include "keys.hpp"
#include "names.hpp"
#include "quantity.hpp"
#include "target.hpp"

namespace prdist::gen {

namespace {

bool on_kubernetes(std::string_view target) {
  auto const* const found = find_target(target);
  return found != nullptr && found->kubernetes;
}

std::string choose_target(JobSpec& job, Options const& options, Diagnostics& diagnostics) {
  auto target = options.backend.empty() ? job.backend.value : options.backend;
  if (target.empty()) {
    if (!job.backend.given) {
      missing(job, "backend", "the cluster that shall run the job",
              "write backend: k8s, volcano, paddlejob, mpi, paddlecloud or local", diagnostics);
    }
    return {};
  }
  if (target != "k8s") return target;
  if (job.scheduler.value == "volcano" && options.backend.empty()) return "volcano";
  bool const open = options.backend.empty() && !job.scheduler.given;
  if (options.profile == Profile::legacy && !job.v2_cluster()) {
    if (open) diagnostics.note("--profile legacy renders the Volcano Job that PaddleRec made of this file");
    return "volcano";
  }
  if (open && options.profile == Profile::safe) {
    diagnostics.note("rendering plain Kubernetes objects, which run on any cluster",
                     "scheduler: volcano below submit, or --backend volcano, renders a Volcano Job; scheduler: default "
                     "silences this line");
  }
  return target;
}

void choose_mode(JobSpec& job, std::string const& target, Diagnostics& diagnostics) {
  if (!job.mode.given) {
    bool const collective = job.model.fleet_mode.value == "collective" && !job.server_num.value;
    job.mode.value = collective ? "collective" : "ps";
  }
  if (job.mode.value == "ps") {
    if (target == "mpi" && job.nodes.given && !job.trainer_num.given && !job.server_num.given) {
      // The batch systems of 2020 gave each node one server and one trainer.
      job.trainer_num = job.server_num = job.nodes;
    }
    if (!job.trainer_num.given)
      missing(job, "submit.trainer_num", "how many trainers", "add for example trainer_num: 2", diagnostics);
    if (job.v2_cluster()) fill(job.server_num, job.trainer_num.value);  // every node of a v2 cluster is both
    if (!job.server_num.given && !job.v2_cluster()) {
      missing(job, "submit.server_num", "how many parameter servers",
              "add for example server_num: 2; without servers, write mode: collective or mode: single", diagnostics);
    } else if (job.server_num.given && job.server_num.value == 0) {
      diagnostics.error("PR023", job.server_num.where, "mode ps needs servers",
                        "write 1 or more, or mode: collective for trainers alone");
    }
    return;
  }
  if (job.server_num.value > 0) {
    diagnostics.error("PR023", job.server_num.where, concat("mode ", job.mode.value, " has no servers"),
                      "take server_num away, or write mode: ps");
  }
  if (job.mode.value == "single") {
    if (job.trainer_num.given && job.trainer_num.value != 1) {
      diagnostics.error("PR023", job.trainer_num.where, "mode single has one trainer", "write 1, or mode: collective");
    }
    fill(job.trainer_num, 1);
  } else if (!job.trainer_num.given) {
    missing(job, "submit.trainer_num", "how many trainers", "add for example trainer_num: 2", diagnostics);
  }
}

void fill_defaults(JobSpec& job, std::string const& target) {
  fill(job.launcher, "prrun");
  fill(job.discovery, "dns");
  fill(job.scheduler, "default");
  fill(job.queue, "default");
  fill(job.job_path, "/home/jobpath");
  fill(job.memory, "4Gi");
  fill(job.storage, "10Gi");
  if (!job.cpu.given) {
    job.cpu.value = concat(job.model.threads.given ? job.model.threads.value : 2);
    job.cpu.where = job.model.threads.where;
  }
  fill(job.server_cpu, job.cpu);
  fill(job.server_memory, job.memory);
  fill(job.server_storage, job.storage);
  fill(job.trainer_cpu, job.cpu);
  fill(job.trainer_memory, job.memory);
  fill(job.trainer_storage, job.storage);
  fill(job.gpu_resource, "nvidia.com/gpu");
  fill(job.port, target == "paddlejob" ? 36000 : job.v2_cluster() || target == "mpi" ? 7164 : 30240);
  fill(job.ports_num, 1);
  fill(job.ports_num_for_sparse, target == "mpi" || job.v2_cluster() ? 1 : 0);
  fill(job.nics, "eth0");
  fill(job.max_restart, 3);
  fill(job.grace, 120);
  fill(job.ttl, 86400);
  fill(job.intranet, "PodIP");
  fill(job.clean_pod_policy, "OnCompletion");
  fill(job.paddlejob_api, "batch.paddlepaddle.org");
  fill(job.mpi, "openmpi");
  fill(job.slots, 0);
}

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
    diagnostics.error("PR027", at({}, "--kube-version"),
                      concat("Kubernetes 1.", options.kube_minor, " has no Indexed Jobs"),
                      "1.24 is the first; for older clusters render --backend volcano");
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
  if (job.launcher.value == "none" && target == "volcano" && options.profile == Profile::safe) {
    diagnostics.error("PR023", job.launcher.where, "pods of a Volcano Job learn their ids from prrun",
                      "take the key away, or render backend k8s, whose pods need no launcher");
  }
}

void check_machines(JobSpec& job, Diagnostics& diagnostics) {
  check_hosts(job, diagnostics);
  for (auto const& host : job.hosts.items) {
    if (host.value.find_first_of(":@[]") == std::string::npos) continue;
    diagnostics.error("PR028", host.where, concat("'", host.value, "' cannot stand in a hostfile of MPI"),
                      "write a bare name or IPv4 address; users and ports belong into ~/.ssh/config");
  }
  fill(job.job_name, "prdist-mpi");
  check_env(job, {}, diagnostics);
  auto const hosts_known = std::max<std::int64_t>(static_cast<std::int64_t>(job.hosts.items.size()), 1);
  auto const listening = job.parameter_servers() ? job.server_num.value : job.trainer_num.value;
  // Hosts that are not known yet are counted by start.sh.
  check_ports(job, false, diagnostics,
              job.hosts.items.empty() ? 1 : std::max<std::int64_t>((listening + hosts_known - 1) / hosts_known, 1));
  auto const ranks = job.pods();
  if (job.hosts.given && !job.hosts.items.empty()) {
    auto const hosts = static_cast<std::int64_t>(job.hosts.items.size());
    if (job.slots.given && job.slots.value * hosts < ranks) {
      diagnostics.error(
          "PR023", job.slots.where,
          concat(ranks, " processes do not fit on ", hosts, " hosts with ", job.slots.value, " slots each"),
          concat("write ", (ranks + hosts - 1) / hosts, " or more, or add hosts"));
    }
    if (!job.slots.given) job.slots.value = (ranks + hosts - 1) / hosts;
  }
  check_folder(job.job_name, diagnostics);
  if (job.hpc.given) {
    // submit.sh would hand over empty words, which qsub_f takes for the names of files.
    auto const need = [&](Text const& text, std::string const& path, std::string const& what, std::string const& help) {
      if (text.value.empty()) missing(job, path, what, help, diagnostics);
    };
    need(job.qconf, "submit.qconf", "the configuration that qsub_f reads", "add for example qconf: ./qconf.conf");
    need(job.fs_name, "fs.name", "the file system of the job", "add for example name: hdfs://host:port below fs");
    need(job.fs_output, "fs.output", "where the output goes", "add for example output: /user/me/out below fs");
  }
}

/// What prrun would refuse.
void check_local(JobSpec const& job, Diagnostics& diagnostics) {
  check_env(job, {}, diagnostics);
  check_folder(job.job_name, diagnostics);
  constexpr std::int64_t most = 1024;
  if (job.server_num.value == 0 && !job.parameter_servers()) {
    diagnostics.error("PR023", job.mode.where,
                      concat("prrun starts jobs with servers, and mode ", job.mode.value, " has none"),
                      "take the mode away and write server_num");
  }
  for (auto const* const count : {&job.server_num, &job.trainer_num}) {
    if (count->value > most) {
      diagnostics.error("PR010", count->where, concat(count->value, " processes on one machine"),
                        concat("write ", most, " or less"));
    }
  }
  bool const plain = std::all_of(job.job_name.value.begin(), job.job_name.value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (!plain) {
    diagnostics.error("PR011", job.job_name.where, concat("'", job.job_name.value, "' is not a name that prrun takes"),
                      "write letters, digits, '.', '_' and '-'");
  }
}

void secrets_in_clear(JobSpec const& job, std::string const& target, Diagnostics& diagnostics) {
  auto const warn = [&](Text const& text, std::string const& variable) {
    if (!text.given || text.value.empty()) return;
    diagnostics.warning("PR017", text.where, "a secret stands in the file; it is not written anywhere",
                        concat("take it out and set ", variable, " where the job is submitted"));
  };
  if (target == "paddlecloud" || target == "mpi") warn(job.fs_ugi, "FS_UGI");
  if (target == "paddlecloud") {
    warn(job.ak, "PADDLECLOUD_AK");
    warn(job.sk, "PADDLECLOUD_SK");
  }
}

/// Flags and escapes in quoted values can bring in what no manifest can carry.
void check_text(JobSpec const& job, Diagnostics& diagnostics) {
  auto const check = [&](Text const& text) {
    if (first_bad_utf8(text.value) == std::string_view::npos) return;
    diagnostics.error("PR002", text.where, "the value is not UTF-8 text, or holds a NUL", "correct it");
  };
  auto const check_map = [&](TextMap const& map) {
    for (auto const& [name, value] : map.items) check(name), check(value);
  };
  for (auto const& key : keys()) {
    if (auto const* const text = std::get_if<Text JobSpec::*>(&key.member)) check(job.**text);
    if (auto const* const list = std::get_if<TextList JobSpec::*>(&key.member)) {
      for (auto const& item : (job.**list).items) check(item);
    }
    if (auto const* const map = std::get_if<TextMap JobSpec::*>(&key.member)) check_map(job.**map);
    if (auto const* const records = std::get_if<Records JobSpec::*>(&key.member)) {
      for (auto const& record : (job.**records).items) check_map(record);
    }
  }
}

void check_quantities(JobSpec const& job, Diagnostics& diagnostics) {
  for (auto const* const text : {&job.memory, &job.storage, &job.server_memory, &job.server_storage,
                                 &job.trainer_memory, &job.trainer_storage}) {
    check_quantity(*text, true, diagnostics);
  }
  for (auto const* const text : {&job.cpu, &job.server_cpu, &job.trainer_cpu})
    check_quantity(*text, false, diagnostics);
}

}  // namespace

bool one_indexed_job(JobSpec const& job, Options const& options) {
  return job.parameter_servers() && options.kube_minor >= 31 && job.launcher.value == "prrun" && job.gpus.value == 0 &&
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
  if (target == "k8s" && (one_indexed_job(job, options) || !job.parameter_servers() ||
                          (options.profile == Profile::legacy && job.v2_cluster()))) {
    return concat(name, '-', std::max<std::int64_t>(job.pods() - 1, 0));
  }
  return longest("-pserver-", "-trainer-");
}

std::string complete(JobSpec& job, Options const& options, Diagnostics& diagnostics) {
  if (!options.name_space.empty()) job.name_space = {options.name_space, true, at({}, "-n")};
  if (!options.command.empty()) {
    job.command = {{}, true, at({}, "--")};
    for (auto const& word : options.command) job.command.items.push_back({word, true, at({}, "--")});
  }
  auto target = choose_target(job, options, diagnostics);
  if (target != "paddlecloud") {
    choose_mode(job, target, diagnostics);
    fill_defaults(job, target);
  }
  check_text(job, diagnostics);
  check_quantities(job, diagnostics);
  if (job.command.given && (job.command.items.empty() || job.command.items.front().value.empty())) {
    diagnostics.error("PR008", job.command.where, "the command is empty",
                      "write the program and its arguments as a list");
  }
  if (on_kubernetes(target)) check_kubernetes(job, target, options, diagnostics);
  if (target == "mpi") check_machines(job, diagnostics);
  if (target == "local") check_local(job, diagnostics);
  if (target == "paddlecloud") check_paddlecloud(job, diagnostics);
  secrets_in_clear(job, target, diagnostics);
  check_scale(job, target, options, diagnostics);
  check_model(job, target, diagnostics);
  unused_keys(job, target, options, diagnostics);
  return target;
}

}  // namespace prdist::gen
