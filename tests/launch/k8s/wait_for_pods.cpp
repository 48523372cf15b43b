// SPDX-License-Identifier: Apache-2.0
// On a clock that moves when the waiting pauses.
#include <prdist/launch/k8s/wait_for_pods.hpp>

#include "../support.hpp"

using namespace prdist;
using std::chrono::seconds;

namespace {

using Answer = Result<std::vector<Pod>>;

Pod pod(std::string name, std::string phase, std::string reason = {}) {
  return {name, phase == "Running" ? "10.0.0." + name : "", std::move(phase), std::move(reason), {}, false};
}

/// Answers in turn, the last one for ever.
struct World {
  std::vector<Answer> answers;
  std::size_t asked = 0;
  std::chrono::steady_clock::time_point time{};
  std::vector<std::string> said{};
  bool stopped = false;

  Answer wait(std::size_t expected, seconds patience = seconds(60)) {
    PodWatch watch;
    watch.list = [&](std::string const& selector) {
      EXPECT_EQ(selector, "job-name=ctr");
      return answers.at(std::min(asked++, answers.size() - 1));
    };
    watch.say = [&](std::string_view line) { said.emplace_back(line); };
    watch.now = [&] { return time; };
    watch.pause = [&](std::chrono::milliseconds span) {
      time += span;
      return !stopped;
    };
    return wait_for_pods({"job-name=ctr", expected}, patience, watch);
  }
};

}  // namespace

// start_paddle.py goes on when all that are listed run, though not all have been created; and ids of early trainers
// are then wrong or twice.
TEST(WaitForPods, WaitsForThoseNotYetCreated) {
  World world{{std::vector{pod("2", "Running")}, std::vector{pod("2", "Running"), pod("1", "Pending", "Unschedulable")},
               std::vector{pod("2", "Running"), pod("1", "Running")}}};
  auto const pods = world.wait(2).value();
  ASSERT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods[0].name, "1");
  EXPECT_EQ(world.said,
            (std::vector<std::string>{"waiting for pods with job-name=ctr: 1/2 pods run; 1 not created yet",
                                      "waiting for pods with job-name=ctr: 1/2 pods run; 1: Pending, Unschedulable"}));
}

TEST(WaitForPods, DoesNotWaitForEver) {
  World world{{std::vector{pod("1", "Running"), pod("2", "Pending", "ImagePullBackOff")}}};
  auto const pods = world.wait(2, seconds(30));
  ASSERT_FALSE(pods);
  EXPECT_EQ(std::string(pods.error().what()),
            "prdist[job.deadline] k8s: the pods with job-name=ctr were not all there within 30 s, 1/2 pods run; 2: "
            "Pending, ImagePullBackOff: look with kubectl describe pod -l job-name=ctr, or wait longer with --wait");
  EXPECT_EQ(exit_code(pods.error().code()), 75);
  EXPECT_EQ(world.said.size(), 1U) << "one line per state, not per look";
  EXPECT_LT(world.asked, 20U) << "an apiserver is not to be asked all the time";
  EXPECT_LE(world.time.time_since_epoch(), seconds(30));
}

TEST(WaitForPods, WhatPassesIsTriedAgain) {
  World world{{Error(Errc::transport_refused, "no apiserver"), Error(Errc::transport_failed, "503"),
               std::vector{pod("1", "Running")}}};
  EXPECT_TRUE(world.wait(1));
  EXPECT_EQ(world.said.size(), 2U);
  World down{{Error(Errc::transport_refused, "https: connecting to x:1 failed: Connection refused")}};
  auto const pods = down.wait(1, seconds(5));
  ASSERT_FALSE(pods);
  EXPECT_NE(std::string(pods.error().what()).find("within 5 s, https: connecting to x:1 failed"), std::string::npos);
}

TEST(WaitForPods, WhatDoesNotPassIsSaidAtOnce) {
  World world{{Error(Errc::config_invalid, "403")}};
  auto const pods = world.wait(1);
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().code(), Errc::config_invalid);
  EXPECT_EQ(world.asked, 1U);
}

TEST(WaitForPods, EndsWhenItIsStopped) {
  World world{{std::vector{pod("1", "Pending")}}};
  world.stopped = true;
  auto const pods = world.wait(1);
  ASSERT_FALSE(pods);
  EXPECT_EQ(std::string(pods.error().what()),
            "prdist[job.state] k8s: stopped while waiting for pods, 0/1 pods run; 1: Pending");
}
