// SPDX-License-Identifier: Apache-2.0
// Checks of what pods are made of: environment, secrets, volumes, placement, labels, users.
#include <algorithm>
#include <array>
#include <prdist/core/suggest.hpp>
#include <prdist/core/text.hpp>
#include <set>

#include "check_values.hpp"
#include "names.hpp"
#include "secrecy.hpp"

namespace prdist::gen {

namespace {

/// Variables that say who a process is: a value of the user's would contradict the manifest's.
constexpr std::array set_by_prgen{"TRAINING_ROLE",
                                  "PADDLE_TRAINING_ROLE",
                                  "PADDLE_ROLE",
                                  "PADDLE_TRAINER_ID",
                                  "PADDLE_PSERVER_ID",
                                  "PADDLE_PSERVERS_IP_PORT_LIST",
                                  "PADDLE_TRAINERS_NUM",
                                  "PADDLE_PSERVERS_NUM",
                                  "PADDLE_PORT",
                                  "POD_IP",
                                  "POD_NAME",
                                  "PADDLE_CURRENT_IP",
                                  "PADDLE_TRAINER_ENDPOINTS",
                                  "PADDLE_CURRENT_ENDPOINT",
                                  "PADDLE_JOB_NAME",
                                  "PADDLE_IS_LOCAL",
                                  "JOB_COMPLETION_INDEX",
                                  "VC_TASK_INDEX",
                                  "NAMESPACE",
                                  "JOB_NAME",
                                  "JOB_NAMESPACE",
                                  "JOB_PATH",
                                  "TRAIN_CONFIG_DIR",
                                  "PRDIST_CONFIG"};

/// Whether `name` may not be set by the user; says so then.
bool taken(Text const& name, Diagnostics& diagnostics) {
  if (std::find(set_by_prgen.begin(), set_by_prgen.end(), name.value) == set_by_prgen.end()) return false;
  diagnostics.error("PR023", name.where, concat(name.value, " is set by prgen for every pod"),
                    "take it away; server_num, trainer_num, port and job_path decide it");
  return true;
}

void one_of(Text const& text, std::vector<std::string> const& choices, Diagnostics& diagnostics) {
  if (!text.given || std::find(choices.begin(), choices.end(), text.value) != choices.end()) return;
  auto const meant = did_you_mean(text.value, choices);
  std::string list;
  for (auto const& choice : choices) list += concat(list.empty() ? "" : ", ", choice);
  diagnostics.error("PR009", text.where, concat("'", text.value, "' is not known here"),
                    meant.empty() ? concat("one of: ", list) : concat("did you mean '", meant, "'?"));
}

void need(TextMap const& record, std::string const& key, Diagnostics& diagnostics) {
  if (record.get(key).given && !record.get(key).value.empty()) return;
  diagnostics.error("PR008", at(record.where, concat(record.where.path, '.', key)), "is missing",
                    concat("add '", key, ":' to this item"));
}

}  // namespace

void check_env(JobSpec const& job, Options const& options, Diagnostics& diagnostics) {
  for (auto const& [name, value] : job.env.items) {
    if (!env_name(name.value)) {
      diagnostics.error("PR020", name.where, concat("'", name.value, "' is not a variable's name"),
                        "write letters, digits and '_', and no digit in front");
    } else if (taken(name, diagnostics)) {
      continue;
    } else if (holds_secret(name.value, value.value)) {
      std::string const message = concat(name.value, " sounds like a secret, and a manifest is no place for one");
      std::string const help =
          concat("put it into a Secret and write submit.secrets: [{env: ", name.value, ", secret: NAME, key: KEY}]");
      if (options.profile == Profile::legacy) {
        diagnostics.warning("PR017", name.where, message, help);
      } else {
        diagnostics.error("PR017", name.where, message, help);
      }
    }
  }
}

void check_secrets(JobSpec const& job, Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (auto const& [name, value] : job.env.items) seen.insert(name.value);
  for (auto const& record : job.secrets.items) {
    for (auto const* const key : {"env", "secret", "key"}) need(record, key, diagnostics);
    auto const env = record.get("env");
    if (env.given && !env_name(env.value)) {
      diagnostics.error("PR020", env.where, concat("'", env.value, "' is not a variable's name"),
                        "write letters, digits and '_', and no digit in front");
    }
    if (env.given && !taken(env, diagnostics) && !seen.insert(env.value).second) {
      diagnostics.error("PR023", env.where, concat(env.value, " is set twice"), "take one of them away");
    }
    if (auto const secret = record.get("secret"); secret.given && !subdomain_fault(secret.value).empty()) {
      diagnostics.error("PR011", secret.where,
                        concat("'", secret.value, "' is not a Secret's name: it ", subdomain_fault(secret.value)),
                        "kubectl get secrets lists them");
    }
    if (auto const key = record.get("key"); key.given && !key.value.empty() && !data_key(key.value)) {
      diagnostics.error("PR011", key.where, concat("'", key.value, "' is not a key of a Secret"),
                        "kubectl describe secret NAME lists them: letters, digits, '-', '_' and '.'");
    }
  }
}

void check_volumes(JobSpec const& job, Options const& options, Diagnostics& diagnostics) {
  std::set<std::string> names{"tmp", "config", "job", "shm"};
  std::set<std::string> mounts;  // what the pods have anyway
  if (options.profile == Profile::safe) {
    mounts.insert("/tmp");
    if (job.model.source) mounts.insert("/etc/prdist");
    if (job.gpus.value > 0 || job.collective()) mounts.insert("/dev/shm");
  }
  if (mounts.contains(normal_path(job.job_path.value))) {
    diagnostics.error("PR023", job.job_path.where, concat("something else is mounted at ", job.job_path.value),
                      "take another path");
  }
  for (auto const& record : job.volumes.items) {
    need(record, "name", diagnostics);
    need(record, "mount", diagnostics);
    auto const name = record.get("name");
    check_label(name, diagnostics, &dns_label_fault);
    if (name.given && !names.insert(name.value).second) {
      diagnostics.error("PR023", name.where, concat("a volume '", name.value, "' is there already"),
                        "take another name");
    }
    auto const mount = record.get("mount");
    check_mount(mount, diagnostics);
    if (mount.given && !mounts.insert(normal_path(mount.value)).second) {
      diagnostics.error("PR023", mount.where, concat("something else is mounted at ", mount.value),
                        "take another path");
    }
    int kinds = 0;
    for (auto const* const kind : {"pvc", "config_map", "secret", "empty_dir", "host_path"}) {
      if (record.get(kind).given) ++kinds;
    }
    if (kinds != 1) {
      diagnostics.error("PR008", record.where, concat(kinds, " kinds of volume are named; one is needed"),
                        "write one of pvc: NAME, config_map: NAME, secret: NAME, empty_dir: SIZE, host_path: PATH");
    }
    if (auto const host = record.get("host_path"); host.given) {
      check_path(host, diagnostics);
      diagnostics.warning("PR018", host.where,
                          "a path of the node itself: namespaces that enforce Pod Security "
                          "'restricted' or 'baseline' refuse the pods",
                          "take a pvc where you can");
    }
    if (auto const size = record.get("empty_dir"); size.given && !size.value.empty()) {
      check_quantity(size, true, diagnostics);
    }
    one_of(record.get("read_only"), {"true", "false"}, diagnostics);
    for (auto const* const kind : {"pvc", "config_map", "secret"}) {
      auto const object = record.get(kind);
      if (object.given && !subdomain_fault(object.value).empty()) {
        diagnostics.error(
            "PR011", object.where,
            concat("'", object.value, "' is not the name of an object: it ", subdomain_fault(object.value)),
            "kubectl get pvc,configmaps,secrets lists them");
      }
    }
  }
}

void check_placement(JobSpec const& job, Diagnostics& diagnostics) {
  for (auto const& [name, value] : job.node_selector.items) {
    if (!qualified_name(name.value)) {
      diagnostics.error("PR011", name.where, concat("'", name.value, "' is not a label's key"),
                        "kubectl get nodes --show-labels lists them");
    }
    if (!label_value(value.value)) {
      diagnostics.error("PR011", value.where, concat("'", value.value, "' is not a label's value"),
                        "at most 63 letters, digits, '-', '_' and '.'");
    }
  }
  for (auto const& record : job.tolerations.items) {
    one_of(record.get("operator"), {"Exists", "Equal"}, diagnostics);
    one_of(record.get("effect"), {"NoSchedule", "PreferNoSchedule", "NoExecute"}, diagnostics);
    auto const key = record.get("key");
    if (key.given && !qualified_name(key.value)) {
      diagnostics.error("PR011", key.where, concat("'", key.value, "' is not a taint's key"),
                        "kubectl describe nodes lists the taints");
    }
    if (auto const value = record.get("value"); !label_value(value.value)) {
      diagnostics.error("PR011", value.where, concat("'", value.value, "' is not a taint's value"),
                        "at most 63 letters, digits, '-', '_' and '.'");
    }
    if (!key.given && record.get("operator").value != "Exists") {
      diagnostics.error("PR008", at(record.where, concat(record.where.path, ".key")), "is missing",
                        "add 'key:', or 'operator: Exists' to tolerate everything");
    }
    if (record.get("operator").value == "Exists" && record.get("value").given) {
      diagnostics.error("PR023", record.get("value").where, "a value means nothing with operator Exists",
                        "take the value away, or write operator: Equal");
    }
  }
  for (auto const& secret : job.image_pull_secrets.items) {
    if (!subdomain_fault(secret.value).empty()) {
      diagnostics.error("PR011", secret.where, concat("'", secret.value, "' is not a Secret's name"),
                        "kubectl get secrets lists them");
    }
  }
  if (job.gpu_resource.given &&
      (!qualified_name(job.gpu_resource.value) || job.gpu_resource.value.find('/') == std::string::npos)) {
    diagnostics.error("PR011", job.gpu_resource.where,
                      concat("'", job.gpu_resource.value, "' is not a resource's name"),
                      "write vendor/name, for example nvidia.com/gpu");
  }
}

void check_metadata(JobSpec const& job, Diagnostics& diagnostics) {
  auto const check = [&](TextMap const& map, std::string_view what) {
    for (auto const& [name, value] : map.items) {
      if (!qualified_name(name.value)) {
        diagnostics.error("PR011", name.where, concat("'", name.value, "' is not the key of ", what),
                          "write letters, digits, '-', '_' and '.', with a domain and '/' in front if you like");
      } else if (name.value.starts_with("app.kubernetes.io/") && &map == &job.labels) {
        diagnostics.error("PR023", name.where, concat(name.value, " is set by prgen, and pods are found by it"),
                          "take another key, for example example.com/team");
      }
      if (&map == &job.labels && !label_value(value.value)) {
        diagnostics.error("PR011", value.where, concat("'", value.value, "' is not a label's value"),
                          "at most 63 letters, digits, '-', '_' and '.'; longer text is for annotations");
      }
      if (&map == &job.annotations && holds_secret(name.value, value.value)) {
        diagnostics.error("PR017", name.where,
                          concat(name.value, " sounds like a secret, and everybody reads annotations"),
                          "put it into a Secret and name it by submit.secrets");
      }
    }
  };
  check(job.labels, "a label");
  check(job.annotations, "an annotation");
  check_label(job.priority_class, diagnostics, &subdomain_fault);
}

void check_security(JobSpec const& job, Options const& options, Diagnostics& diagnostics) {
  check_path(job.workdir, diagnostics);
  if (job.run_as_user.given && job.run_as_user.value == 0 && options.profile == Profile::safe) {
    diagnostics.warning("PR018", job.run_as_user.where,
                        "the processes are root: namespaces that enforce Pod Security 'restricted' refuse the pods",
                        "take the key away, or write the id of another user");
  }
}

}  // namespace prdist::gen
