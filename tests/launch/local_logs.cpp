// What a job on this machine shows and writes.
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <set>

#include <prdist/launch/local.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::has;
using launch_test::Mailbox;
using launch_test::Prrun;
using launch_test::run_prrun;
using launch_test::shell;
using launch_test::TempFolder;

TEST(LocalJob, PutsBothStreamsInOneLogAndMirrorsTrainer0) {
  Prrun prrun(shell({"--trainer_num", "2"}, "echo out $PADDLE_TRAINER_ID; echo error >&2; printf unfinished"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0);
  EXPECT_EQ(prrun.log("workerlog.1"), "out 1\nerror\nunfinished");
  EXPECT_EQ(prrun.log("serverlog.0"), "out\nerror\nunfinished");
  EXPECT_EQ(finished.out, "[trainer 0] out 0\n[trainer 0] error\n[trainer 0] unfinished\n");
  EXPECT_FALSE(has(finished.error, "error\n"));
}

TEST(LocalJob, KeepsTheLogsOfTheRunBeforeAndForgetsItsProgress) {
  TempFolder folder;
  EXPECT_EQ(Prrun(folder, shell({}, "echo first; [ $TRAINING_ROLE = PSERVER ] || echo examples=5 >$PRDIST_PROGRESS"))
                .finish()
                .code(),
            0);
  Prrun prrun(folder, shell({}, "echo second"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0);
  EXPECT_EQ(prrun.log("workerlog.0"), "second\n");
  EXPECT_EQ(prrun.log("workerlog.0.prev"), "first\n");
  EXPECT_FALSE(has(finished.error, "Progress")) << finished.error;
}

// A run with fewer members must not have logs beside its own that nobody wrote in it.
TEST(LocalJob, PutsAwayLogsOfALargerRunBefore) {
  TempFolder folder;
  EXPECT_EQ(Prrun(folder, shell({"--server_num", "2", "--trainer_num", "3"}, "echo first")).finish().code(), 0);
  EXPECT_EQ(Prrun(folder, shell({}, "echo second")).finish().code(), 0);
  auto const names = [&] {
    std::set<std::string> found;
    for (auto const& entry : std::filesystem::directory_iterator(folder / "log")) {
      found.insert(entry.path().filename().string());
    }
    return found;
  };
  EXPECT_EQ(names(), (std::set<std::string>{"serverlog.0", "serverlog.0.prev", "serverlog.1.prev", "workerlog.0",
                                            "workerlog.0.prev", "workerlog.1.prev", "workerlog.2.prev"}));
  EXPECT_EQ(Prrun(folder, shell({}, "echo third")).finish().code(), 0);
  EXPECT_EQ(names(), (std::set<std::string>{"serverlog.0", "serverlog.0.prev", "workerlog.0", "workerlog.0.prev"}));
}

// What a program writes must not move the cursor or change the terminal; its log has every byte.
TEST(LocalJob, ShowsControlBytesInsteadOfDoingThem) {
  TempFolder folder;
  auto const script = R"(printf '\033[2Jcleared\007 \033[31mred\033[0m\n'; [ $TRAINING_ROLE = PSERVER ] || exit 7)";
  Prrun prrun(folder, shell({"--log_dir", "a\nb\x1b[2J", "--json", "report.json"}, script));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 7);
  EXPECT_EQ(finished.out, "[trainer 0] \\x1b[2Jcleared\\x07 \x1b[31mred\x1b[0m\n");
  EXPECT_EQ(launch_test::read_file(folder / "a\nb\x1b[2J/workerlog.0"), "\x1b[2Jcleared\x07 \x1b[31mred\x1b[0m\n");
  EXPECT_FALSE(has(finished.error, "\x1b[2J") || has(finished.error, "\x07")) << finished.error;
  for (auto const* const part :
       {"log_dir: a\\nb\\x1b[2J\n", ", logs in a\\nb\\x1b[2J\n", "  a\\nb\\x1b[2J/workerlog.0\n",
        "last lines of a\\nb\\x1b[2J/workerlog.0:\n  | \\x1b[2Jcleared\\x07 \x1b[31mred\x1b[0m\n"}) {
    EXPECT_TRUE(has(finished.error, part)) << part << " is not in\n" << finished.error;
  }
  auto const unknown = run_prrun({"--", "no\nsuch\x1b[2J"});
  EXPECT_EQ(unknown.code(), 78);
  EXPECT_TRUE(has(unknown.error, "no\\nsuch\\x1b[2J")) << unknown.error;
  EXPECT_FALSE(has(unknown.error, "\x1b[2J")) << unknown.error;
}

TEST(LocalJob, RefusesALogFolderInUse) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun running(folder, shell({}, "echo $$ >box; exec sleep 1000"));
  ASSERT_EQ(box.pids(2).size(), 2U);
  auto const refused = run_prrun({"--log_dir", (folder / "log").string(), "true"});
  EXPECT_EQ(refused.code(), 78);
  EXPECT_TRUE(has(refused.error, "[config.contradiction] launcher: the log folder '")) << refused.error;
  running.signal(SIGINT);
  EXPECT_EQ(running.finish().code(), 130);
}

