// SPDX-License-Identifier: Apache-2.0
// Keys that a file gives and its target does not look at: each gets a warning, because a key that changes nothing is
// one that somebody relies on.
#include <algorithm>
#include <array>
#include <prdist/core/text.hpp>

#include "check_job.hpp"
#include "keys.hpp"
#include "target.hpp"

namespace prdist::gen {

namespace {

bool has_word(std::string_view list, std::string_view word) {
  auto const all = words(list);
  return std::find(all.begin(), all.end(), word) != all.end();
}

/// What the renderers of --profile legacy write.
bool legacy_writes(std::string_view target, std::string_view path) {
  if (has_word("backend job_name workspace namespace mode submit.docker_image submit.server_num submit.trainer_num",
               path)) {
    return true;
  }
  if (target == "volcano")
    return has_word("submit.scheduler submit.log_level submit.cpu submit.memory submit.storage", path);
  if (target == "paddlejob") {
    return has_word("command submit.gpus submit.gpu_resource submit.with_gloo submit.intranet submit.clean_pod_policy",
                    path);
  }
  return has_word(
      "command job_path train_config_dir submit.nics submit.port submit.ports_num submit.ports_num_for_sparse "
      "submit.volumes submit.scheduler",
      path);
}

struct Reason {
  std::string message{};
  std::string help{};
};

/// Why a key that the target knows changes nothing in this job; an empty message when it does change something.
Reason idle(JobSpec const& job, std::string_view target, std::string_view path, bool legacy) {
  auto const is = [&](std::string_view list) { return has_word(list, path); };
  // What the documents show anyway.
  bool const as_shown = (path == "launcher" && job.launcher.value == "none") ||
                        (path == "submit.scheduler" && job.scheduler.value == "default") ||
                        (path == "submit.paddlejob_api" && job.paddlejob_api.value == "batch.paddlepaddle.org");
  if (legacy && !as_shown && !legacy_writes(target, path)) {
    return {"is not written by --profile legacy", "leave --profile legacy out, or take the key away"};
  }
  if (!job.v2_cluster() && is("submit.nics submit.ports_num submit.ports_num_for_sparse")) {
    return {"means nothing without train_config_dir", "it is for jobs of Paddle v2"};
  }
  if (job.gpus.value == 0 && is("submit.gpu_resource"))
    return {"means nothing without gpus", "add for example gpus: 1"};
  if (job.mode.value == "single" && is("submit.port")) return {"mode single has no port", "take it away"};
  if (target != "paddlejob") return {};
  if (job.scheduler.value != "volcano" && is("submit.queue")) {
    return {"means nothing without a scheduler that has queues", "add scheduler: volcano"};
  }
  bool const kubeflow = job.paddlejob_api.value == "kubeflow.org";
  if (!kubeflow && is("submit.max_restart submit.ttl")) {
    return {"means nothing for paddle-operator, which has no such setting", "paddlejob_api: kubeflow.org has one"};
  }
  if (kubeflow && is("submit.clean_pod_policy submit.with_gloo submit.intranet")) {
    return {"means nothing for kubeflow.org", "it is for paddlejob_api: batch.paddlepaddle.org"};
  }
  return {};
}

bool same_place(Where const& a, Where const& b) {
  return a.path == b.path && a.line == b.line && a.column == b.column;
}

/// Whether a role's amount is the one for all pods, handed down.
bool handed_down(JobSpec const& job, std::string_view path, Where const& where) {
  std::array const pairs{std::pair{"submit.server.cpu", &job.cpu},
                         std::pair{"submit.trainer.cpu", &job.cpu},
                         std::pair{"submit.server.memory", &job.memory},
                         std::pair{"submit.trainer.memory", &job.memory},
                         std::pair{"submit.server.storage", &job.storage},
                         std::pair{"submit.trainer.storage", &job.storage},
                         std::pair{"submit.server.cpu_limit", &job.cpu_limit},
                         std::pair{"submit.trainer.cpu_limit", &job.cpu_limit}};
  return std::any_of(pairs.begin(), pairs.end(), [&](auto const& pair) {
    return path == pair.first && pair.second->given && same_place(where, pair.second->where);
  });
}

using Lost = std::vector<std::pair<std::string_view, Where>>;

/// Whether a key says what is so without it.
bool as_by_default(Key const& key, JobSpec const& job) {
  auto const* const text = std::get_if<Text JobSpec::*>(&key.member);
  return text != nullptr && key.plain_standard() && (job.**text).value == key.standard;
}

void say_lost(Lost const& lost, std::string const& target, Diagnostics& diagnostics) {
  if (lost.empty()) return;
  std::string others;
  for (std::size_t i = 1; i < lost.size(); ++i) others += concat(i == 1 ? "; so do " : ", ", lost[i].first);
  diagnostics.warning("PR022", lost.front().second, concat("means nothing for ", target, others),
                      concat("--backend ", target, " renders the job without; -q hides this"));
}

}  // namespace

void unused_keys(JobSpec const& job, std::string const& target, Options const& options, Diagnostics& diagnostics) {
  auto const* const found = find_target(target);
  if (found == nullptr) return;
  bool const legacy = found->kubernetes && options.profile == Profile::legacy;
  // A file that --backend turns to another target keeps the keys of its own: they are told in one message.
  bool const turned = !options.backend.empty() && options.backend != job.backend.value;
  Lost lost;
  for (auto const& key : keys()) {
    bool const known = key.is_for(target);
    auto reason = known ? found->kubernetes ? idle(job, target, key.path, legacy) : Reason{}
                        : Reason{concat("means nothing for ", target), concat("it is for ", key.targets)};
    if (reason.message.empty() || key.rule == Rule::secret) continue;  // of secrets more is said
    std::visit(
        [&](auto member) {
          auto const& value = job.*member;
          if (!value.given || handed_down(job, key.path, value.where)) return;
          if (!known && turned) {
            if (!as_by_default(key, job)) lost.emplace_back(key.path, value.where);
          } else {
            diagnostics.warning("PR022", value.where, reason.message, reason.help);
          }
        },
        key.member);
  }
  say_lost(lost, target, diagnostics);
  if (!legacy || target != "k8s") return;
  for (auto const& volume : job.volumes.items) {
    if (volume.get("host_path").given) continue;
    diagnostics.warning("PR022", volume.where, "--profile legacy writes volumes with a host_path only",
                        "leave --profile legacy out, or take the volume away");
  }
  if (job.server_num.given && job.server_num.value != job.trainer_num.value) {
    diagnostics.warning("PR022", job.server_num.where, "with --profile legacy every pod is a server and a trainer",
                        "take the key away; trainer_num counts the pods");
  }
}

}  // namespace prdist::gen
