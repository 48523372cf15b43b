// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <prdist/launch/k8s/job_state_json.hpp>

using namespace prdist;

namespace {

std::string list_of(std::string const& items) {
  return R"({"apiVersion": "v1", "kind": "List", "items": [)" + items + "]}";
}

std::string pod(std::string const& metadata, std::string const& spec = "", std::string const& status = "") {
  return R"({"apiVersion": "v1", "kind": "Pod", "metadata": {)" + metadata + R"(}, "spec": {)" + spec +
         R"(}, "status": {)" + status + "}}";
}

JobPod only_pod(std::string const& text) {
  auto const state = parse_submitted_job(list_of(text)).value();
  EXPECT_EQ(state.pods.size(), 1U);
  return state.pods.empty() ? JobPod{} : state.pods.front();
}

std::string job_line(std::string const& api, std::string const& kind, std::string const& status) {
  auto const state = parse_submitted_job(list_of(R"({"apiVersion": ")" + api + R"(", "kind": ")" + kind +
                                                 R"(", "metadata": {"name": "ctr"}, "status": {)" + status + "}}"))
                         .value();
  EXPECT_EQ(state.jobs.size(), 1U);
  if (state.jobs.empty()) return {};
  auto const& job = state.jobs.front();
  return job.resource + " " + job.state + (job.detail.empty() ? "" : " | ") + job.detail;
}

std::string error_of(std::string const& text) {
  auto const state = parse_submitted_job(text);
  return state ? std::string() : state.error().what();
}

}  // namespace

TEST(JobStateJson, TimesOfTheCluster) {
  EXPECT_EQ(parse_cluster_time("1970-01-02T00:00:01Z")->time_since_epoch().count(), 86'401);
  EXPECT_EQ(parse_cluster_time("2026-11-16T16:20:31.123Z"), parse_cluster_time("2026-11-16T16:20:31Z"));
  for (auto const* const wrong : {"", "2026-13-16T16:20:31Z", "2026-11-16", "2026-11-16T16:20:31+01:00", "x"}) {
    EXPECT_FALSE(parse_cluster_time(wrong)) << wrong;
  }
}

TEST(JobStateJson, RolesOfOneIndexedJobComeFromTheIndex) {
  auto const indexed = [](int index) {
    return pod(R"("name": "ctr-x", "labels": {"app.kubernetes.io/component": "job",
                   "batch.kubernetes.io/job-completion-index": ")" +
                   std::to_string(index) + R"("})",
               R"("containers": [{"name": "job", "env": [{"name": "PADDLE_PSERVERS_NUM", "value": "2"}]}])");
  };
  auto const server = only_pod(indexed(1));
  EXPECT_EQ(server.role, "pserver");
  EXPECT_EQ(server.id, 1U);
  auto const trainer = only_pod(indexed(3));
  EXPECT_EQ(trainer.role, "trainer");
  EXPECT_EQ(trainer.id, 1U);
  EXPECT_EQ(trainer.index_label, "3");
  EXPECT_EQ(trainer.containers, std::vector<std::string>{"job"});
}

TEST(JobStateJson, RolesOfOtherOperators) {
  auto const volcano = only_pod(pod(
      R"("name": "ctr-pserver-1", "annotations": {"volcano.sh/task-spec": "pserver", "volcano.sh/task-index": "1"})"));
  EXPECT_EQ(volcano.role, "pserver");
  EXPECT_EQ(volcano.id, 1U);
  auto const paddle = only_pod(pod(R"("name": "ctr-worker-2", "labels": {"paddle-res-type": "worker"})"));
  EXPECT_EQ(paddle.role, "trainer");
  EXPECT_EQ(paddle.id, 2U);
  auto const kubeflow =
      only_pod(pod(R"("name": "ctr-master-0", "labels": {"training.kubeflow.org/replica-type": "master",
                      "training.kubeflow.org/replica-index": "0"})"));
  EXPECT_EQ(kubeflow.role, "pserver");
  EXPECT_EQ(kubeflow.id, 0U);
  EXPECT_EQ(only_pod(pod(R"("name": "stray")")).role, "pod");
}

