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
using launch_test::parent_of;
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

TEST(LocalJob, AKilledServerEndsTheJobQuickly) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder,
              shell({"--server_num", "2", "--trainer_num", "2"},
                    R"(echo $$ >all.$$; if [ "$PADDLE_PSERVER_ID" = 1 ]; then echo $$ >box; fi; exec sleep 1000)"));
  auto const victim = box.pids(1);
  ASSERT_EQ(victim.size(), 1U);
  ::kill(victim.front(), SIGKILL);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 137);
  EXPECT_TRUE(has(finished.error, "server 1 was killed by SIGKILL after ")) << finished.error;
  for (auto const& entry : std::filesystem::directory_iterator(folder.path())) {
    auto const name = entry.path().filename().string();
    pid_t pid = 0;
    if (name.starts_with("all.") && parse_number(name.substr(4), pid)) {
      EXPECT_TRUE(all_gone({pid}, milliseconds(0)));
    }
  }
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
  Prrun prrun(folder, shell({"--server_num", "2", "--trainer_num", "2", "--json", "report.json"}, three_pids_each));
  auto const pids = box.pids(12);
  ASSERT_EQ(pids.size(), 12U);
  std::vector<pid_t> supervising;
  for (auto const pid : pids) {
    if (parent_of(parent_of(parent_of(pid))) == prrun.pid()) supervising.push_back(parent_of(pid));
  }
  ASSERT_FALSE(supervising.empty());
  prrun.signal(SIGKILL);
  EXPECT_EQ(prrun.finish().code(), 137);
  EXPECT_TRUE(all_gone(pids));
  EXPECT_TRUE(all_gone(supervising));  // it writes the report when all others are gone
  auto const said = launch_test::read_file(folder / "stderr");
  EXPECT_TRUE(has(said, "the job was stopped because prrun itself was killed after ")) << said;
  EXPECT_TRUE(has(launch_test::read_file(folder / "report.json"), "because prrun itself was killed"));
}

TEST(LocalJob, KillingTheSupervisingProcessLeavesAReportAndNoProcess) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--server_num", "2", "--json", "report.json"},
                            "if [ \"$PADDLE_PSERVER_ID\" = 1 ]; then exit 0; fi\n"
                            "echo how far; setsid sleep 1000 & echo $PPID >box; echo $! >box; echo $$ >box; wait"));
  auto pids = box.pids(6);
  ASSERT_EQ(pids.size(), 6U);
  auto const worker = std::ranges::find_if(pids, [&](pid_t pid) { return parent_of(parent_of(pid)) == prrun.pid(); });
  ASSERT_NE(worker, pids.end());
  // Server 1 is reaped when it is no child any more, and was noted before that.
  auto const children = [&] {
    return launch_test::read_file(concat("/proc/", *worker, "/task/", *worker, "/children"));
  };
  auto const deadline = std::chrono::steady_clock::now() + launch_test::patience;
  while (std::ranges::count(children(), ' ') != 2 && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 5);
  ::kill(*worker, SIGKILL);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 137);
  EXPECT_TRUE(all_gone(pids, milliseconds(0)));
  for (auto const* const part :
       {"rank  role", "server 0 ", "SIGKILL, stopped", "exit 0", "log/workerlog.0",
        "last lines of log/workerlog.0:\n  | how far\n", "LAUNCH ERROR", "the launcher was killed by SIGKILL after "}) {
    EXPECT_TRUE(has(finished.error, part)) << part << " is not in\n" << finished.error;
  }
  auto const report = launch_test::read_file(folder / "report.json");
  for (auto const* const part :
       {R"("cause":"the launcher was killed by SIGKILL after )", R"("exit_code":137)",
        R"("signal":"SIGKILL","stopped":true)", R"("exit_code":0,"signal":null)", R"("outcome":"interrupted")"}) {
    EXPECT_TRUE(has(report, part)) << part << " is not in\n" << report;
  }
}

