// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <prdist/launch/k8s/job_state.hpp>

using namespace prdist;
using namespace std::chrono_literals;

namespace {

constexpr ClusterTime begun{1'000'000s};

JobPod pod(std::string name, std::string role, std::size_t id) {
  JobPod made;
  made.name = std::move(name);
  made.role = std::move(role);
  made.id = id;
  made.phase = "Running";
  made.created = begun;
  return made;
}

}  // namespace

TEST(SubmittedJob, AgesAreShort) {
  EXPECT_EQ(age_text(begun, begun + 119s), "119s");
  EXPECT_EQ(age_text(begun, begun + 120s), "2m");
  EXPECT_EQ(age_text(begun, begun + 2h), "2h");
  EXPECT_EQ(age_text(begun, begun + 49h), "2d");
  EXPECT_EQ(age_text(begun, begun - 5s), "0s");  // clocks differ
  EXPECT_EQ(age_text({}, begun), "-");
}

TEST(SubmittedJob, ServersComeFirstAndIdsAreNumbers) {
  std::vector<JobPod> pods{pod("x", "other", 0), pod("t10", "trainer", 10), pod("t9", "trainer", 9),
                           pod("s1", "pserver", 1), pod("s0", "pserver", 0)};
  sort_pods(pods);
  std::string order;
  for (auto const& each : pods) order += each.name + ' ';
  EXPECT_EQ(order, "s0 s1 t9 t10 x ");
}

TEST(SubmittedJob, TheTableIsAligned) {
  SubmittedJob state;
  state.jobs.push_back({"job.batch", "ctr", "Running", "4 active", begun});
  state.pods = {pod("ctr-0", "pserver", 0), pod("ctr-1-long", "trainer", 0)};
  state.pods[0].node = "node-a";
  state.pods[1].phase = "Pending";
  state.pods[1].reason = "Unschedulable: 0/3 nodes are available";
  state.pods[1].restarts = 12;
  EXPECT_EQ(job_table(state, begun + 5min),
            "job.batch/ctr: Running, 4 active, age 5m\n"
            "ROLE     ID  POD         PHASE    RESTARTS  NODE    AGE  REASON\n"
            "pserver  0   ctr-0       Running  0         node-a  5m\n"
            "trainer  0   ctr-1-long  Pending  12        -       5m   Unschedulable: 0/3 nodes are available\n");
}

TEST(SubmittedJob, AJobWithoutPodsSaysSo) {
  SubmittedJob state;
  state.jobs.push_back({"job.batch", "ctr", "Complete", "", {}});
  EXPECT_EQ(job_table(state, begun), "job.batch/ctr: Complete, age -\nno pods\n");
}
