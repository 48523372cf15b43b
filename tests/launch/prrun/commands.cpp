// SPDX-License-Identifier: Apache-2.0
// Which words of a command line are commands, and the small ones of them.
#include <prdist/version.hpp>
#include <sstream>

#include "../support.hpp"

using launch_test::has;
using launch_test::Prrun;
using launch_test::read_file;
using launch_test::run_prrun;
using launch_test::TempFolder;
using launch_test::write_file;
using prdist::concat;

namespace {

void write_program(std::filesystem::path const& path, std::string_view text) {
  write_file(path, text);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace

TEST(PrrunCommands, AProgramNamedLikeACommandIsReached) {
  for (auto const& words : {std::vector<std::string>{"--", "version"}, {"./version"}, {"--quiet", "version"}}) {
    TempFolder folder;
    write_program(folder / "version", "#!/bin/sh\necho the program\n");
    EXPECT_EQ(Prrun(folder, words).finish().code(), 0);
    EXPECT_EQ(read_file(folder / "log/workerlog.0"), "the program\n");
  }
}

TEST(PrrunCommands, HelpIsACommandToo) {
  EXPECT_EQ(run_prrun({"help"}).out, run_prrun({"--help"}).out);
  auto const of_k8s = run_prrun({"help", "k8s"});
  EXPECT_EQ(of_k8s.code(), 0);
  EXPECT_EQ(of_k8s.out, run_prrun({"k8s", "--help"}).out);
  EXPECT_TRUE(has(of_k8s.out, "Usage: prrun k8s")) << of_k8s.out;
}

TEST(PrrunCommands, HelpOfNoCommandNamesThem) {
  auto const finished = run_prrun({"help", "nosuch"});
  EXPECT_EQ(finished.code(), 64);
  EXPECT_TRUE(finished.error.starts_with("prrun: 'nosuch' is no command; these are: k8s mpi ")) << finished.error;
}

TEST(PrrunCommands, ASlipInACommandIsNamed) {
  for (auto const& words : {std::vector<std::string>{"statsu", "ctr"}, {"statsu"}}) {
    auto const finished = run_prrun(words);
    EXPECT_EQ(finished.code(), 78);
    EXPECT_TRUE(has(finished.error, "launcher: there is no program 'statsu' in PATH")) << finished.error;
    EXPECT_TRUE(finished.error.ends_with("; did you mean 'prrun status'?\n")) << finished.error;
  }
  // Behind -- or a flag it is a program and nothing else; the agent is not for people.
  for (auto const& words : {std::vector<std::string>{"--", "statsu"}, {"-q", "statsu"}, {"agnet"}, {"./statsu"}}) {
    auto const finished = run_prrun(words);
    EXPECT_EQ(finished.code(), 78);
    EXPECT_FALSE(has(finished.error, "did you mean")) << finished.error;
  }
  TempFolder folder;
  write_program(folder / "statsu", "#!/bin/sh\nexit 0\n");
  EXPECT_EQ(Prrun(folder, {"statsu"}).finish().code(), 0) << "a program of that name";
}

TEST(PrrunCommands, VersionIsInTheFormOfPaddles) {
  auto const finished = run_prrun({"version"});
  EXPECT_EQ(finished.code(), 0);
  EXPECT_TRUE(finished.out.starts_with(concat("prdist ", prdist::version, ", compiled with\n    with_avx: ")))
      << finished.out;
  std::istringstream lines(finished.out);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    EXPECT_TRUE(line.starts_with("    with_") && (line.ends_with(": ON") || line.ends_with(": OFF"))) << line;
  }
  for (auto const* const name : {"gpu", "double", "python", "rdma", "timer", "blas", "ssl"}) {
    EXPECT_TRUE(has(finished.out, concat("    with_", name, ": "))) << name;
  }
}

TEST(PrrunCommands, CheckTriesARealJob) {
  TempFolder folder;
  auto const finished = Prrun(folder, {"check"},
                              // What a job of the user's would be given says nothing of the machine.
                              {{"TMPDIR", folder.path().string()}, {"PADDLE_NNODES", "2"}, {"PADDLE_MAX_RESTART", "x"}})
                            .finish();
  EXPECT_EQ(finished.code(), 0) << finished.out;
  EXPECT_TRUE(has(finished.out, "yes  sockets  connections over 127.0.0.1\n")) << finished.out;
  EXPECT_TRUE(has(finished.out, "yes  job      1 server and 1 trainer started and ended\n")) << finished.out;
  for (auto const* const name : {"blas ", "mpi ", "cuda ", "nccl ", "k8s ", "kubectl ", "etcd ", "ssh "}) {
    EXPECT_TRUE(has(finished.out, concat("\nyes  ", name)) || has(finished.out, concat("\nno   ", name))) << name;
  }
  EXPECT_TRUE(finished.out.ends_with("\nA job can run on this machine.\n"));
  for (auto const& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_TRUE(entry.path().filename() == "stdout" || entry.path().filename() == "stderr") << entry.path();
  }
}

TEST(PrrunCommands, CheckShowsTheWayOut) {
  TempFolder folder;
  write_program(folder / "mpirun", "#!/bin/sh\nexit 1\n");
  write_program(folder / "true", "#!/bin/sh\nexit 0\n");
  auto const finished =
      Prrun(folder, {"check"}, {{"PATH", folder.path().string()}, {"TMPDIR", folder.path().string()}}).finish();
  EXPECT_EQ(finished.code(), 0) << finished.out;
  EXPECT_TRUE(has(finished.out, concat("no   mpi      ", (folder / "mpirun").string(),
                                       " does not run: apt-get install openmpi-bin (only prrun mpi needs it)\n")))
      << finished.out;
  EXPECT_TRUE(
      has(finished.out, "no   etcd     there is no etcd: apt-get install etcd-server (only for etcd:// masters)\n"))
      << finished.out;
}

TEST(PrrunCommands, CheckSaysWhenNoJobCanRun) {
  TempFolder folder;
  write_program(folder / "true", "#!/bin/sh\nexit 9\n");
  auto const finished =
      Prrun(folder, {"check"},
            {{"PATH", concat(folder.path().string(), ":/usr/bin")}, {"TMPDIR", folder.path().string()}})
          .finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.out, "no   job      a job ended with code 9")) << finished.out;
  EXPECT_TRUE(finished.out.ends_with("No job can run on this machine: see the lines with no.\n")) << finished.out;
  auto const nowhere = run_prrun({"check"}, {{"TMPDIR", "/dev/null"}});
  EXPECT_EQ(nowhere.code(), 78);
  EXPECT_TRUE(has(nowhere.out, "no   temporary folder: nothing can be written to TMPDIR: give another one"))
      << nowhere.out;
}

