// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/early_servers.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::Mailbox;
using launch_test::Prrun;
using launch_test::TempFolder;
using std::chrono::milliseconds;
using Lines = std::vector<std::string>;

namespace {

EarlyServers::TimePoint at(int millis) {
  return EarlyServers::TimePoint(std::chrono::hours(1) + milliseconds(millis));
}

constexpr Ending fine{0, 0, false};

/// Two servers and two trainers, all running.
std::vector<MemberReport> running() {
  return {{{JobRole::server, 0}, 101, {}, 0, false, "log/serverlog.0"},
          {{JobRole::server, 1}, 102, {}, 0, false, "log/serverlog.1"},
          {{JobRole::trainer, 0}, 103, {}, 0, false, "log/workerlog.0"},
          {{JobRole::trainer, 1}, 104, {}, 0, false, "log/workerlog.1"}};
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(EarlyServers, AreNamedOnceWhenTrainersStillRunAfterAWhile) {
  EarlyServers early;
  auto members = running();
  EXPECT_EQ(early.look(members, false, milliseconds(1000), at(0)), Lines{});
  members[1].ending = fine;
  EXPECT_EQ(early.look(members, false, milliseconds(1000), at(100)), Lines{});
  EXPECT_EQ(early.look(members, false, milliseconds(1000), at(1099)), Lines{});
  EXPECT_EQ(early.look(members, false, milliseconds(1000), at(1100)),
            Lines{"server 1 has ended with exit code 0, and 2 trainers still run: if they wait for that server, see "
                  "log/serverlog.1 for why it ended; --timeout bounds such a job"});
  EXPECT_EQ(early.look(members, false, milliseconds(1000), at(9000)), Lines{});
  members[0].ending = fine;
  members[2].ending = fine;
  EXPECT_EQ(early.look(members, false, milliseconds(0), at(9001)),
            Lines{"server 0 has ended with exit code 0, and 1 trainer still runs: if it waits for that server, see "
                  "log/serverlog.0 for why it ended; --timeout bounds such a job"});
}

TEST(EarlyServers, AreNamedForTrainersOfOtherNodes) {
  EarlyServers early;
  auto members = running();
  members.resize(1);
  members[0].ending = fine;
  EXPECT_EQ(early.look(members, false, milliseconds(0), at(0)), Lines{});
  EXPECT_EQ(early.look(members, true, milliseconds(0), at(1)),
            Lines{"server 0 has ended with exit code 0, and trainers of other nodes still run: if they wait for that "
                  "server, see log/serverlog.0 for why it ended; --timeout bounds such a job"});
}

TEST(EarlyServers, AreNoneOfASoundJob) {
  EarlyServers early;
  auto members = running();
  for (auto& each : members) each.ending = fine;
  EXPECT_EQ(early.look(members, false, milliseconds(0), at(0)), Lines{}) << "all have ended";
  members = running();
  members[0].ending = Ending{7, 0, false};
  members[1].ending = fine;
  members[1].stopped = true;
  EXPECT_EQ(early.look(members, false, milliseconds(0), at(1)), Lines{}) << "one failed, one was ended";
}

TEST(EarlyServers, AreSaidWhileTheJobRunsAndEndNothing) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, {"--server_grace", "0.1", "--", "sh", "-c",
                       "[ $TRAINING_ROLE = PSERVER ] && exit 0\n"
                       "until grep -q 'server 0 [h]as ended' stderr; do sleep 0.02; done; echo seen >box; exit 0"});
  EXPECT_EQ(box.next(), "seen");
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0);
  EXPECT_TRUE(has(finished.error, "LAUNCH WARNING ")) << finished.error;
  EXPECT_TRUE(has(finished.error,
                  "server 0 has ended with exit code 0, and 1 trainer still runs: if it waits for that "
                  "server, see log/serverlog.0 for why it ended; --timeout bounds such a job\n"))
      << finished.error;
}

TEST(EarlyServers, AreSaidByTheLauncherOfOneNodesShare) {
  TempFolder folder;
  Prrun prrun(folder,
              {"mpi", "--both", "--server_grace", "0.1", "--timeout", "15", "--", "sh", "-c",
               "[ $TRAINING_ROLE = PSERVER ] && exit 0\n"
               "until grep -q 'server 0 [h]as ended' stderr; do sleep 0.02; done; exit 0"},
              {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
}