TEST(JobStateJson, ReasonsAreTheClustersWords) {
  auto const image = only_pod(pod(R"("name": "a")", "",
                                  R"("phase": "Pending", "containerStatuses": [{"restartCount": 2, "state": {"waiting":
             {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"hub/x\""}}}])"));
  EXPECT_EQ(image.reason, "ImagePullBackOff: Back-off pulling image \"hub/x\"");
  EXPECT_EQ(image.restarts, 2U);
  auto const nowhere = only_pod(pod(R"("name": "a")", "",
                                    R"("phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
             "reason": "Unschedulable", "message": "0/3 nodes are available"}])"));
  EXPECT_EQ(nowhere.reason, "Unschedulable: 0/3 nodes are available");
  auto const crashing = only_pod(pod(R"("name": "a")", R"("nodeName": "node-a")",
                                     R"("phase": "Running", "containerStatuses": [{"restartCount": 5, "state":
             {"waiting": {"reason": "CrashLoopBackOff"}}}])"));
  EXPECT_EQ(crashing.reason, "CrashLoopBackOff");
  EXPECT_EQ(crashing.node, "node-a");
  auto const fine = only_pod(pod(R"("name": "a")", "",
                                 R"("phase": "Running", "conditions": [{"type": "Ready", "status": "False",
             "reason": "ContainersNotReady"}])"));
  EXPECT_EQ(fine.reason, "");
  auto const going =
      only_pod(pod(R"("name": "a", "deletionTimestamp": "2026-11-16T16:20:31Z")", "", R"("phase": "Running")"));
  EXPECT_EQ(going.phase, "Terminating");
}

TEST(JobStateJson, ConditionsOfEachKindOfJob) {
  EXPECT_EQ(job_line("batch/v1", "Job", ""), "job.batch Pending");
  EXPECT_EQ(job_line("batch/v1", "Job", R"("active": 4, "ready": 3)"), "job.batch Running | 4 active, 3 ready");
  EXPECT_EQ(job_line("batch/v1", "Job",
                     R"("succeeded": 2, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"},
                        {"type": "Complete", "status": "True"}])"),
            "job.batch Complete | 2 succeeded");
  EXPECT_EQ(job_line("batch/v1", "Job",
                     R"("failed": 1, "conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed",
                        "status": "True", "reason": "PodFailurePolicy", "message": "exit code 78"}])"),
            "job.batch Failed | 1 failed: PodFailurePolicy: exit code 78");
  EXPECT_EQ(job_line("batch.volcano.sh/v1alpha1", "Job", R"("pending": 4, "state": {"phase": "Pending"})"),
            "job.batch.volcano.sh Pending | 4 pending");
  EXPECT_EQ(job_line("batch.paddlepaddle.org/v1", "PaddleJob",
                     R"("phase": "Running", "ps": {"running": 2}, "worker": {"running": 1, "failed": 1})"),
            "paddlejob.batch.paddlepaddle.org Running | ps: 2 running, worker: 1 running, 1 failed");
  EXPECT_EQ(job_line("kubeflow.org/v1", "PaddleJob",
                     R"("conditions": [{"type": "Created", "status": "True"}, {"type": "Running", "status": "True"}])"),
            "paddlejob.kubeflow.org Running");
}

TEST(JobStateJson, PodsOfAnOwner) {
  auto const text = list_of(pod(R"("name": "a", "ownerReferences": [{"kind": "Job", "name": "ctr"}])") + "," +
                            pod(R"("name": "b", "ownerReferences": [{"kind": "Job", "name": "other"}])") + "," +
                            pod(R"("name": "c")"));
  EXPECT_EQ(parse_submitted_job(text).value().pods.size(), 3U);
  auto const own = parse_submitted_job(text, "ctr").value().pods;
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own.front().name, "a");
}

TEST(JobStateJson, ASingleObjectIsAListOfOne) {
  auto const state =
      parse_submitted_job(R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "ctr"}})").value();
  ASSERT_EQ(state.jobs.size(), 1U);
  EXPECT_EQ(state.jobs.front().state, "not looked at yet");
}

TEST(JobStateJson, WhatIsNoListIsRefused) {
  EXPECT_NE(error_of("oops").find("prdist[config.invalid] k8s: what kubectl printed is no list of objects, it is no "
                                  "JSON ("),
            std::string::npos)
      << error_of("oops");
  EXPECT_NE(error_of("[]").find("it is no object: call kubectl get pods -o json by hand"), std::string::npos);
  EXPECT_NE(error_of("{}").find("it has no items"), std::string::npos);
  EXPECT_EQ(parse_submitted_job(R"({"items": [1, {}, {"metadata": 3}]})").value().pods.size(), 0U);
}
