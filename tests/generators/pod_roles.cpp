// SPDX-License-Identifier: Apache-2.0
// The environment of every rendered pod, put through `prrun k8s` and through roles_from_env: each role finds its id,
// its endpoints and its peers.
#include <filesystem>
#include <map>
#include <prdist/fleet/roles.hpp>
#include <prdist/launch/k8s/pod_plan.hpp>
#include <set>

#include "../data/temp_dir.hpp"
#include "support.hpp"

namespace {

using namespace prdist;
using namespace prdist::gen;
using prdist::gen::Json;
namespace fs = std::filesystem;

using Variables = std::map<std::string, std::string>;

/// A container, rather: pods of Paddle v2 have two.
struct RenderedPod {
  std::string host;
  Variables env;
  Variables labels{};  ///< by which others find it in a list
};

/// $(NAME) of variables that stand above, as the kubelet replaces it.
std::string expanded(std::string text, Variables const& above) {
  for (auto const& [name, value] : above) {
    auto const reference = concat("$(", name, ')');
    for (std::size_t i = 0; (i = text.find(reference, i)) != std::string::npos; i += value.size())
      text.replace(i, reference.size(), value);
  }
  return text;
}

/// A container's environment as the kubelet makes it.
Variables environment_of(Json const& container, std::map<std::string, std::string> const& fields) {
  Variables env;
  if (!container.contains("env")) return env;
  for (auto const& entry : container["env"]) {
    auto const name = entry["name"].get<std::string>();
    if (entry.contains("value")) {
      env[name] = expanded(entry["value"].get<std::string>(), env);
    } else if (entry["valueFrom"].contains("fieldRef")) {
      auto const field = entry["valueFrom"]["fieldRef"]["fieldPath"].get<std::string>();
      EXPECT_TRUE(fields.contains(field)) << field;
      env[name] = fields.contains(field) ? fields.at(field) : "";
    }
  }
  return env;
}

void add_pods(Json const& spec, std::string const& name, std::string const& suffix, std::int64_t count,
              std::string const& index_variable, std::vector<RenderedPod>& pods) {
  for (std::int64_t i = 0; i < count; ++i) {
    auto const index = std::to_string(i);
    auto const host = concat(name, '-', index);
    auto const address = "10.0.0." + std::to_string(pods.size() + 1);
    for (auto const& container : spec["containers"]) {
      auto env = environment_of(container, {{"metadata.name", host},
                                            {"metadata.namespace", "default"},
                                            {"status.podIP", address},
                                            {"metadata.annotations['batch.kubernetes.io/job-completion-index']", index},
                                            {"metadata.annotations['volcano.sh/task-index']", index},
                                            {"metadata.labels['training.kubeflow.org/replica-index']", index}});
      if (!index_variable.empty()) env[index_variable] = index;
      pods.push_back({host + suffix, std::move(env)});
    }
  }
}

/// What paddle-operator adds to its pods: a ConfigMap, and variables of the container.
void as_paddle_operator(Json const& object, std::vector<RenderedPod>& pods) {
  auto const& spec = object["spec"];
  auto const name = object["metadata"]["name"].get<std::string>();
  bool const service = spec.value("intranet", "") == "Service";
  auto const servers = spec.contains("ps") ? spec["ps"]["replicas"].get<std::int64_t>() : 0;
  auto const trainers = spec["worker"]["replicas"].get<std::int64_t>();
  std::vector<RenderedPod> all;
  if (servers > 0) add_pods(spec["ps"]["template"]["spec"], name + "-ps", "", servers, "", all);
  add_pods(spec["worker"]["template"]["spec"], name + "-worker", "", trainers, "", all);
  // Endpoints have port 36000 with services and a random one otherwise; PADDLE_PORT is random in both.
  std::string list;
  for (std::int64_t i = 0; i < servers; ++i) {
    list += (i == 0 ? "" : ",") +
            (service ? all[static_cast<std::size_t>(i)].host + ":36000" : "10.0.0." + std::to_string(i + 1) + ":41234");
  }
  std::string trainer_list;
  for (std::int64_t i = 0; i < trainers; ++i)
    trainer_list += concat(i == 0 ? "" : ",", "10.0.0.", servers + i + 1, ":41234");
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& env = all[i].env;
    bool const server = i < static_cast<std::size_t>(servers);
    Variables const from_map{{"PADDLE_PORT", "41234"},
                             {"PADDLE_PSERVERS_IP_PORT_LIST", list},
                             {"PADDLE_TRAINER_ENDPOINTS", trainer_list},
                             {"PADDLE_TRAINERS_NUM", std::to_string(trainers)}};
    env.insert(from_map.begin(), from_map.end());  // what the manifest sets goes before envFrom
    env["POD_IP"] = service ? all[i].host : "10.0.0." + std::to_string(i + 1);
    env["PADDLE_TRAINER_ID"] = std::to_string(server ? i : i - static_cast<std::size_t>(servers));
    env["TRAINING_ROLE"] = env["PADDLE_TRAINING_ROLE"] = server ? "PSERVER" : "TRAINER";
    pods.push_back(all[i]);
  }
}