// As with pkill -9 prrun, which finds those that are called so.
TEST(LocalJob, KillingAllThatIsCalledPrrunLeavesAReportAndNoProcess) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--json", "report.json"}, three_pids_each));
  auto const pids = box.pids(6);
  ASSERT_EQ(pids.size(), 6U);
  pid_t worker = 0;
  for (auto const pid : pids) {
    if (parent_of(parent_of(parent_of(pid))) == prrun.pid()) worker = parent_of(pid);
  }
  ASSERT_GT(worker, 1);
  auto const between = parent_of(worker);
  EXPECT_EQ(launch_test::read_file(concat("/proc/", worker, "/comm")), "prrun\n");
  EXPECT_EQ(launch_test::read_file(concat("/proc/", between, "/comm")), "prdist-guard\n");
  ::kill(worker, SIGKILL);
  prrun.signal(SIGKILL);
  EXPECT_EQ(prrun.finish().code(), 137);
  EXPECT_TRUE(all_gone(pids));
  EXPECT_TRUE(all_gone({between}));
  EXPECT_TRUE(has(launch_test::read_file(folder / "report.json"), "the launcher was killed by SIGKILL after "));
  EXPECT_TRUE(has(launch_test::read_file(folder / "stderr"), "the launcher was killed by SIGKILL after "));
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

