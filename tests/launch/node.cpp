// SPDX-License-Identifier: Apache-2.0
// Real processes of one node. What ends them elsewhere is a file that the test writes.
#include <prdist/launch/node.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::in_child;
using launch_test::Mailbox;
using launch_test::read_file;
using launch_test::TempFolder;
using launch_test::write_file;
namespace fs = std::filesystem;

namespace {

NodeJob job_in(TempFolder const& folder, std::string const& script, std::vector<JobMember> members) {
  NodeJob job;
  job.plan.servers = {{"127.0.0.1", 7164}};
  job.plan.trainers = 1;
  job.plan.members = std::move(members);
  job.program = "/bin/sh";
  job.arguments = {"-c", script};
  job.output = folder / "output";
  job.progress = folder / "progress";
  job.limits.server_grace = std::chrono::milliseconds(50);
  job.limits.timeout = launch_test::patience;
  job.quiet = true;
  return job;
}

/// Runs it in a child, whose output goes to FOLDER/stdout; the report is judged there.
template <class Judge>
int run(TempFolder const& folder, NodeJob const& job, Judge&& judge) {
  return in_child([&] {
    Descriptor const out(::open((folder / "stdout").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644));
    Descriptor const error(::open((folder / "stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644));
    Console console(out.get(), error.get());
    auto const report = run_node(job, console);
    return report ? judge(*report) : 99;
  });
}

int code_of(JobReport const& report) {
  return report.exit_code;
}

constexpr JobMember server{JobRole::server, 0};
constexpr JobMember trainer{JobRole::trainer, 0};

}  // namespace

TEST(Node, ATrainersOutputIsInItsLogAndOnTheConsole) {
  TempFolder folder;
  auto job =
      job_in(folder, "echo I am $TRAINING_ROLE $PADDLE_TRAINER_ID; printf 'no end of line'", {{JobRole::trainer, 1}});
  job.plan.trainers = 2;
  EXPECT_EQ(run(folder, job, code_of), 0) << read_file(folder / "stderr");
  EXPECT_EQ(read_file(folder / "output/node_1/train.log"), "I am TRAINER 1\nno end of line");
  EXPECT_EQ(read_file(folder / "stdout"), "I am TRAINER 1\nno end of line\n");
  EXPECT_EQ(read_file(folder / "stderr"), "");
  EXPECT_TRUE(fs::exists(finished_path(job.output, 1)));
}

TEST(Node, ServerAndTrainerOfOnePodShareTheConsole) {
  TempFolder folder;
  auto const job =
      job_in(folder, "echo $TRAINING_ROLE; [ $TRAINING_ROLE = TRAINER ] || exec sleep 1000", {server, trainer});
  EXPECT_EQ(run(folder, job, code_of), 0) << "a server that never ends is ended after the trainers";
  EXPECT_EQ(read_file(folder / "output/node_0/server.log"), "PSERVER\n");
  EXPECT_EQ(read_file(folder / "output/node_0/train.log"), "TRAINER\n");
  auto const shown = read_file(folder / "stdout");
  EXPECT_NE(shown.find("[server 0] PSERVER\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("[trainer 0] TRAINER\n"), std::string::npos) << shown;
}

// The servers of a job are not done when the trainer beside one of them is.
TEST(Node, AServerWaitsForTrainersOfOtherNodes) {
  TempFolder folder;
  Mailbox mailbox(folder / "mail");
  auto job = job_in(folder,
                    concat("[ $TRAINING_ROLE = TRAINER ] && exit 0; trap 'echo ended >>", (folder / "mail").string(),
                           "; exit 0' TERM; while :; do sleep 0.01; done"),
                    {server, trainer});
  job.plan.trainers = 2;
  fs::create_directories(folder / "output/node_1");
  write_file(finished_path(job.output, 1), "\n");
  fs::last_write_time(finished_path(job.output, 1), fs::file_time_type::clock::now() - std::chrono::hours(1));
  auto const pid = ::fork();
  if (pid == 0) ::_exit(run(folder, job, code_of));
  // The mark of an earlier run does not count, so the server goes on well beyond its grace.
  EXPECT_EQ(mailbox.next(std::chrono::milliseconds(1500)), "");
  write_file(finished_path(job.output, 1), "\n");
  EXPECT_EQ(mailbox.next(), "ended");
  EXPECT_EQ(launch_test::reap(pid), (Ending{0, 0, false}));
}

TEST(Node, AServerAloneRunsUntilItIsToldToEnd) {
  TempFolder folder;
  auto job = job_in(folder, "sleep 0.3; exit 0", {server});
  job.plan.trainers = 5;
  EXPECT_EQ(run(folder, job, code_of), 0) << "longer than its grace, and it ended by itself";
}

TEST(Node, AFailureIsPassedOnWithItsLastWords) {
  TempFolder folder;
  auto const job = job_in(folder, "echo reading; echo 'prdist[data.line] part-0:7 is broken' >&2; exit 78", {trainer});
  std::string words;
  EXPECT_EQ(run(folder, job,
                [&](JobReport const& report) {
                  write_file(folder / "words", last_words(report));
                  return report.exit_code;
                }),
            78);
  words = read_file(folder / "words");
  EXPECT_TRUE(words.starts_with("trainer 0 ended with exit code 78 after ")) << words;
  EXPECT_TRUE(words.ends_with("/train.log | prdist[data.line] part-0:7 is broken")) << words;
  EXPECT_FALSE(fs::exists(finished_path(job.output, 0)));
}

// set_k8s_env.sh and Paddle's launcher give the bare signal number, or 0.
TEST(Node, ASignalIsNoSuccess) {
  TempFolder folder;
  EXPECT_EQ(run(folder, job_in(folder, "kill -SEGV $$", {trainer}), code_of), 139);
}

TEST(Node, TheProgressFileSaysThatTheTrainerWasStarted) {
  TempFolder folder;
  write_file(folder / "progress", "step=9 phase=train\n");
  auto const job = job_in(folder, "cp \"$PRDIST_PROGRESS\" seen", {trainer});
  auto const old = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(run(folder, job, code_of), 0);
  fs::current_path(old);
  EXPECT_EQ(read_file(folder / "seen"), "phase=started\n") << "the file of an earlier try would look like progress";
}

TEST(Node, AFolderThatCannotBeWrittenIsSaid) {
  TempFolder folder;
  auto job = job_in(folder, "true", {trainer});
  job.output = "/dev/null/output";
  EXPECT_EQ(run(folder, job, code_of), 99);
}

// A pod's own name may not be known yet when its server starts, and trainers may come before it.
TEST(Node, AServerOfOursGetsItsSocketListening) {
  TempFolder folder;
  auto const free_port = bind_loopback().value().endpoint.port;
  auto job = job_in(folder, "", {server});
  job.program = PROBE_PATH;
  job.arguments = {};
  job.plan.servers = {{"not-known-yet.invalid", free_port}};
  job.plan.trainers = 0;  // the program waits for none, then
  job.limits.server_grace = launch_test::patience;
  EXPECT_EQ(run(folder, job, code_of), 0);
  auto const said = read_file(folder / "output/node_0/server.log");
  EXPECT_TRUE(said.starts_with("listening=1 ")) << said;
}

// Where runs have names, clocks do not matter: a trainer with nothing to do may end before the server has begun.
TEST(Node, MarksAreOfOneRun) {
  TempFolder folder;
  auto job = job_in(folder, "exec sleep 1000", {server});
  job.plan.trainers = 2;
  job.plan.marks = {"run 2"};
  for (int trainer_id : {0, 1}) {
    fs::create_directories(folder / concat("output/node_", trainer_id));
    write_file(finished_path(job.output, static_cast<std::size_t>(trainer_id)), "run 2\n");
    fs::last_write_time(finished_path(job.output, static_cast<std::size_t>(trainer_id)),
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  EXPECT_EQ(run(folder, job, code_of), 0);
  write_file(finished_path(job.output, 1), "run 1\n");
  fs::last_write_time(finished_path(job.output, 1), fs::file_time_type::clock::now() - std::chrono::hours(1));
  job.limits.timeout = std::chrono::milliseconds(1200);
  EXPECT_EQ(run(folder, job, code_of), 124) << "trainer 1 has finished in an earlier run only";
}
