#include <prdist/launch/local.hpp>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "support.hpp"

using namespace prdist;
using launch_test::Mailbox;
using launch_test::Prrun;
using launch_test::run_prrun;
using launch_test::TempFolder;
using std::chrono::milliseconds;
using testing::TestWithParam;

namespace {

std::vector<std::string> shell(std::vector<std::string> flags, std::string const& script) {
  flags.insert(flags.end(), {"--", "sh", "-c", script});
  return flags;
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

std::map<std::string, std::string> variables_in(std::string const& text) {
  std::map<std::string, std::string> variables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (auto const equals = line.find('='); equals != std::string::npos) {
      variables[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  return variables;
}

bool all_gone(std::vector<pid_t> const& pids, milliseconds time = launch_test::patience) {
  for (auto const pid : pids) {
    if (!launch_test::gone_within(pid, time)) return false;
  }
  return true;
}

/// Every member says the pids of a grandchild in a session of its own, of one beside it and of itself, and waits.
std::string const three_pids_each =
    R"(setsid sleep 1000 & echo $! >box; sleep 1000 & echo $! >box; echo $$ >box; wait)";

}  // namespace

TEST(LocalPlan, HoldsAPortForEveryEndpoint) {
  LocalJob job;
  job.servers = 2;
  job.trainers = 3;
  auto const local = plan_local(job).value();
  EXPECT_EQ(local.plan.servers.size(), 2U);
  EXPECT_EQ(local.plan.trainers.size(), 3U);
  EXPECT_EQ(local.servers.size() + local.others.size(), 6U);
  std::set<std::string> endpoints{to_string(local.plan.gloo)};
  for (auto const& member : members_of(local.plan)) endpoints.insert(to_string(endpoint_of(local.plan, member)));
  EXPECT_EQ(endpoints.size(), 6U);
  EXPECT_EQ(local.plan.pod_name.size(), 6U);
  EXPECT_EQ(local.plan.pod_name.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), std::string::npos);
}

TEST(LocalJob, GivesEachMemberItsEnvironment) {
  Prrun prrun(
      {"--server_num", "2", "--trainer_num", "2", "--", "env"},
      {{"http_proxy", "http://localhost:1"}, {"HTTPS_PROXY", "x"}, {"MINE", "kept"}, {"PADDLE_TRAINER_ID", "9"}});
  ASSERT_EQ(prrun.finish().code(), 0);
  std::map<std::string, std::string> first;
  for (std::string const name : {"serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"}) {
    auto const variables = variables_in(prrun.log(name));
    bool const server = name.starts_with("server");
    auto const index = name.substr(name.size() - 1);
    EXPECT_EQ(variables.at("MINE"), "kept");
    EXPECT_FALSE(variables.contains("http_proxy") || variables.contains("HTTPS_PROXY"));
    EXPECT_EQ(variables.at("TRAINING_ROLE"), server ? "PSERVER" : "TRAINER");
    EXPECT_EQ(variables.at("PADDLE_ROLE"), server ? "PSERVER" : "TRAINER");
    EXPECT_EQ(variables.at("PADDLE_TRAINERS_NUM"), "2");
    EXPECT_EQ(variables.at(server ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID"), index);
    EXPECT_FALSE(variables.contains(server ? "PADDLE_TRAINER_ID" : "PADDLE_PSERVER_ID"));
    EXPECT_EQ(variables.contains("PRDIST_LISTEN_FD"), server);
    EXPECT_EQ(variables.contains("PRDIST_PROGRESS"), !server);
    // Paddle finds a member's index by its endpoint's place in the list.
    auto const own = variables.at("POD_IP") + ":" + variables.at("PADDLE_PORT");
    auto const list = variables.at(server ? "PADDLE_PSERVERS_IP_PORT_LIST" : "PADDLE_TRAINER_ENDPOINTS");
    auto const comma = list.find(',');
    EXPECT_EQ(own, index == "0" ? list.substr(0, comma) : list.substr(comma + 1));
    if (first.empty()) first = variables;
    for (auto const* same : {"PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINER_ENDPOINTS", "POD_NAME"}) {
      EXPECT_EQ(variables.at(same), first.at(same));
    }
  }
}

TEST(LocalJob, PassesArgumentsUnchanged) {
  Prrun prrun({"printf", "<%s>", "a b", "", "line\nline", "$HOME;`x`\"'\\", "--server_num", "--"});
  ASSERT_EQ(prrun.finish().code(), 0);
  EXPECT_EQ(prrun.log("workerlog.0"), "<a b><><line\nline><$HOME;`x`\"'\\><--server_num><-->");
}

TEST(LocalJob, PutsBothStreamsInOneLogAndMirrorsTrainer0) {
  Prrun prrun(shell({"--trainer_num", "2"}, "echo out $PADDLE_TRAINER_ID; echo error >&2; printf unfinished"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0);
  EXPECT_EQ(prrun.log("workerlog.1"), "out 1\nerror\nunfinished");
  EXPECT_EQ(prrun.log("serverlog.0"), "out\nerror\nunfinished");
  EXPECT_EQ(finished.out, "[trainer 0] out 0\n[trainer 0] error\n[trainer 0] unfinished\n");
  EXPECT_FALSE(has(finished.error, "error\n"));
}

TEST(LocalJob, HandsServersASocketThatListensBeforeTheyRun) {
  Prrun prrun({"--server_num", "2", "--trainer_num", "2", "--", PROBE_PATH});
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_TRUE(has(prrun.log("serverlog.0"), "listening=1 port=")) << prrun.log("serverlog.0");
  EXPECT_EQ(prrun.log("workerlog.1"), "hello from server 0\nhello from server 1\n");
  EXPECT_TRUE(has(finished.error, "Progress: 100% 2,000/2,000 examples, loss 0.2500\n")) << finished.error;
}

// Behind a shell the program's file is not seen; the socket then comes bound and the server listens itself.
TEST(LocalJob, HandsASocketThroughAWrapper) {
  Prrun prrun({"sh", "-c",
               "if [ $TRAINING_ROLE = PSERVER ]; then exec \"$0\"; fi\n"
               "for i in $(seq 200); do \"$0\" && exit 0; sleep 0.02; done; exit 1",
               PROBE_PATH});
  EXPECT_EQ(prrun.finish().code(), 0);
  EXPECT_TRUE(has(prrun.log("serverlog.0"), "listening=0 port="));
  EXPECT_TRUE(has(prrun.log("workerlog.0"), "hello from server 0\n"));
}

TEST(LocalJob, LetsAForeignServerBindItsPortItself) {
  Prrun prrun({FOREIGN_PATH});
  EXPECT_EQ(prrun.finish().code(), 0);
  EXPECT_EQ(prrun.log("workerlog.0"), "hello\n");
}

TEST(LocalJob, LetsAPythonServerBindItsPortItself) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  Prrun prrun({"/usr/bin/python3", "-c", R"(
import os, socketserver, socket, time
if os.environ["TRAINING_ROLE"] == "PSERVER":
    class Hello(socketserver.BaseRequestHandler):
        def handle(self): self.request.sendall(b"hello from python")
    class Server(socketserver.TCPServer): allow_reuse_address = True
    Server((os.environ["POD_IP"], int(os.environ["PADDLE_PORT"])), Hello).handle_request()
else:
    host, port = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(":")
    for i in range(400):
        try: print(socket.create_connection((host, int(port))).recv(64).decode()); break
        except OSError: time.sleep(0.02)
    else: raise SystemExit("no answer")
)"});
  EXPECT_EQ(prrun.finish().code(), 0);
  EXPECT_EQ(prrun.log("workerlog.0"), "hello from python\n");
}

TEST(LocalJob, TellsAServerWithoutReuseaddrOfTheFlagThatFreesThePort) {
  auto const refused = run_prrun({FOREIGN_PATH, "plain"});
  EXPECT_EQ(refused.code(), 9);
  EXPECT_TRUE(has(refused.error, "  | bind: Address already in use\n")) << refused.error;
  EXPECT_TRUE(has(refused.error, "needs --no-listen-fd")) << refused.error;
  EXPECT_EQ(run_prrun({"--no-listen-fd", FOREIGN_PATH, "plain"}).code(), 0);
}

// A copy of the socket in the launcher would take connections that nobody ever answers.
TEST(LocalJob, ADeadServersPortRefusesConnections) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, {PROBE_PATH, "leave", (folder / "box").string()});
  std::string server;
  for (auto const& word : {box.next(), box.next()}) server = word == "trainer" ? server : word;
  // The trainer has started, and so the launcher has let go of the server's socket.
  pid_t pid = 0;
  std::uint16_t port = 0;
  ASSERT_TRUE(parse_number(server.substr(0, server.find(' ')), pid)) << server;
  ASSERT_TRUE(parse_number(server.substr(server.find(' ') + 1), port)) << server;
  ::kill(pid, SIGUSR1);
  ASSERT_TRUE(launch_test::gone_within(pid));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  Descriptor const socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_NE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
  prrun.signal(SIGINT);
  EXPECT_EQ(prrun.finish().code(), 130);
}

TEST(LocalJob, ServersThatNeverEndAreEndedAfterSuccess) {
  auto const finished = run_prrun(
      shell({"--server_num", "2", "--server_grace", "0.1"}, "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000"));
  EXPECT_EQ(finished.code(), 0);
  EXPECT_TRUE(has(finished.error, "SIGTERM, stopped")) << finished.error;
  EXPECT_TRUE(has(finished.error, " Pod completed\n"));
  EXPECT_TRUE(has(finished.error, " Exit code 0\n"));
  EXPECT_LT(finished.seconds, 8);
}

TEST(LocalJob, ServersHaveTheirGraceToEndByThemselves) {
  auto const finished = run_prrun(shell({}, "[ $TRAINING_ROLE = TRAINER ] || sleep 0.3"));
  EXPECT_EQ(finished.code(), 0);
  EXPECT_FALSE(has(finished.error, "stopped")) << finished.error;
}

TEST(LocalJob, ExitsWithTheFirstFailuresCodeAndShowsItsLog) {
  auto const finished = run_prrun(shell({"--server_num", "2", "--trainer_num", "2"},
                                        R"(trap 'exit 5' TERM
    if [ "$PADDLE_TRAINER_ID" = 1 ]; then for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; exit 7; fi
    while :; do sleep 0.02; done)"));
  EXPECT_EQ(finished.code(), 7);
  EXPECT_TRUE(has(finished.error, "trainer 1 ended with exit code 7 after ")) << finished.error;
  EXPECT_TRUE(has(finished.error, "s: see log/workerlog.1\n")) << finished.error;
  EXPECT_TRUE(has(finished.error, "  | line 12\n"));
  EXPECT_TRUE(has(finished.error, "  | line 3\n"));
  EXPECT_FALSE(has(finished.error, "  | line 2\n"));
  EXPECT_TRUE(has(finished.error, "exit 5, stopped"));
  EXPECT_TRUE(has(finished.error, " Pod failed\n"));
  EXPECT_TRUE(has(finished.error, " Exit code 7\n"));
}

TEST(LocalJob, AFailedServerEndsTheJobToo) {
  auto const finished = run_prrun(shell({}, "[ $TRAINING_ROLE = TRAINER ] && exec sleep 1000; exit 3"));
  EXPECT_EQ(finished.code(), 3);
  EXPECT_TRUE(has(finished.error, "server 0 ended with exit code 3 after "));
}

TEST(LocalJob, AKilledTrainerEndsTheJobQuickly) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--server_num", "2", "--trainer_num", "2"},
                            R"(if [ "$PADDLE_TRAINER_ID" = 1 ]; then echo $$ >box; fi; exec sleep 1000)"));
  auto const victim = box.pids(1);
  ASSERT_EQ(victim.size(), 1U);
  auto const before = std::chrono::steady_clock::now();
  ::kill(victim.front(), SIGKILL);
  auto const finished = prrun.finish();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(3));
  EXPECT_EQ(finished.code(), 137);
  EXPECT_TRUE(has(finished.error, "trainer 1 was killed by SIGKILL after ")) << finished.error;
}

