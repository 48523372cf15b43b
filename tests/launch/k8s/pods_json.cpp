// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/k8s/pods_json.hpp>

#include "../support.hpp"

using namespace prdist;

namespace {

std::string reason_of_status(std::string const& status) {
  auto const pods = parse_pods(concat(R"({"items":[{"metadata":{"name":"p"},"status":)", status, "}]}")).value();
  return pods.at(0).reason;
}

}  // namespace

TEST(PodsJson, ReadsWhatMattersOfAPod) {
  auto const pods = parse_pods(R"({"kind":"PodList","items":[
    {"metadata":{"name":"job-0-x7","labels":{"batch.kubernetes.io/job-completion-index":"0","job-name":"job"}},
     "spec":{"nodeName":"n"},"status":{"phase":"Running","podIP":"10.1.2.3",
       "containerStatuses":[{"state":{"running":{"startedAt":"now"}}}]}},
    {"metadata":{"name":"job-1-y8","deletionTimestamp":"2026-01-01T00:00:00Z",
                 "annotations":{"batch.kubernetes.io/job-completion-index":"1"}},
     "status":{"phase":"Running","podIP":"fd00::2"}}]})")
                        .value();
  ASSERT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods[0].name, "job-0-x7");
  EXPECT_EQ(pods[0].ip, "10.1.2.3");
  EXPECT_EQ(pods[0].phase, "Running");
  EXPECT_EQ(pods[0].index, 0U);
  EXPECT_FALSE(pods[0].terminating);
  EXPECT_EQ(pods[0].reason, "");
  EXPECT_EQ(pods[1].index, 1U);
  EXPECT_TRUE(pods[1].terminating);
}

TEST(PodsJson, VolcanosAndKubeflowsIndexesAreKnown) {
  for (auto const* const label : {"volcano.sh/task-index", "training.kubeflow.org/replica-index"}) {
    EXPECT_EQ(parse_pods(concat(R"({"items":[{"metadata":{"labels":{")", label, R"(":"3"}}}]})"))->at(0).index, 3U);
  }
}

TEST(PodsJson, SaysWhyAPodDoesNotRun) {
  EXPECT_EQ(reason_of_status(R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":
            {"reason":"ImagePullBackOff","message":"Back-off pulling image \"x\""}}}]})"),
            "ImagePullBackOff: Back-off pulling image \"x\"");
  EXPECT_EQ(reason_of_status(R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
            "reason":"Unschedulable","message":"0/3 nodes are available"}]})"),
            "Unschedulable: 0/3 nodes are available");
  EXPECT_EQ(reason_of_status(R"({"phase":"Failed","reason":"Evicted","message":"low on memory"})"),
            "Evicted: low on memory");
  EXPECT_EQ(reason_of_status(R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":
            {"reason":"OOMKilled","exitCode":137}}}]})"),
            "OOMKilled");
  EXPECT_EQ(reason_of_status(R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":
            {"reason":"ContainerCreating"}}}],"conditions":[{"status":"False","reason":"VolumeNotBound"}]})"),
            "VolumeNotBound");
  EXPECT_EQ(reason_of_status(R"({"phase":"Pending","initContainerStatuses":[{"state":{"waiting":
            {"reason":"CrashLoopBackOff"}}}],"containerStatuses":[{"state":{"waiting":{"reason":"PodInitializing"}}}]})"),
            "CrashLoopBackOff");
}

TEST(PodsJson, OddShapesAreNoPodAndNoCrash) {
  auto const pods =
      parse_pods(R"({"items":[1,null,"x",{},{"metadata":[],"status":7},{"status":{"phase":{}}}]})").value();
  EXPECT_EQ(pods.size(), 3U);
  for (auto const& pod : pods) EXPECT_FALSE(counts(pod));
}

TEST(PodsJson, AnAnswerThatIsNoListIsRefused) {
  for (auto const& [text, what] :
       std::vector<std::pair<std::string, std::string>>{{"<html>login</html>", "it is no JSON ("},
                                                        {"", "it is no JSON ("},
                                                        {R"({"items":[)", "it is no JSON ("},
                                                        {"[]", "it is no object"},
                                                        {R"({"kind":"Status"})", "it has no items"},
                                                        {R"({"items":{}})", "it has no items"},
                                                        {std::string(100'000, '['), "it is no JSON ("}}) {
    auto const pods = parse_pods(text);
    ASSERT_FALSE(pods) << what;
    std::string const error = pods.error().what();
    EXPECT_TRUE(
        error.starts_with(concat("prdist[config.invalid] k8s: the apiserver's answer is no list of pods, ", what)))
        << error;
    EXPECT_TRUE(error.ends_with(": check KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT_HTTPS")) << error;
  }
}

TEST(PodsJson, ReadsTheSentenceOfARefusal) {
  EXPECT_EQ(status_message(R"({"kind":"Status","message":"pods is forbidden","code":403})"), "pods is forbidden");
  EXPECT_EQ(status_message("<html>"), "");
  EXPECT_EQ(status_message("[]"), "");
}
