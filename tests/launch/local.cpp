#include <prdist/launch/local.hpp>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <sstream>

#include "support.hpp"

using namespace prdist;
using launch_test::has;
using launch_test::Mailbox;
using launch_test::Prrun;
using launch_test::run_prrun;
using launch_test::shell;
using launch_test::TempFolder;
using std::chrono::milliseconds;

namespace {

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