std::vector<RenderedPod> pods_of(std::vector<Json> const& objects) {
  std::vector<RenderedPod> pods;
  for (auto const& object : objects) {
    auto const kind = object.value("apiVersion", "") + ' ' + object.value("kind", "");
    auto const name = object["metadata"]["name"].get<std::string>();
    if (kind == "batch/v1 Job") {
      auto const& spec = object["spec"]["template"]["spec"];
      bool const indexed = object["spec"].value("completionMode", "") == "Indexed";
      auto const first = pods.size();
      add_pods(spec, name, '.' + spec.value("subdomain", ""), object["spec"]["completions"],
               indexed ? "JOB_COMPLETION_INDEX" : "", pods);
      for (auto i = first; i < pods.size(); ++i) {
        pods[i].labels["job-name"] = name;
        // Without a subdomain a pod's host name is its own.
        if (!indexed) pods[i].env["HOSTNAME"] = concat(name, '-', i - first);
      }
    } else if (kind == "batch.volcano.sh/v1alpha1 Job") {
      for (auto const& task : object["spec"]["tasks"]) {
        auto const first = pods.size();
        add_pods(task["template"]["spec"], name + '-' + task["name"].get<std::string>(), '.' + name, task["replicas"],
                 object["spec"].contains("plugins") ? "VC_TASK_INDEX" : "", pods);
        for (auto i = first; i < pods.size(); ++i) {
          for (auto const& [label, value] : task["template"]["metadata"]["labels"].items())
            pods[i].labels[label] = value;
        }
      }
    } else if (kind == "kubeflow.org/v1 PaddleJob") {
      auto const& specs = object["spec"]["paddleReplicaSpecs"];
      if (specs.contains("Master"))
        add_pods(specs["Master"]["template"]["spec"], name + "-master", "", specs["Master"]["replicas"], "", pods);
      add_pods(specs["Worker"]["template"]["spec"], name + "-worker", "", specs["Worker"]["replicas"], "", pods);
    } else if (kind == "batch.paddlepaddle.org/v1 PaddleJob") {
      as_paddle_operator(object, pods);
    }
  }
  return pods;
}

Environment lookup(Variables const& env) {
  return [&env](std::string_view name) -> std::optional<std::string> {
    auto const found = env.find(std::string(name));
    return found == env.end() ? std::nullopt : std::optional(found->second);
  };
}

/// What `prrun k8s` finds for a pod of `all`, which it may list.
NodePlan plan_of(RenderedPod const& pod, std::vector<RenderedPod> const& all) {
  auto const environment = lookup(pod.env);
  return completed(read_pod(environment), environment, [&](PodQuery const& query) {
    auto const equals = query.selector.find('=');
    auto const label = query.selector.substr(0, equals);
    std::vector<Pod> listed;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const found = all[i].labels.find(label);
      if (found == all[i].labels.end() || found->second != query.selector.substr(equals + 1)) continue;
      // The kubelet's order of addresses is nobody's: here it is that of the pods.
      listed.push_back(
          {all[i].host.substr(0, all[i].host.find('.')), concat("10.0.0.", i + 1), "Running", "", {}, false});
    }
    EXPECT_TRUE(complete(listed, query.expected)) << query.selector << " has " << listed.size();
    return in_order(listed);
  });
}

/// The environment that the launcher gives a member of the pod.
Variables launched(RenderedPod const& pod, NodePlan const& plan, JobMember const& member) {
  auto env = pod.env;
  for (auto const& [name, value] : variables_of(plan, member, "/tmp/progress")) env[name] = value;
  return env;
}

struct RenderedMember {
  RenderedPod pod;
  NodePlan plan;
  JobMember member;
};

std::vector<RenderedMember> members_of(std::vector<RenderedPod> const& pods) {
  std::vector<RenderedMember> members;
  for (auto const& pod : pods) {
    auto const plan = plan_of(pod, pods);
    for (auto const& member : plan.members) members.push_back({pod, plan, member});
  }
  return members;
}

class PodRoles : public testing::TestWithParam<std::string> {};