TEST(PrrunCommands, EachHasHelpThatBeginsWithExamples) {
  for (auto const* const name : {"k8s", "mpi", "probe", "version", "check"}) {
    auto const finished = run_prrun({name, "--help"});
    EXPECT_EQ(finished.code(), 0);
    EXPECT_TRUE(finished.out.starts_with("Examples")) << finished.out;
    EXPECT_TRUE(has(finished.out, "Usage: ")) << finished.out;
    auto const wrong = run_prrun({name, "--bogus"});
    EXPECT_EQ(wrong.code(), 64);
    EXPECT_TRUE(has(wrong.error, concat("prrun: '--bogus' is not a flag of prrun\nUsage: "))) << wrong.error;
    EXPECT_TRUE(wrong.error.ends_with(concat("\nTry: prrun ", name, " --help\n"))) << wrong.error;
  }
  auto const meant = run_prrun({"k8s", "--wiat", "3", "true"});
  EXPECT_TRUE(has(meant.error, "'--wiat' is not a flag of prrun: did you mean '--wait'?\nUsage: ")) << meant.error;
  auto const all = run_prrun({"--help"}).out;
  for (auto const* const name : {"prrun k8s", "prrun mpi", "probe", "version", "check"})
    EXPECT_TRUE(has(all, name)) << name;
}
