// SPDX-License-Identifier: Apache-2.0
// SIGKILL to processes of prrun k8s and prrun mpi, which run a share of a job: nothing is left, and what is left of
// prrun says what happened.
#include <gtest/gtest.h>

#include "../support.hpp"

using launch_test::gone_within;
using launch_test::has;
using launch_test::Mailbox;
using launch_test::parent_of;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::TempFolder;
using prdist::concat;

namespace {

/// A pod, or a rank, with one trainer, which has started something in a session of its own.
class KilledShare : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Prrun::Variables variables{{"PRDIST_TERMINATION_LOG", (folder_ / "cause").string()},
                               {"TMPDIR", folder_.path().string()}};
    if (GetParam() == "k8s") {
      variables.merge(Prrun::Variables{{"JOB_NAME", "ctr"},
                                       {"TRAINING_ROLE", "TRAINER"},
                                       {"PADDLE_TRAINER_ID", "0"},
                                       {"PADDLE_TRAINERS_NUM", "1"},
                                       {"PADDLE_PSERVERS_NUM", "1"},
                                       {"PADDLE_PSERVERS_IP_PORT_LIST", "127.0.0.1:7164"}});
    } else {
      variables.merge(Prrun::Variables{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}});
    }
    prrun_.emplace(
        folder_,
        std::vector<std::string>{GetParam(), "--", "sh", "-c",
                                 "setsid sleep 1000 & echo how far; echo $$ >box; echo $! >box; exec sleep 1000"},
        variables);
    pids_ = box_.pids(2);
    ASSERT_EQ(pids_.size(), 2U);
    worker_ = parent_of(pids_[0]);
    between_ = parent_of(worker_);
    ASSERT_EQ(parent_of(between_), prrun_->pid());
    // The program may be quicker than its launcher, which knows of it when it says so.
    auto const deadline = std::chrono::steady_clock::now() + launch_test::patience;
    while (!has(read_file(folder_ / "stderr"), concat(", pid ", pids_[0]))) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << read_file(folder_ / "stderr");
      ::poll(nullptr, 0, 5);
    }
  }

  /// Whether all that belonged to it is gone; then the report has been written as well.
  [[nodiscard]] bool all_gone() const {
    return gone_within(pids_[0]) && gone_within(pids_[1]) && gone_within(worker_) && gone_within(between_);
  }
  [[nodiscard]] std::string cause() const { return read_file(folder_ / "cause"); }

  TempFolder folder_;
  Mailbox box_{folder_ / "box"};
  std::optional<Prrun> prrun_;
  std::vector<pid_t> pids_;
  pid_t worker_ = 0;
  pid_t between_ = 0;
};

}  // namespace

TEST_P(KilledShare, OfAMemberThatIsTheCause) {
  ::kill(pids_[0], SIGKILL);
  auto const finished = prrun_->finish();
  EXPECT_EQ(finished.code(), 137) << finished.error;
  EXPECT_TRUE(all_gone());
  EXPECT_TRUE(has(finished.error, "trainer 0 was killed by SIGKILL after ")) << finished.error;
  EXPECT_TRUE(cause().starts_with("trainer 0 was killed by SIGKILL after ")) << cause();
  EXPECT_TRUE(cause().ends_with(" | how far\n")) << cause();
}

TEST_P(KilledShare, OfTheSupervisingProcessTheGuardReports) {
  ::kill(worker_, SIGKILL);
  auto const finished = prrun_->finish();
  EXPECT_EQ(finished.code(), 137) << finished.error;
  EXPECT_TRUE(all_gone());
  for (auto const* const part : {"\n0     trainer 0  ", "SIGKILL, stopped", "train.log:\n  | how far\nLAUNCH ERROR",
                                 "the launcher was killed by SIGKILL after "}) {
    EXPECT_TRUE(has(finished.error, part)) << part << " is not in\n" << finished.error;
  }
  EXPECT_TRUE(cause().starts_with("the launcher was killed by SIGKILL after ")) << cause();
}

TEST_P(KilledShare, OfTheGuardTheSupervisingProcessReports) {
  ::kill(between_, SIGKILL);
  auto const finished = prrun_->finish();
  EXPECT_EQ(finished.code(), 137) << finished.error;
  EXPECT_TRUE(all_gone());
  // Many ranks may write to one console.
  EXPECT_TRUE(has(finished.error, " trainer 0: the launcher was killed by SIGKILL after ")) << finished.error;
  EXPECT_TRUE(has(finished.error, "Exit code 137\n")) << finished.error;
  EXPECT_TRUE(cause().starts_with("the launcher was killed by SIGKILL after ")) << cause();
}

TEST_P(KilledShare, OfTheOnePeopleSeeTheSupervisingProcessReports) {
  prrun_->signal(SIGKILL);
  EXPECT_EQ(prrun_->finish().code(), 137);
  EXPECT_TRUE(all_gone());
  auto const error = read_file(folder_ / "stderr");
  EXPECT_TRUE(has(error, " trainer 0: the job was stopped because prrun itself was killed after ")) << error;
  EXPECT_TRUE(has(error, "Exit code 137\n")) << error << "what a shell shows";
  EXPECT_TRUE(cause().starts_with("the job was stopped because prrun itself was killed after ")) << cause();
}

TEST_P(KilledShare, OfAnyTwoTheThirdReports) {
  // Stopped first, so that it does not see the other's end.
  ::kill(between_, SIGSTOP);
  ::kill(worker_, SIGKILL);
  ::kill(between_, SIGKILL);
  auto const finished = prrun_->finish();
  EXPECT_EQ(finished.code(), 137) << finished.error;
  EXPECT_TRUE(all_gone());
  EXPECT_TRUE(has(finished.error, "SIGKILL, stopped")) << finished.error;
  EXPECT_TRUE(cause().starts_with("the launcher was killed by SIGKILL after ")) << cause();
}

INSTANTIATE_TEST_SUITE_P(Of, KilledShare, testing::Values("k8s", "mpi"), [](auto const& each) { return each.param; });