TEST(LocalJob, NamesTheSignalThatKilledAMember) {
  auto const finished =
      run_prrun(shell({}, "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000; ulimit -c 0; kill -SEGV $$"));
  EXPECT_EQ(finished.code(), 139);
  EXPECT_TRUE(has(finished.error, "trainer 0 was killed by SIGSEGV after ")) << finished.error;
}

class LocalJobSignal : public TestWithParam<int> {};

TEST_P(LocalJobSignal, EndsEveryProcessEvenInSessionsOfTheirOwn) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--server_num", "2", "--trainer_num", "2"}, three_pids_each));
  auto const pids = box.pids(12);
  ASSERT_EQ(pids.size(), 12U);
  prrun.signal(GetParam());
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 128 + GetParam());
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
  EXPECT_TRUE(has(finished.error, "the job was stopped by " + signal_name(GetParam()))) << finished.error;
}

INSTANTIATE_TEST_SUITE_P(Signals, LocalJobSignal, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT),
                         [](auto const& each) { return signal_name(each.param); });

// Ctrl-C reaches every process of the foreground group; were it heard twice, nobody could save.
TEST(LocalJob, CtrlCOfATerminalCountsOnce) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({}, "trap 'sleep 0.2; exit 9' TERM; echo $PPID >box; while :; do sleep 0.02; done"));
  auto const supervising = box.pids(2);
  ASSERT_EQ(supervising.size(), 2U);
  // Two signals close together look like one, so that the group is asked as well.
  EXPECT_NE(::getpgid(supervising.front()), prrun.pid());
  ASSERT_EQ(::kill(-prrun.pid(), SIGINT), 0);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 130);
  EXPECT_TRUE(has(finished.error, "exit 9, stopped")) << finished.error;
  EXPECT_FALSE(has(finished.error, "SIGKILL,")) << finished.error;
}