TEST_P(PodRoles, EveryPodFindsItself) {
  auto const text = contents(fs::path(PRGEN_GOLDEN) / GetParam() / "expected.yaml");
  auto const pods = pods_of(documents_of(text));
  ASSERT_GE(pods.size(), 2U);
  std::set<std::uint32_t> servers;
  std::set<std::uint32_t> workers;
  std::optional<std::vector<std::string>> endpoints;
  std::size_t members = 0;
  for (auto const& [pod, plan, member] : members_of(pods)) {
    ++members;
    auto env = launched(pod, plan, member);
    auto const look = lookup(env);
    auto const roles = roles_from_env(look);
    std::vector<std::string> list;
    list.reserve(roles.servers.size());
    for (auto const& server : roles.servers) list.push_back(to_string(server));
    if (!endpoints) endpoints = list;
    EXPECT_EQ(list, *endpoints) << "pods disagree about the servers";
    auto& seen = roles.role == Role::server ? servers : workers;
    EXPECT_TRUE(seen.insert(roles.index).second) << "an id twice";
    if (roles.role == Role::server) {
      auto const& own = roles.servers.at(roles.index);
      // The endpoint is this pod: by its stable host name, or by its address.
      auto const address = pod.env.contains("POD_IP") ? pod.env.at("POD_IP") : env["POD_IP"];
      EXPECT_TRUE(own.host == pod.host || own.host == address) << own.host << " is not " << pod.host;
      if (look("PADDLE_PORT")) {
        EXPECT_EQ(std::to_string(own.port), env["PADDLE_PORT"]);
      }
    }
  }
  ASSERT_TRUE(endpoints);
  EXPECT_EQ(servers.size(), endpoints->size());
  EXPECT_EQ(*servers.rbegin(), endpoints->size() - 1);
  EXPECT_EQ(*workers.rbegin(), workers.size() - 1);
  EXPECT_EQ(servers.size() + workers.size(), members);
  // The v2 document's own Job is the one whose pods are both.
  EXPECT_EQ(members, GetParam() == "k8s_v2_doc_legacy" ? 2 * pods.size() : pods.size());
}

INSTANTIATE_TEST_SUITE_P(Job, PodRoles,
                         testing::Values("k8s_paddlerec_doc", "k8s_paddlerec_doc_with_config", "k8s_old_cluster",
                                         "k8s_document_aliases", "k8s_every_key", "k8s_without_launcher", "k8s_v2_doc",
                                         "k8s_v2_doc_legacy", "k8s_role_commands", "k8s_mid_age_cluster",
                                         "k8s_platform_keys", "volcano_without_launcher", "volcano_paddlerec_doc",
                                         "volcano_paddlerec_doc_legacy", "volcano_every_key", "paddlejob_ps",
                                         "paddlejob_ps_legacy", "paddlejob_ps_gpus_legacy", "paddlejob_service",
                                         "paddlejob_kubeflow"),
                         [](auto const& given) { return given.param; });

class TrainersAlone : public testing::TestWithParam<std::string> {};

TEST_P(TrainersAlone, EveryPodFindsItselfAndItsPeers) {
  auto const pods = pods_of(documents_of(contents(fs::path(PRGEN_GOLDEN) / GetParam() / "expected.yaml")));
  bool const single = GetParam().find("single") != std::string::npos;
  ASSERT_EQ(pods.size(), single ? 1U : 2U);
  std::set<std::string> ids;
  for (auto const& [pod, plan, member] : members_of(pods)) {
    auto env = launched(pod, plan, member);
    EXPECT_EQ(env["TRAINING_ROLE"], "TRAINER");
    EXPECT_EQ(env["PADDLE_TRAINERS_NUM"], std::to_string(pods.size()));
    EXPECT_TRUE(plan.servers.empty());
    auto const id = env["PADDLE_TRAINER_ID"];
    EXPECT_TRUE(ids.insert(id).second) << id;
    if (single) continue;
    std::vector<std::string> endpoints;
    std::istringstream list(env["PADDLE_TRAINER_ENDPOINTS"]);
    for (std::string endpoint; std::getline(list, endpoint, ',');) endpoints.push_back(endpoint);
    ASSERT_EQ(endpoints.size(), pods.size());
    auto const& own = endpoints.at(std::stoul(id));
    auto const host = own.substr(0, own.rfind(':'));
    EXPECT_TRUE(host == pod.host || host == env["POD_IP"]) << own << " is not " << pod.host;
    // paddle-operator leaves it to the program to put address and port together.
    if (!GetParam().starts_with("paddlejob_") || GetParam() == "paddlejob_kubeflow_collective") {
      EXPECT_EQ(env["PADDLE_CURRENT_ENDPOINT"], own);
    }
  }
  EXPECT_EQ(*ids.begin(), "0");
}

INSTANTIATE_TEST_SUITE_P(Job, TrainersAlone,
                         testing::Values("k8s_collective", "k8s_single", "volcano_collective", "volcano_single",
                                         "paddlejob_collective", "paddlejob_collective_legacy", "paddlejob_elastic",
                                         "paddlejob_single", "paddlejob_kubeflow_collective"),
                         [](auto const& given) { return given.param; });

// A golden manifest that nobody puts through the launcher would be one that may not run.
TEST(PodRolesOrder, EveryGoldenManifestIsTried) {
  std::set<std::string> tried;
  auto const& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    auto const& suite = *program.GetTestSuite(i);
    if (!std::string_view(suite.name()).starts_with("Job/")) continue;
    for (int k = 0; k < suite.total_test_count(); ++k) {
      std::string const name = suite.GetTestInfo(k)->name();
      if (auto const slash = name.find('/'); slash != std::string::npos) tried.insert(name.substr(slash + 1));
    }
  }
  for (auto const& entry : fs::directory_iterator(PRGEN_GOLDEN)) {
    auto const name = entry.path().filename().string();
    auto const file = entry.path() / "expected.yaml";
    if (!fs::exists(file) || pods_of(documents_of(contents(file))).empty()) continue;
    EXPECT_TRUE(tried.contains(name)) << name << " has pods: add it to a list above";
  }
}

}  // namespace
