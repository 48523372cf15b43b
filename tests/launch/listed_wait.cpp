#include <prdist/launch/listed_wait.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <prdist/launch/ports.hpp>

#include "support.hpp"

using launch_test::has;
using launch_test::run_prrun;
using prdist::concat;

namespace {

/// A node of two that runs server 0, which never ends, and as many of two trainers as `hosts` says.
launch_test::Finished node(std::vector<std::string> const& hosts, std::string const& wait) {
  auto const server = prdist::bind_loopback().value();
  // Held, so that nobody else takes them; the launcher may bind them all the same.
  std::vector<prdist::BoundPort> held;
  std::string trainers;
  for (auto const& host : hosts) {
    held.push_back(prdist::bind_endpoint({host, 0}).value());
    trainers += concat(trainers.empty() ? "" : ",", to_string(held.back().endpoint));
  }
  auto const endpoint = to_string(server.endpoint);
  return run_prrun({"--servers", endpoint, "--trainers", trainers, "--host", "127.0.0.1", "--with_gloo", "0", "--wait",
                    wait, "--server_grace", "0.1", "--", "sh", "-c",
                    "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000"});
}

}  // namespace

TEST(ListedWait, ServersOfAForeignProgramDoNotWaitForEver) {
  auto const finished = node({"127.0.0.1", "127.0.0.2"}, "1");
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_TRUE(has(finished.error,
                  "Servers here wait for trainer 1 on 127.0.0.2; they end when nobody is connected for "
                  "1 s (--wait)"))
      << finished.error;
}

TEST(ListedWait, TrainersThatNeverComeAre75AndNamed) {
  auto const finished = node({"127.0.0.2", "127.0.0.3"}, "1");
  EXPECT_EQ(finished.code(), 75) << finished.error;
  EXPECT_TRUE(has(finished.error,
                  "no trainer has connected to the servers here within 1 s, of trainer 0 on 127.0.0.2, "
                  "trainer 1 on 127.0.0.3: start their nodes, or wait longer with --wait"))
      << finished.error;
}

// A listener stands for the server here, whose port the launcher knows; whoever is connected to it keeps it.
TEST(ListedWait, WhoIsConnectedIsWaitedFor) {
  auto const code = launch_test::in_child([] {
    using namespace prdist;
    auto const held = hold_signals();
    adopt_orphans();
    auto port = bind_loopback().value();
    if (!start_listening(port)) return 1;
    LaunchPlan plan;
    plan.servers = {port.endpoint};
    plan.trainers = {{"127.0.0.2", 2}};
    plan.here = {{JobRole::server, 0}};
    auto const pid = spawn({"/bin/sleep", {"1000"}, {}, STDERR_FILENO, -1}).value();
    EndingLimits limits{std::chrono::milliseconds(0), std::chrono::milliseconds(0), {}};
    Supervisor supervisor({{{JobRole::server, 0}, pid, {}, 0, false, ""}}, limits, held);
    supervisor.trainers_elsewhere(true);
    std::string said;
    ListedWait wait(plan, std::chrono::seconds(10), [&](auto, auto text) { said = text; });
    auto const start = ListedWait::Clock::now();
    Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port.endpoint.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(client.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) return 2;
    for (int i = 0; i < 5; ++i) wait.look(supervisor, start + std::chrono::seconds(9 * i));
    if (said != "Servers here serve others: trainer 0 on 127.0.0.2") return 3;
    (void)supervisor.step(std::chrono::milliseconds(0));
    if (supervisor.rules().ending()) return 4;
    client.reset();
    for (int i = 5; i < 8; ++i) wait.look(supervisor, start + std::chrono::seconds(9 * i));
    while (supervisor.step(std::chrono::milliseconds(20))) {
    }
    return supervisor.report().exit_code;
  });
  EXPECT_EQ(code, 0);
}
