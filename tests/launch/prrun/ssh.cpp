// SPDX-License-Identifier: Apache-2.0
// The command line of prrun --hostfile, as far as it goes without another host; tests/launch/ssh_jobs.py has the rest.
#include "../support.hpp"

using launch_test::has;
using launch_test::Prrun;
using launch_test::run_prrun;
using launch_test::TempFolder;
using launch_test::write_file;

TEST(PrrunSsh, AWorkspaceIsCopiedOrThere) {
  auto const neither = run_prrun({"--hostfile", "machines", "--", "true"});
  EXPECT_EQ(neither.code(), 64);
  EXPECT_TRUE(has(neither.error, "--job_workspace or --job_dispatch_package should be set")) << neither.error;
  auto const both = run_prrun({"--hostfile", "m", "-p", "a", "--job-workspace", "b", "--", "true"});
  EXPECT_EQ(both.code(), 64);
  EXPECT_TRUE(has(both.error, "--job_workspace: excludes --job_dispatch_package")) << both.error;
  auto const lists = run_prrun({"--hostfile", "m", "-j", "w", "--ips", "a,b", "--", "true"});
  EXPECT_EQ(lists.code(), 64);
  EXPECT_TRUE(has(lists.error, "--hostfile: excludes --ips")) << lists.error;
  auto const alone = run_prrun({"-j", "b", "--", "true"});
  EXPECT_EQ(alone.code(), 64);
  EXPECT_TRUE(has(alone.error, "--hostfile: is missing")) << alone.error;
}

TEST(PrrunSsh, FlagsForHostsWantAHostfile) {
  auto const finished = run_prrun({"--accept_new", "--", "true"});
  EXPECT_EQ(finished.code(), 64);
  EXPECT_TRUE(has(finished.error, "--accept_new: is for jobs over ssh: give --hostfile too")) << finished.error;
}

TEST(PrrunSsh, ABadHostfileIsNamedWithItsLine) {
  TempFolder folder;
  write_file(folder / "machines", "node1\n-oProxyCommand=touch${IFS}bad\n");
  auto const finished = Prrun(folder, {"--hostfile", "machines", "-j", "w", "--", "true"}).finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "prdist[config.invalid] ssh: machines:2: ")) << finished.error;
  auto const missing = run_prrun({"--hostfile", "nowhere", "-j", "w", "--", "true"});
  EXPECT_EQ(missing.code(), 78);
  EXPECT_TRUE(has(missing.error, "prdist[config.missing] ssh: the hostfile 'nowhere' cannot be read")) << missing.error;
  auto const directory = run_prrun({"--hostfile", "/tmp", "-j", "w", "--", "true"});
  EXPECT_EQ(directory.code(), 78);
  EXPECT_TRUE(has(directory.error, "the hostfile '/tmp' is a folder and not a file")) << directory.error;
}

TEST(PrrunSsh, HostsThatTellEverySecondAreNotLostSooner) {
  TempFolder folder;
  write_file(folder / "machines", "node1\n");
  for (std::string const seconds : {"0", "1", "2", "86401", "x"}) {
    auto const finished = Prrun(folder, {"--hostfile", "machines", "-j", "w", "--dry_run", "--", "true"},
                                {{"PRDIST_LOST_AFTER", seconds}})
                              .finish();
    EXPECT_EQ(finished.code(), 78) << seconds;
    EXPECT_EQ(finished.error,
              "prdist[config.invalid] PRDIST_LOST_AFTER='" + seconds + "': a number from 3 to 86400 is expected\n");
  }
  auto const finished =
      Prrun(folder, {"--hostfile", "machines", "-j", "w", "--dry_run", "--", "true"}, {{"PRDIST_LOST_AFTER", "3"}})
          .finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
}

TEST(PrrunSsh, DryRunShowsWhoRunsWhereAndWhatIsPassedOn) {
  TempFolder folder;
  write_file(folder / "machines", "me@node1:2222\nnode2 slots=2\n");
  auto const finished =
      Prrun(folder, {"--hostfile", "machines", "--epochs=3", "-j", "~/w/{node}", "--dry_run", "--", "./train", "a b"})
          .finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_EQ(finished.out,
            "node 0, me@node1:2222, w/0: server 0, trainer 0\nnode 1, node2, w/1: server 1, trainer 1, trainer 2\n"
            "Each runs: './train' 'a b' '--epochs=3'\n");
  EXPECT_TRUE(has(finished.error, "Passed on to the program: --epochs\n")) << finished.error;
}

TEST(PrrunSsh, DryRunWarnsAsTheRunDoesAndShowsNoSecret) {
  TempFolder folder;
  write_file(folder / "machines", "node1\n");
  auto const finished = Prrun(folder,
                              {"--hostfile", "machines", "--max_restart", "2", "--job_id", "mine", "-j", "w",
                               "--dry_run", "--", "./train", "--token", "abc"},
                              {{"PADDLE_JOB_ID", "other"}})
                            .finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_TRUE(has(finished.error, "prrun: --job_id mine is used, not PADDLE_JOB_ID=other of the environment\n"));
  EXPECT_TRUE(has(finished.error, "prrun: max_restart is not used: over ssh a job runs once\n")) << finished.error;
  EXPECT_TRUE(has(finished.out, "Each runs: './train' '--token' '***'\n")) << finished.out;
}

TEST(PrrunSsh, UnknownFlagsAreRefusedWithoutHosts) {
  for (std::vector<std::string> const& words : {std::vector<std::string>{"--epochs=3", "--", "true"},
                                                {"--hostfile", "m", "-j", "w", "--epochs", "3", "true"}}) {
    auto const finished = run_prrun(words);
    EXPECT_EQ(finished.code(), 64);
    EXPECT_TRUE(has(finished.error, "' is not a flag of prrun")) << finished.error;
  }
}

TEST(PrrunSsh, WithoutSshTheWayOutIsNamed) {
  TempFolder folder;
  write_file(folder / "machines", "node1\n");
  auto const finished =
      Prrun(folder, {"--hostfile", "machines", "-j", "w", "--", "true"}, {{"PATH", "/nowhere"}}).finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "there is no program ssh in PATH: apt-get install openssh-client")) << finished.error;
}

TEST(PrrunSsh, AnAgentIsNotForPeople) {
  EXPECT_EQ(run_prrun({"agent", "--help"}).code(), 64);
  // Its standard input is empty here: the launcher is gone before it has said anything.
  auto const finished = run_prrun({"agent"});
  EXPECT_EQ(finished.code(), 75);
  EXPECT_TRUE(has(finished.out, R"({"say":"hello","version":")")) << finished.out;
  EXPECT_TRUE(has(finished.out, "the launcher's channel has closed: nothing was started")) << finished.out;
}
