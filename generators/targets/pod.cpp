// SPDX-License-Identifier: Apache-2.0
#include "pod.hpp"

#include <algorithm>
#include <prdist/core/text.hpp>
#include <prdist/version.hpp>

#include "../names.hpp"
#include "../quantity.hpp"

namespace prdist::gen {

namespace {

Json text_map(TextMap const& map) {
  auto out = Json::object();
  for (auto const& [name, value] : map.items) out[name.value] = value.value;
  return out;
}

}  // namespace

std::string_view training_role(PodRole role) {
  return role == PodRole::server ? "PSERVER" : "TRAINER";
}

Json env_value(std::string_view name, std::string value) {
  return {{"name", name}, {"kind", "value"}, {"value", std::move(value)}};
}

Json env_field(std::string_view name, std::string field) {
  return {{"name", name}, {"kind", "field"}, {"field", std::move(field)}};
}

Json env_secret(std::string_view name, std::string secret, std::string key) {
  return {{"name", name}, {"kind", "secret"}, {"secret", std::move(secret)}, {"key", std::move(key)}};
}

Json common_env(JobSpec const& job, std::string const& endpoints) {
  auto env = Json::array({
      env_value("GLOG_v", concat(job.log_level.value)),
      env_value("GLOG_logtostderr", "1"),
      env_field("NAMESPACE", "metadata.namespace"),
      env_field("POD_NAME", "metadata.name"),
      env_field("POD_IP", "status.podIP"),
      env_field("PADDLE_CURRENT_IP", "status.podIP"),
      env_value("PADDLE_JOB_NAME", job.job_name.value),
      env_value("PADDLE_IS_LOCAL", "0"),
      env_value("PADDLE_TRAINERS_NUM", concat(job.trainer_num.value)),
  });
  if (job.parameter_servers()) {
    env.push_back(env_value("PADDLE_PSERVERS_NUM", concat(job.server_num.value)));
    env.push_back(env_value("PADDLE_PORT", concat(job.port.value)));
    if (!endpoints.empty()) env.push_back(env_value("PADDLE_PSERVERS_IP_PORT_LIST", endpoints));
  }
  auto const threads = parse_quantity(job.trainer_cpu.value);
  auto const count = job.model.threads.given ? job.model.threads.value
                                             : static_cast<std::int64_t>(std::clamp(threads.value_or(1), 1.0L, 1e6L));
  env.push_back(env_value("CPU_NUM", concat(count)));
  env.push_back(env_value("JOB_NAME", job.job_name.value));
  env.push_back(env_field("JOB_NAMESPACE", "metadata.namespace"));
  env.push_back(env_value("JOB_PATH", job.job_path.value));
  if (job.v2_cluster()) {
    env.push_back(env_value("TRAIN_CONFIG_DIR", job.train_config_dir.value));
    env.push_back(env_value("CONF_PADDLE_NIC", job.nics.value));
    env.push_back(env_value("CONF_PADDLE_PORT", concat(job.port.value)));
    env.push_back(env_value("CONF_PADDLE_PORTS_NUM", concat(job.ports_num.value)));
    env.push_back(env_value("CONF_PADDLE_PORTS_NUM_SPARSE", concat(job.ports_num_for_sparse.value)));
    env.push_back(env_value("CONF_PADDLE_GRADIENT_NUM", concat(job.trainer_num.value)));
  }
  env.push_back(env_value("PRDIST_CONFIG", std::string(config_path)));
  return env;
}

void append_user_env(JobSpec const& job, Json& env) {
  for (auto const& variable : job.env.items) {
    auto const& name = variable.first.value;
    auto const same = std::find_if(env.begin(), env.end(), [&](Json const& e) { return e["name"] == name; });
    if (same != env.end()) env.erase(same);  // CPU_NUM, GLOG_v and the like are the user's to change
    env.push_back(env_value(name, variable.second.value));
  }
  for (auto const& record : job.secrets.items) {
    env.push_back(env_secret(record.get("env").value, record.get("secret").value, record.get("key").value));
  }
}

std::string endpoint_list(std::string const& prefix, std::int64_t count, std::string const& suffix, std::int64_t port) {
  std::string list;
  for (std::int64_t i = 0; i < count; ++i) list += concat(i == 0 ? "" : ",", prefix, i, suffix, ':', port);
  return list;
}

void append_trainer_endpoints(JobSpec const& job, std::string const& middle, std::string const& suffix, Json& env) {
  auto const port = job.port.value;
  env.push_back(env_value("PADDLE_TRAINER_ENDPOINTS",
                          endpoint_list(job.job_name.value + middle, job.trainer_num.value, suffix, port)));
  env.push_back(env_value("PADDLE_CURRENT_ENDPOINT", concat("$(POD_NAME)", suffix, ':', port)));
}

Json labels_of(JobSpec const& job) {
  auto labels = text_map(job.labels);
  labels.update({{"app.kubernetes.io/name", "prdist"},
                 {"app.kubernetes.io/instance", job.job_name.value},
                 {"app.kubernetes.io/managed-by", "prgen"}});
  return labels;
}

namespace {

/// Volumes with their mounts; those that a read-only root file system makes necessary come first.
Json volumes_of(JobSpec const& job) {
  auto volumes =
      Json::array({{{"name", "tmp"}, {"mount", "/tmp"}, {"kind", "emptyDir"}, {"size", ""}, {"read_only", false}}});
  if (job.model.source) {
    volumes.push_back({{"name", "config"},
                       {"mount", "/etc/prdist"},
                       {"kind", "configMap"},
                       {"object", job.job_name.value + "-config"},
                       {"read_only", true}});
  }
  bool has_job_path = false;
  for (auto const& record : job.volumes.items) {
    Json volume = {{"name", record.get("name").value},
                   {"mount", record.get("mount").value},
                   {"read_only", record.get("read_only").value == "true"}};
    has_job_path = has_job_path || normal_path(record.get("mount").value) == normal_path(job.job_path.value);
    if (auto const pvc = record.get("pvc"); pvc.given) {
      volume.update({{"kind", "persistentVolumeClaim"}, {"object", pvc.value}});
    } else if (auto const map = record.get("config_map"); map.given) {
      volume.update({{"kind", "configMap"}, {"object", map.value}});
    } else if (auto const secret = record.get("secret"); secret.given) {
      volume.update({{"kind", "secret"}, {"object", secret.value}});
    } else if (auto const host = record.get("host_path"); host.given) {
      volume.update({{"kind", "hostPath"}, {"object", host.value}});
    } else {
      volume.update({{"kind", "emptyDir"}, {"size", record.get("empty_dir").value}});
    }
    volumes.push_back(std::move(volume));
  }
  if (!has_job_path) {
    volumes.push_back(
        {{"name", "job"}, {"mount", job.job_path.value}, {"kind", "emptyDir"}, {"size", ""}, {"read_only", false}});
  }
  if (job.gpus.value > 0 || job.collective()) {
    // Data loaders of several processes hand batches over in shared memory; the runtime's default is 64 MiB.
    volumes.push_back(
        {{"name", "shm"}, {"mount", "/dev/shm"}, {"kind", "memory"}, {"size", "1Gi"}, {"read_only", false}});
  }
  return volumes;
}

Json resources_of(JobSpec const& job, PodRole role) {
  bool const server = role == PodRole::server;
  auto const& cpu = server ? job.server_cpu.value : job.trainer_cpu.value;
  auto const& memory = server ? job.server_memory.value : job.trainer_memory.value;
  auto const& storage = server ? job.server_storage.value : job.trainer_storage.value;
  auto const& most_cores = server ? job.server_cpu_limit.value : job.trainer_cpu_limit.value;
  // Cores are requested and not limited by default: a limit would throttle the idle machine's cores away.
  Json requests = {{"cpu", cpu}, {"memory", memory}, {"ephemeral-storage", storage}};
  Json limits = {{"memory", memory}, {"ephemeral-storage", storage}};
  if (!most_cores.empty()) limits["cpu"] = most_cores;
  if (!server && job.gpus.value > 0) {
    requests[job.gpu_resource.value] = concat(job.gpus.value);
    limits[job.gpu_resource.value] = concat(job.gpus.value);
  }
  return {{"requests", requests}, {"limits", limits}};
}

}  // namespace

Json command_of(JobSpec const& job, PodRole role, std::string_view launcher_command) {
  auto const& own = role == PodRole::server ? job.command_of_servers() : job.command_of_trainers();
  auto command = Json::array();
  if (own.given && own.items.empty()) return command;
  if (job.launcher.value == "prrun") {
    command = {"prrun", launcher_command};
    // A little less than the cluster gives, so that prrun is the one who ends the job and says how.
    if (auto const grace = job.grace.value; launcher_command == "k8s" && job.grace.given) {
      command.push_back("--grace");
      command.push_back(concat(grace - std::min<std::int64_t>(10, grace / 2)));
    }
    command.push_back("--");
  }
  if (!own.given) {
    for (auto const* const word : {"prtrain", "-m", "$(PRDIST_CONFIG)"}) command.push_back(word);
  }
  for (auto const& word : own.items) command.push_back(word.value);
  return command;
}

namespace {

std::string_view component_of(PodRole role) {
  return role == PodRole::server ? "pserver" : role == PodRole::trainer ? "trainer" : "job";
}

Json container_of(JobSpec const& job, PodRole role, Json env) {
  append_user_env(job, env);
  return {{"name", component_of(role)},
          {"command", command_of(job, role, "k8s")},
          {"env", std::move(env)},
          {"port", role != PodRole::trainer && job.parameter_servers() ? job.port.value : 0},
          {"port_name", job.parameter_servers() ? "pserver" : "trainer"},
          {"resources", resources_of(job, role)}};
}

Json pod_of(JobSpec const& job, std::string_view component, Json role_labels, Json containers) {
  auto labels = labels_of(job);
  // PaddleRec's labels, with the job's own name where it has a constant that mixes two jobs of one namespace.
  for (auto const& label : role_labels) labels[label.get<std::string>()] = job.job_name.value;
  labels["app.kubernetes.io/component"] = component;
  auto tolerations = Json::array();
  for (auto const& record : job.tolerations.items) {
    auto toleration = Json::object();
    for (auto const& [name, value] : record.items) toleration[name.value] = value.value;
    tolerations.push_back(std::move(toleration));
  }
  auto pull_secrets = Json::array();
  for (auto const& secret : job.image_pull_secrets.items) pull_secrets.push_back(secret.value);
  auto const tag = image_tag(job.image.value);
  return {{"labels", labels},
          {"annotations", text_map(job.annotations)},
          {"priority_class", job.priority_class.value},
          {"user", job.run_as_user.value},
          {"group", job.run_as_group.value},
          {"writable_root", job.writable_root.value == "true"},
          {"workdir", job.workdir.value},
          {"containers", std::move(containers)},
          {"image", job.image.value},
          {"pull_policy", job.image_pull_policy.given      ? job.image_pull_policy.value
                          : tag.empty() || tag == "latest" ? "Always"
                                                           : "IfNotPresent"},
          {"probe", job.launcher.value == "prrun"},
          {"volumes", volumes_of(job)},
          {"tolerations", tolerations},
          {"node_selector", text_map(job.node_selector)},
          {"pull_secrets", pull_secrets},
          {"service_account", job.service_account.given ? job.service_account.value : job.job_name.value},
          {"automount", job.discovery.value == "pods"},
          {"grace", job.grace.value},
          {"instance", job.job_name.value},
          {"subdomain", ""},
          {"scheduler", ""},
          {"restart_policy", "Never"}};
}

constexpr auto server_label = "paddle-job-pserver";
constexpr auto trainer_label = "paddle-job";

}  // namespace

Json pod_data(JobSpec const& job, PodRole role, Json env) {
  auto labels = Json::array();
  if (role == PodRole::server) labels.push_back(server_label);
  if (role == PodRole::trainer) labels.push_back(trainer_label);
  return pod_of(job, component_of(role), labels, Json::array({container_of(job, role, std::move(env))}));
}

Json pod_data_of_both(JobSpec const& job, Json server_env, Json trainer_env) {
  return pod_of(job, "node", Json::array({server_label, trainer_label}),
                Json::array({container_of(job, PodRole::server, std::move(server_env)),
                             container_of(job, PodRole::trainer, std::move(trainer_env))}));
}

Json metadata_of(JobSpec const& job, std::string const& name) {
  return {{"name", name},
          {"namespace", job.name_space.value},
          {"labels", labels_of(job)},
          {"annotations", text_map(job.annotations)}};
}

Json job_metadata_of(JobSpec const& job, std::string const& name) {
  auto data = metadata_of(job, name);
  data["annotations"]["prdist/prgen"] = version;
  return data;
}

Json object_data(JobSpec const& job) {
  auto const& name = job.job_name.value;
  Json const common = {{"name", name},
                       {"namespace", job.name_space.value},
                       {"meta", metadata_of(job, name)},
                       {"config_meta", metadata_of(job, name + "-config")},
                       {"config", job.model.source ? job.model.source->text : std::string{}},
                       {"own_account", !job.service_account.given},
                       {"account", job.service_account.given ? job.service_account.value : name},
                       {"lists_pods", job.discovery.value == "pods"},
                       {"network_policy", job.network_policy.value == "true"}};
  return {{"name", name},
          {"meta", job_metadata_of(job, name)},
          {"service_meta", metadata_of(job, name)},
          {"network_policy", job.network_policy.value == "true"},
          {"priority_class", job.priority_class.value},
          {"common", common},
          {"max_restart", job.max_restart.value},
          {"ttl", job.ttl.value},
          {"time_limit", job.time_limit.value}};
}

}  // namespace prdist::gen
