// SPDX-License-Identifier: Apache-2.0
#include "check_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <prdist/core/text.hpp>
#include <set>

#include "names.hpp"
#include "quantity.hpp"
#include "secrecy.hpp"
#include "suggest.hpp"

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

void missing(JobSpec const& job, std::string const& path, std::string const& what, std::string const& help,
             Diagnostics& diagnostics) {
  if (diagnostics.mentions(path)) return;  // it is there, and something else is wrong with it
  auto where = at(path.starts_with("submit.") && job.submit.line != 0 ? job.submit : job.root, path);
  where.length = 1;
  diagnostics.error("PR008", where, concat("is missing: ", what), help);
}

void check_label(Text const& text, Diagnostics& diagnostics, std::string (*fault_of)(std::string_view)) {
  if (!text.given) return;
  auto const fault = fault_of(text.value);
  if (fault.empty()) return;
  auto const better = label_from(text.value);
  diagnostics.error(
      "PR011", text.where, concat("'", text.value, "' is not a name that Kubernetes takes: it ", fault),
      better.empty() ? "begin with a lower-case letter; then letters, digits and '-'" : concat("write ", better));
}

void check_folder(Text const& text, Diagnostics& diagnostics) {
  if (!text.given) return;
  if (auto const fault = folder_fault(text.value); !fault.empty()) {
    diagnostics.error("PR011", text.where, concat("a job's name becomes a folder's, and this one ", fault),
                      "write letters, digits, '-', '_' and '.'");
  }
}

void check_quantity(Text const& text, bool bytes, Diagnostics& diagnostics) {
  if (!text.given) return;
  auto const amount = parse_quantity(text.value);
  if (!amount) {
    auto const meant = quantity_meant(text.value);
    diagnostics.error("PR012", text.where, concat("'", text.value, "' is not a quantity"),
                      meant.empty() ? (bytes ? "write a number and Ki, Mi, Gi or Ti, for example 4Gi"
                                             : "write cores (2) or thousandths of one (500m)")
                                    : concat("write ", meant));
  } else if (*amount <= 0) {
    diagnostics.error("PR012", text.where, concat("'", text.value, "' is not more than nothing"),
                      bytes ? "write for example 4Gi" : "write for example 2");
  } else if (*amount > (bytes ? 9.2e18L : 1e6L)) {
    diagnostics.error("PR012", text.where, concat("'", text.value, "' is more than any machine has"),
                      bytes ? "write for example 4Gi" : "write for example 2");
  } else if (bytes && std::floor(*amount) != *amount) {
    diagnostics.warning("PR029", text.where,
                        concat("'", text.value, "' is less than a byte fine: 'm' means thousandths"),
                        concat("write ", text.value.substr(0, text.value.find('m')), "Mi if megabytes are meant"));
  } else if (bytes && *amount < 1024.0L * 1024) {
    diagnostics.warning("PR029", text.where, concat("'", text.value, "' is less than a megabyte"),
                        "write for example 4Gi");
  }
}

void check_image(Text const& text, Diagnostics& diagnostics) {
  if (!text.given) return;
  if (auto const fault = image_fault(text.value); !fault.empty()) {
    diagnostics.error("PR013", text.where, concat("'", text.value, "' is not an image: it ", fault),
                      "write registry/name:tag, for example hub.example.com/team/ctr:1.0");
    return;
  }
  auto const tag = image_tag(text.value);
  if (tag.empty() || tag == "latest") {
    diagnostics.warning("PR019", text.where,
                        concat("the image has ", tag.empty() ? "no tag" : "the tag 'latest'",
                               ": pods of one job may run different programs"),
                        "name a version, or a digest behind @");
  }
}

void check_mount(Text const& text, Diagnostics& diagnostics) {
  check_path(text, diagnostics);
  if (text.given && mount_fault(text.value).empty() && normal_path(text.value) == "/") {
    diagnostics.error("PR021", text.where, concat("'", text.value, "' is the root, where the image itself lies"),
                      "write a folder, for example /data");
  }
}

void check_path(Text const& text, Diagnostics& diagnostics) {
  if (!text.given) return;
  if (auto const fault = mount_fault(text.value); !fault.empty()) {
    diagnostics.error("PR021", text.where, concat("'", text.value, "' ", fault), "write a path that begins with '/'");
  }
}

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
      if (options.profile == Profile::safe) {
        diagnostics.warning("PR018", host.where,
                            "a path of the node itself: namespaces that enforce Pod Security "
                            "'restricted' or 'baseline' refuse the pods",
                            "take a pvc where you can");
      }
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

void check_hosts(JobSpec const& job, Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (auto const& host : job.hosts.items) {
    if (auto const fault = host_fault(host.value); !fault.empty()) {
      diagnostics.error("PR028", host.where, concat("'", host.value, "' is not a host: it ", fault),
                        "write a name or an address, for example 10.0.0.4");
    } else if (!seen.insert(host.value).second) {
      diagnostics.error("PR028", host.where, concat("'", host.value, "' stands in the list twice"),
                        "write it once, and slots for more than one process on it");
    }
  }
  if (job.hosts.given && job.hosts.items.empty()) {
    diagnostics.error("PR028", job.hosts.where, "the list of hosts is empty", "name them, or take the key away");
  }
}

void check_ports(JobSpec const& job, bool needs_root_below_1024, Diagnostics& diagnostics, std::int64_t on_one_host) {
  auto const last = job.port.value + on_one_host * (job.ports_num.value + job.ports_num_for_sparse.value) - 1;
  if (last > 65535) {
    diagnostics.error("PR015", job.port.where,
                      concat("ports ", job.port.value, " to ", last, " are needed; 65535 is the last"), "begin lower");
  } else if (needs_root_below_1024 && job.port.value < 1024) {
    diagnostics.error("PR015", job.port.where,
                      concat("port ", job.port.value, " needs root, and pods do not run as root"),
                      "take one from 1024 upwards, for example 30240");
  }
}

}  // namespace prdist::gen