TEST(LocalJob, WritesNoVariableOfTheUsersAnywhere) {
  Prrun prrun(shell({"--json", "report.json"}, "exit 4"), {{"MY_SECRET", "hunter2"}});
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 4);
  for (auto const& entry : std::filesystem::recursive_directory_iterator(prrun.folder())) {
    if (entry.is_regular_file()) {
      EXPECT_FALSE(has(launch_test::read_file(entry.path()), "hunter2")) << entry.path();
    }
  }
}

// Paddle's launcher writes every environment into envlog.N and its own into a log of the job.
TEST(LocalJob, LeavesItsLogsAndNothingElse) {
  Prrun prrun(shell({"--server_num", "1", "--trainer_num", "2"}, "true"));
  EXPECT_EQ(prrun.finish().code(), 0);
  std::set<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator(prrun.folder() / "log")) {
    names.insert(entry.path().filename());
  }
  EXPECT_EQ(names, (std::set<std::string>{"serverlog.0", "workerlog.0", "workerlog.1"}));
}

TEST(LocalJob, OverwritesLogsWhenTold) {
  TempFolder folder;
  for (auto const* word : {"first", "second"}) {
    EXPECT_EQ(Prrun(folder, {"--log_overwrite", "True", "echo", word}).finish().code(), 0);
  }
  EXPECT_EQ(launch_test::read_file(folder / "log/workerlog.0"), "second\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "log/workerlog.0.prev"));
}

TEST(LocalJob, ShowsProgressOnATerminal) {
  TempFolder folder;
  Descriptor const master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ::grantpt(master.get());
  ::unlockpt(master.get());
  auto const* const name = ::ptsname(master.get());
  if (name == nullptr) GTEST_SKIP() << "this machine has no /dev/pts: no terminal can be made";
  Descriptor const slave(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  Mailbox box(folder / "box");
  winsize const size{24, 120, 0, 0};
  ::ioctl(slave.get(), TIOCSWINSZ, &size);
  auto const pid = spawn({PRRUN_PATH,
                          {"--log_dir", (folder / "log").string(), "--server_grace", "0", "--", "sh", "-c",
                           R"([ $TRAINING_ROLE = PSERVER ] && exec sleep 1000
                 echo 'step=3 examples=30 total=60 rate=10 loss=0.5' >$PRDIST_PROGRESS; read word <"$0")",
                           (folder / "box").string()},
                          {"PATH=/usr/bin:/bin", "TERM=xterm"},
                          slave.get(),
                          -1})
                       .value();
  std::string text;
  std::string const wanted =
      "50% 30/60 examples, 10 examples/s, loss 0.5000, eta 0:03 | servers 1/1 up, trainers 1/1 up\r\n"
      "server 0   running\r\n"
      "trainer 0  running  step 3  loss 0.5000  10 examples/s  50%";
  auto const deadline = std::chrono::steady_clock::now() + launch_test::patience;
  while (!has(text, wanted) && std::chrono::steady_clock::now() < deadline &&
         launch_test::readable_within(master.get(), launch_test::patience)) {
    char chunk[4096];
    auto const got = ::read(master.get(), chunk, sizeof chunk);
    if (got <= 0) break;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  EXPECT_TRUE(has(text, wanted)) << text;
  launch_test::write_file(folder / "box", "go\n");
  EXPECT_EQ(launch_test::reap(pid), (Ending{0, 0, false}));
}
