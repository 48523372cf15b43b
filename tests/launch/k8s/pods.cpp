// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/k8s/pods.hpp>

#include "../support.hpp"

using namespace prdist;
using launch_test::error_of;

namespace {

Pod running(std::string name, std::string ip, std::optional<std::size_t> index = {}) {
  return {std::move(name), std::move(ip), "Running", "", index, false};
}

std::string names(std::vector<Pod> const& pods) {
  std::string text;
  for (auto const& pod : in_order(pods)) text += pod.name + ' ';
  return text;
}

}  // namespace

// start_paddle.py sorts addresses as texts, by which 10.0.0.10 comes before 10.0.0.9.
TEST(Pods, AddressesAreOrderedByValue) {
  EXPECT_EQ(names({running("c", "10.0.0.10"), running("a", "9.255.0.1"), running("b", "10.0.0.9")}), "a b c ");
  EXPECT_EQ(
      names({running("d", "fd00::10"), running("c", "fd00::9"), running("b", "200.0.0.1"), running("a", "20.0.0.1")}),
      "a b c d ");
}

// set_k8s_env.sh sorts names as texts, by which job-10 comes before job-2; and a replaced pod keeps its index.
TEST(Pods, AnIndexGoesBeforeTheAddress) {
  EXPECT_EQ(
      names({running("job-10", "10.0.0.1", 10), running("job-2", "10.0.0.2", 2), running("job-0", "10.0.0.3", 0)}),
      "job-0 job-2 job-10 ");
  EXPECT_EQ(names({running("b", "10.0.0.2", 0), running("a", "10.0.0.1")}), "a b ") << "only when each has one";
}

TEST(Pods, OnlyThoseThatRunAndStayCount) {
  auto leaving = running("leaving", "10.0.0.1");
  leaving.terminating = true;
  Pod const failed{"failed", "10.0.0.2", "Failed", "OOMKilled", {}, false};
  std::vector<Pod> const pods{leaving, failed, running("here", "10.0.0.3"), running("no address", "")};
  EXPECT_EQ(names(pods), "here ");
  EXPECT_TRUE(complete(pods, 1));
  EXPECT_FALSE(complete(pods, 2));
}

TEST(Pods, OneTooManyIsAReplacementUnderWay) {
  EXPECT_FALSE(complete(std::vector{running("a", "10.0.0.1"), running("b", "10.0.0.2")}, 1));
  EXPECT_FALSE(complete(std::vector{running("a", "10.0.0.1", 0), running("b", "10.0.0.2", 0)}, 2)) << "an index twice";
  EXPECT_TRUE(complete(std::vector{running("a", "10.0.0.1", 0), running("b", "10.0.0.2", 1)}, 2));
}

TEST(Pods, TheirStateSaysWhoIsMissingAndWhy) {
  std::vector<Pod> const pods{running("job-0", "10.0.0.1"),
                              {"job-1", "", "Pending", "ImagePullBackOff: no such image", {}, false},
                              {"job-2", "10.0.0.2", "Running", "", {}, true}};
  EXPECT_EQ(state_of(pods, 4),
            "1/4 pods run; job-1: Pending, ImagePullBackOff: no such image; job-2: Terminating; 1 not created yet");
  std::vector<Pod> const many(100, {"job", "", "Pending", "", {}, false});
  EXPECT_TRUE(state_of(many, 100).ends_with("job: Pending; and 95 more")) << state_of(many, 100);
}

TEST(Pods, AnAddressThatIsNoneIsNamed) {
  EXPECT_EQ(error_of([] {
              return in_order(std::vector{running("a", "10.0.0"), running("b", "10.0.0.1")});
            }),
            "prdist[config.invalid] k8s: pod a has the address '10.0.0'");
}
