// SPDX-License-Identifier: Apache-2.0
// What every pod of the default profile has, so that a namespace which enforces Pod Security "restricted" takes it, and
// what two jobs in one namespace must not share.
#include <filesystem>
#include <set>

#include "../data/temp_dir.hpp"
#include "support.hpp"

namespace {

using namespace prdist::gen;
using namespace prdist::gen::test;
namespace fs = std::filesystem;

std::vector<Json> objects(std::string const& job) {
  return documents_of(contents(fs::path(PRGEN_GOLDEN) / job / "expected.yaml"));
}

/// Every pod spec of an object, wherever its kind keeps it.
void collect_pods(Json const& tree, std::vector<Json>& pods) {
  if (tree.is_object() && tree.contains("containers")) pods.push_back(tree);
  if (tree.is_structured()) {
    for (auto const& value : tree) collect_pods(value, pods);
  }
}

class RestrictedPods : public testing::TestWithParam<std::string> {};

TEST_P(RestrictedPods, PodsAreRestricted) {
  std::vector<Json> pods;
  for (auto const& object : objects(GetParam())) collect_pods(object, pods);
  ASSERT_FALSE(pods.empty());
  for (auto const& pod : pods) {
    auto const& context = pod["securityContext"];
    EXPECT_EQ(context["runAsNonRoot"], true);
    EXPECT_GE(context["runAsUser"], 10000);
    EXPECT_EQ(context["seccompProfile"]["type"], "RuntimeDefault");
    for (auto const* const never : {"hostNetwork", "hostPID", "hostIPC"}) EXPECT_FALSE(pod.contains(never));
    for (auto const& volume : pod["volumes"]) EXPECT_FALSE(volume.contains("hostPath")) << volume;
    EXPECT_GE(pod["terminationGracePeriodSeconds"], 120);
    EXPECT_NE(pod["serviceAccountName"], "default");
    ASSERT_EQ(pod["containers"].size(), 1U);
    auto const& container = pod["containers"][0];
    EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
    EXPECT_EQ(container["securityContext"]["readOnlyRootFilesystem"], true);
    EXPECT_EQ(container["securityContext"]["capabilities"]["drop"], Json::array({"ALL"}));
    for (auto const* const what : {"memory", "ephemeral-storage"}) {
      EXPECT_EQ(container["resources"]["limits"][what], container["resources"]["requests"][what]);
    }
    EXPECT_TRUE(container["resources"]["requests"].contains("cpu"));
    // A probe needs prrun in the image, which is what starts the command then.
    EXPECT_EQ(container.contains("livenessProbe"), container["command"][0] == "prrun");
    // With a read-only root, what programs write to has to be mounted.
    std::set<std::string> mounts;
    for (auto const& mount : container["volumeMounts"]) mounts.insert(mount["mountPath"].get<std::string>());
    EXPECT_TRUE(mounts.contains("/tmp"));
    for (auto const& variable : container["env"]) {
      if (variable["name"] == "JOB_PATH") {
        EXPECT_TRUE(mounts.contains(variable["value"].get<std::string>()));
      }
      EXPECT_TRUE(variable.contains("valueFrom") || variable["value"].is_string()) << variable;
    }
  }
}

TEST_P(RestrictedPods, ObjectsComeBeforeThoseThatNeedThem) {
  std::vector<std::string> kinds;
  for (auto const& object : objects(GetParam())) kinds.push_back(object["kind"].get<std::string>());
  bool job = false;
  for (auto const& kind : kinds) {
    bool const runs = kind == "Job" || kind == "PaddleJob";
    EXPECT_FALSE(job && !runs) << kind << " comes behind the job";
    job = job || runs;
  }
  EXPECT_TRUE(job);
}

INSTANTIATE_TEST_SUITE_P(Job, RestrictedPods,
                         testing::Values("k8s_paddlerec_doc", "k8s_paddlerec_doc_with_config", "k8s_old_cluster",
                                         "k8s_every_key", "k8s_without_launcher", "k8s_collective", "k8s_single",
                                         "volcano_paddlerec_doc", "volcano_every_key", "paddlejob_ps",
                                         "paddlejob_service", "paddlejob_single", "paddlejob_collective",
                                         "paddlejob_kubeflow", "k8s_role_commands", "k8s_mid_age_cluster"),
                         [](auto const& given) { return given.param; });

TEST(Safety, TwoJobsInOneNamespaceShareNothing) {
  TempDir const dir;
  auto const config = dir.file("config.yaml", "train: {trainer: {threads: 2}}\n");
  for (auto const* const target : {"k8s", "volcano", "paddlejob"}) {
    std::set<std::string> names[2];
    std::set<std::string> selectors[2];
    for (int i = 0; i < 2; ++i) {
      auto const ran =
          prgen({"-", "--backend", target, "-m", config}, with(good(), "ctr", i == 0 ? "first" : "second"));
      ASSERT_EQ(ran.code, 0) << ran.err;
      for (auto const& object : documents_of(ran.out)) {
        names[i].insert(object["kind"].get<std::string>() + '/' + object["metadata"]["name"].get<std::string>());
        auto const labels = object["metadata"]["labels"];
        selectors[i].insert(labels["app.kubernetes.io/instance"].get<std::string>());
      }
    }
    for (auto const& name : names[0]) EXPECT_FALSE(names[1].contains(name)) << name;
    EXPECT_EQ(selectors[0], std::set<std::string>{"first"});
    EXPECT_EQ(selectors[1], std::set<std::string>{"second"});
  }
}

TEST(Safety, TheLaunchContractsExitCodesEndAJob) {
  auto const job = objects("k8s_paddlerec_doc").back();
  EXPECT_EQ(job["spec"]["podFailurePolicy"]["rules"][1]["action"], "FailJob");
  EXPECT_EQ(job["spec"]["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"], Json::array({64, 78, 124}));
  EXPECT_EQ(job["spec"]["podFailurePolicy"]["rules"][0]["action"], "Ignore");
  EXPECT_EQ(job["spec"]["successPolicy"]["rules"][0]["succeededIndexes"], "2-3");
  EXPECT_EQ(job["spec"]["backoffLimitPerIndex"], 3);
  EXPECT_GT(job["spec"]["ttlSecondsAfterFinished"], 0);
  auto const volcano = objects("volcano_paddlerec_doc").back();
  std::set<std::int64_t> aborting;
  for (auto const& policy : volcano["spec"]["policies"]) {
    if (policy.contains("exitCode") && policy["action"] == "AbortJob")
      aborting.insert(policy["exitCode"].get<std::int64_t>());
  }
  EXPECT_EQ(aborting, (std::set<std::int64_t>{64, 78, 124}));
}

/// The document's nodes are servers and trainers at once, and its Job has as many pods as nodes.
TEST(Safety, ANodeOfPaddleV2IsOnePod) {
  auto const v2 = [](std::string const& extra) {
    return with(good(extra), "  submit:\n    server_num: 2\n", "  train_config_dir: recommendation\n  submit:\n");
  };
  auto const job = documents_of(prgen({"-"}, v2("")).out).back();
  EXPECT_EQ(job["spec"]["completions"], 2);
  EXPECT_EQ(job["spec"]["parallelism"], 2);
  EXPECT_FALSE(job["spec"].contains("successPolicy"));
  auto const& containers = job["spec"]["template"]["spec"]["containers"];
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(containers[0]["name"], "pserver");
  EXPECT_EQ(containers[1]["name"], "trainer");
  for (auto const& container : containers) {
    EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
    EXPECT_EQ(container["volumeMounts"], containers[0]["volumeMounts"]);
    EXPECT_TRUE(container["resources"]["limits"].contains("memory"));
  }
  EXPECT_TRUE(containers[0].contains("ports"));
  EXPECT_FALSE(containers[1].contains("ports"));
  auto const plan = prgen({"plan", "-"}, v2("")).out;
  EXPECT_TRUE(holds(plan, "pods          2: 2 servers, 2 trainers"));
  EXPECT_TRUE(holds(plan, "longest name  ctr-1,"));
  EXPECT_TRUE(holds(plan, "requests      8 cores"));
  // Older clusters need nothing else, and servers that are counted have pods of their own.
  EXPECT_EQ(prgen({"-", "--kube-version", "1.30"}, v2("")).err.find("success policy"), std::string::npos);
  EXPECT_EQ(documents_of(prgen({"-"}, v2("    server_num: 2\n")).out).back()["spec"]["completions"], 4);
  EXPECT_TRUE(holds(prgen({"-"}, with(v2(""), "  train_config", "  launcher: none\n  train_config")).err,
                    "kubectl delete job ctr\n"));
}

TEST(Safety, TheNetworkPolicyLetsTheJobsOwnPodsIn) {
  for (auto const& object : objects("k8s_every_key")) {
    if (object["kind"] != "NetworkPolicy") continue;
    auto const& spec = object["spec"];
    EXPECT_EQ(spec["policyTypes"], Json::array({"Ingress"}));
    EXPECT_EQ(spec["ingress"][0]["from"][0]["podSelector"], spec["podSelector"]);
    EXPECT_EQ(spec["podSelector"]["matchLabels"]["app.kubernetes.io/instance"], "ctr-full");
    return;
  }
  FAIL() << "there is none";
}

}  // namespace