TEST(LocalJob, StartsAFailedJobAgainAsOftenAsIsAsked) {
  Prrun prrun(shell({"--max_restart", "3", "--server_grace", "0", "--json", "report.json"},
                    R"([ $TRAINING_ROLE = PSERVER ] && exec sleep 1000
    echo try >>tries; [ $(wc -l <tries) -lt 3 ] && kill -9 $$; exit 0)"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_EQ(launch_test::read_file(prrun.folder() / "tries"), "try\ntry\ntry\n");
  EXPECT_TRUE(has(finished.error, "LAUNCH WARNING ")) << finished.error;
  EXPECT_TRUE(has(finished.error, "Restart 2 of 3 of the whole job: trainer 0 was killed by SIGKILL after "));
  EXPECT_FALSE(has(finished.error, "Restart 3 of 3"));
  EXPECT_TRUE(has(finished.error, " Restarts 2 of 3\n"));
  EXPECT_TRUE(has(launch_test::read_file(prrun.folder() / "report.json"), "\"restarts\":2,"));
}

TEST(LocalJob, StartsNothingAgainThatCannotSucceedOrWasNotAsked) {
  struct Case {
    std::vector<std::string> flags;
    std::string end;
    int code;
    std::string tries;
  };
  for (auto const& [flags, end, code, tries] :
       std::vector<Case>{{{}, "kill -9 $$", 137, "try\n"},
                         {{"--max_restart", "2"}, "exit 64", 64, "try\n"},
                         {{"--max_restart", "2"}, "exit 78", 78, "try\n"},
                         {{"--max_restart", "2"}, "exit 124", 124, "try\n"},
                         {{"--max_restart", "1"}, "exit 75", 75, "try\ntry\n"}}) {
    Prrun prrun(shell(flags, "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000; echo try >>tries; " + end));
    EXPECT_EQ(prrun.finish().code(), code);
    EXPECT_EQ(launch_test::read_file(prrun.folder() / "tries"), tries) << end;
  }
}

TEST(LocalJob, AnInterruptedJobIsNotStartedAgain) {
  TempFolder folder;
  Mailbox box(folder / "box");
  Prrun prrun(folder, shell({"--max_restart", "5"}, "echo try >>tries; echo $$ >box; exec sleep 1000"));
  ASSERT_EQ(box.pids(2).size(), 2U);
  prrun.signal(SIGTERM);
  EXPECT_EQ(prrun.finish().code(), 143);
  EXPECT_EQ(launch_test::read_file(folder / "tries"), "try\ntry\n");
}

TEST(LocalJob, ACollectiveJobHasTrainersOnly) {
  Prrun prrun(
      shell({"--devices", "6,7"}, "echo $PADDLE_TRAINER_ID $PADDLE_GLOBAL_SIZE $FLAGS_selected_gpus $TRAINING_ROLE"),
      {{"CUDA_VISIBLE_DEVICES", "4,6,7"}, {"TRAINING_ROLE", "PSERVER"}});
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_EQ(prrun.log("workerlog.0"), "0 2 1\n");
  EXPECT_EQ(prrun.log("workerlog.1"), "1 2 2\n");
  EXPECT_FALSE(std::filesystem::exists(prrun.folder() / "log/serverlog.0"));
  EXPECT_TRUE(has(finished.error, "Job: default, mode collective, replicas 1[1:1], elastic False")) << finished.error;
}

TEST(LocalJob, AFailedProcessEndsACollectiveJob) {
  auto const finished =
      run_prrun(shell({"--nproc_per_node", "3"}, "[ $PADDLE_TRAINER_ID = 1 ] && exit 9; exec sleep 1000"));
  EXPECT_EQ(finished.code(), 9);
  EXPECT_TRUE(has(finished.error, "trainer 1 ended with exit code 9 after ")) << finished.error;
}

// Two logical nodes on one machine share one list, and each runs its own host's members. 127.0.0.1 is a prefix of
// 127.0.0.10.
TEST(LocalJob, NodesOfOneListRunTheirOwnMembers) {
  std::vector<std::string> flags{"--with_gloo", "0", "--servers", "", "--trainers", ""};
  std::vector<BoundPort> held;
  for (int const list : {3, 5}) {
    for (auto const* host : {"127.0.0.1", "127.0.0.10"}) {
      held.push_back(bind_endpoint({host, 0}).value());
      flags[static_cast<std::size_t>(list)] +=
          (flags[static_cast<std::size_t>(list)].empty() ? "" : ",") + to_string(held.back().endpoint);
    }
  }
  held.clear();
  for (auto const& [host, index] : {std::pair<std::string, std::string>{"127.0.0.1", "0"}, {"127.0.0.10", "1"}}) {
    auto const& other = index == "0" ? "1" : "0";
    auto own = flags;
    // A server's node goes on while trainers may train on the other; here both members end by themselves.
    Prrun prrun(shell(std::move(own), "echo $TRAINING_ROLE $POD_IP $PADDLE_NNODES $PADDLE_TRAINERS_NUM"),
                {{"POD_IP", host}});
    EXPECT_EQ(prrun.finish().code(), 0);
    EXPECT_EQ(prrun.log("serverlog." + index), concat("PSERVER ", host, " 2 2\n"));
    EXPECT_EQ(prrun.log("workerlog." + index), concat("TRAINER ", host, " 2 2\n"));
    EXPECT_FALSE(std::filesystem::exists(prrun.folder() / ("log/serverlog." + std::string(other))));
    EXPECT_FALSE(std::filesystem::exists(prrun.folder() / ("log/workerlog." + std::string(other))));
  }
}

// A node without trainers must not take that for their having finished.
TEST(LocalJob, ServersWaitForTrainersOfOtherNodes) {
  TempFolder folder;
  Mailbox box(folder / "box");
  ASSERT_EQ(::mkfifo((folder / "go").c_str(), 0600), 0);
  auto const port = bind_loopback().value().endpoint.port;
  Prrun prrun(folder, shell({"--with_gloo", "0", "--server_grace", "0", "--servers", concat("127.0.0.1:", port),
                             "--trainers", "203.0.113.1:1"},
                            "echo $$ >box; read word <go; echo served"));
  auto const server = box.pids(1);
  ASSERT_EQ(server.size(), 1U);
  EXPECT_FALSE(launch_test::gone_within(server.front(), milliseconds(500)));
  launch_test::write_file(folder / "go", "go\n");
  EXPECT_EQ(prrun.finish().code(), 0);
  EXPECT_EQ(prrun.log("serverlog.0"), "served\n");
}

TEST(LocalJob, SpeaksIpv6) {
  if (!bind_endpoint({"::1", 0})) GTEST_SKIP() << "this machine has no ::1";
  Prrun prrun(shell({"--host", "::1"}, "echo $POD_IP $PADDLE_PSERVERS_IP_PORT_LIST"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_TRUE(prrun.log("workerlog.0").starts_with("::1 [::1]:")) << prrun.log("workerlog.0");
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
