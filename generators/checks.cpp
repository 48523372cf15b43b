// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include <prdist/core/text.hpp>

#include "check_job.hpp"
#include "check_values.hpp"
#include "defaults.hpp"
#include "keys.hpp"
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
      missing(job, "backend", "the cluster that shall run the job", concat("write backend: ", target_list()),
              diagnostics);
    }
    return {};
  }
  if (target != "k8s") return target;
  if (job.scheduler.value == "volcano" && options.backend.empty()) return "volcano";
  if (job.scheduler.value == "volcano" && options.profile == Profile::safe) {
    diagnostics.warning("PR022", job.scheduler.where, "--backend k8s renders plain Kubernetes objects all the same",
                        "leave --backend out, or write --backend volcano, for a Volcano Job");
  }
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

/// What the table says of keys that are left out.
void fill_standards(JobSpec& job, std::string const& target) {
  for (auto const& key : keys()) {
    if (!key.plain_standard() || !key.is_for(target)) continue;
    if (auto const* const text = std::get_if<Text JobSpec::*>(&key.member)) fill(job.**text, std::string(key.standard));
    if (auto const* const number = std::get_if<Number JobSpec::*>(&key.member); number != nullptr) {
      std::int64_t value = 0;
      if (parse_number(key.standard, value)) fill(job.**number, value);
    }
  }
}

/// What other values decide.
void fill_defaults(JobSpec& job, std::string const& target) {
  // Nobody can watch a program whose name only the image knows.
  if (bare_entrypoint(job)) fill(job.launcher, "none");
  if (!job.cpu.given) {
    job.cpu.value = concat(job.model.threads.given ? job.model.threads.value : 2);
    job.cpu.where = job.model.threads.where;
  }
  fill(job.server_cpu, job.cpu);
  fill(job.server_cpu_limit, job.cpu_limit);
  fill(job.server_memory, job.memory);
  fill(job.server_storage, job.storage);
  fill(job.trainer_cpu, job.cpu);
  fill(job.trainer_cpu_limit, job.cpu_limit);
  fill(job.trainer_memory, job.memory);
  fill(job.trainer_storage, job.storage);
  fill(job.port, target == "paddlejob" ? 36000 : job.v2_cluster() || target == "mpi" ? 7164 : 30240);
  fill(job.ports_num_for_sparse, target == "mpi" || job.v2_cluster() ? 1 : 0);
}

void secrets_in_clear(JobSpec const& job, std::string const& target, Diagnostics& diagnostics) {
  auto const warn = [&](Text const& text, std::string const& instead) {
    if (!text.given || text.value.empty()) return;
    diagnostics.warning(
        "PR017", text.where, "a secret stands in the file; it is not written anywhere",
        instead.empty() ? concat("take it out: ", target, " has no use for it") : concat("take it out and ", instead));
  };
  // Where the target knows no such key, nobody will look for the variable, either.
  bool const cloud = target == "paddlecloud";
  warn(job.fs_ugi, cloud || target == "mpi" ? "set FS_UGI where the job is submitted" : "");
  warn(job.ak, cloud ? "set PADDLECLOUD_AK where the job is submitted" : "");
  warn(job.sk, cloud ? "set PADDLECLOUD_SK where the job is submitted" : "");
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
  for (auto const* const text :
       {&job.cpu, &job.server_cpu, &job.trainer_cpu, &job.cpu_limit, &job.server_cpu_limit, &job.trainer_cpu_limit}) {
    check_quantity(*text, false, diagnostics);
  }
}

}  // namespace

std::string complete(JobSpec& job, Options const& options, Diagnostics& diagnostics) {
  if (!options.backend.empty() && find_target(options.backend) == nullptr) {
    diagnostics.error("PR009", at({}, "--backend"), concat("'", options.backend, "' is not known"),
                      concat("one of: ", target_list(), "; with prrun -b also ssh, which has the keys of mpi"));
    return {};
  }
  if (!options.name_space.empty()) job.name_space = {options.name_space, true, at({}, "-n")};
  if (!options.command.empty()) {
    job.command = {{}, true, at({}, "--")};
    for (auto const& word : options.command) job.command.items.push_back({word, true, at({}, "--")});
  }
  auto target = choose_target(job, options, diagnostics);
  fill_standards(job, target);
  if (target != "paddlecloud") {
    choose_mode(job, target, diagnostics);
    fill_defaults(job, target);
  }
  check_text(job, diagnostics);
  check_quantities(job, diagnostics);
  check_commands(job, target, options, diagnostics);
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