TEST(LocalJob, ASecondInterruptKillsAtOnce) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder,
              shell({"--grace", "1000"}, R"(trap 'echo heard >box' TERM; echo $$ >box; while :; do sleep 0.02; done)"));
  auto const pids = box.pids(2);
  prrun.signal(SIGINT);
  EXPECT_EQ(box.next(), "heard");  // SIGTERM has come, and has not ended it
  prrun.signal(SIGINT);
  EXPECT_EQ(prrun.finish().code(), 130);
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
}

TEST(LocalJob, WhatDoesNotHeedSigtermIsKilledAfterTheGrace) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--grace", "0.2"}, R"(trap '' TERM; echo $$ >box; while :; do sleep 0.02; done)"));
  auto const pids = box.pids(2);
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 143);
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
  EXPECT_TRUE(has(finished.error, "SIGKILL, stopped")) << finished.error;
}

TEST(LocalJob, KillingPrrunLeavesNoProcess) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--server_num", "2", "--trainer_num", "2"}, three_pids_each));
  auto const pids = box.pids(12);
  ASSERT_EQ(pids.size(), 12U);
  prrun.signal(SIGKILL);
  EXPECT_EQ(prrun.finish().code(), 137);
  EXPECT_TRUE(all_gone(pids));
}

TEST(LocalJob, ThePassedTimeLimitIs124) {
  auto const finished = run_prrun(shell({"--timeout", "0.2"}, "exec sleep 1000"));
  EXPECT_EQ(finished.code(), 124);
  EXPECT_TRUE(has(finished.error, "the job passed its time limit after ")) << finished.error;
  EXPECT_TRUE(has(finished.error, "(still running: server 0, trainer 0): raise --timeout")) << finished.error;
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
                 echo 'examples=30 total=60 rate=10 loss=0.5' >$PRDIST_PROGRESS; read word <"$0")",
                           (folder / "box").string()},
                          {"PATH=/usr/bin:/bin", "TERM=xterm"},
                          slave.get(),
                          -1})
                       .value();
  std::string text;
  auto const wanted = "50% 30/60 examples, 10 examples/s, loss 0.5000, eta 0:03 | servers 1/1 up, trainers 1/1 up";
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
