// Whole jobs as threads against servers that nobody told who they are, on one port and on several.
#include <prdist/fleet/standalone_server.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include <prdist/fleet/fleet.hpp>
#include <prdist/strategy/sync.hpp>
#include <prdist/transport/memory.hpp>

#include "../support/any_transport.hpp"
#include "../support/caught_log.hpp"
#include "../support/cluster.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

struct Outcome {
  std::vector<int> codes;
  std::vector<float> rows;
  std::vector<float> weights;
};

/// Two servers and two workers who push ten steps, gathered or not; what the rows are in the end.
Outcome train(PortLayout const& ports, ApplyRule apply) {
  Memory const memory(std::make_shared<MemoryHub>());
  std::vector<std::unique_ptr<StandaloneServer<Memory>>> servers;
  std::vector<Endpoint> endpoints;
  for (auto const* const host : {"s0", "s1"}) {
    StandaloneOptions options;
    options.port = 100;
    options.ports = ports;
    options.addresses = {host};
    options.trainers = 2;
    servers.push_back(std::make_unique<StandaloneServer<Memory>>(options, quick_options(), memory));
    servers.back()->listen();
    endpoints.push_back({host, 100});
  }
  Outcome outcome;
  std::vector<std::future<int>> running;
  for (auto& server : servers) running.push_back(std::async(std::launch::async, [&] { return server->run(); }));
  auto const work = [&](std::uint32_t index) {
    Fleet<Transport<Memory>> fleet{Roles{Role::worker, index, endpoints, 2, -1, {}, ports}, memory, quick_options()};
    fleet.init_worker();
    auto& client = fleet.client();
    std::vector<SparseRef> tables;
    for (auto const* const name : {"a", "b", "c"}) {
      tables.push_back(
          client.declare(SparseSpec{.name = name, .dim = 3, .optimizer = Sgd{.rate = 0.5F}, .apply = apply}));
    }
    auto const dense = client.declare(
        DenseSpec{.name = "d", .parts = {{"w", 40000, {}}}, .optimizer = Sgd{.rate = 0.5F}, .apply = apply});
    std::vector<Key> keys(500);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i + 100 * index;
    std::vector<float> gradients(keys.size() * 3), slope(40000, 0.25F + static_cast<float>(index));
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(i % 7) - 3;
    std::vector<Handle> pushes;
    for (int step = 0; step < 10; ++step) {
      for (auto const& table : tables) pushes.push_back(client.push(table, keys, gradients));
      pushes.push_back(client.push(dense, slope));
      if (apply == ApplyRule::gather) pushes.clear();  // waits
    }
    // Not waited for: on the same port a pull comes behind the pushes.
    std::vector<float> own(keys.size() * 3);
    client.pull(tables[1], keys, own).wait();
    pushes.clear();
    fleet.barrier();
    if (index == 0) {
      outcome.rows.resize(600 * 3);
      outcome.weights.resize(40000);
      std::vector<Key> all(600);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
      client.pull(tables[2], all, outcome.rows).wait();
      client.pull(dense, outcome.weights).wait();
      if (apply == ApplyRule::gather) {
        client.pull(tables[1], keys, own).wait();
        EXPECT_TRUE(std::equal(own.begin(), own.end(), outcome.rows.begin()));
      }
    }
    fleet.barrier("read");
    fleet.stop_worker();
  };
  std::vector<std::future<void>> workers;
  for (std::uint32_t i = 0; i < 2; ++i) workers.push_back(std::async(std::launch::async, [&, i] { work(i); }));
  for (auto& worker : workers) worker.get();
  for (auto& each : running) outcome.codes.push_back(each.get());
  return outcome;
}

TEST(StandaloneServer, TheNumberOfPortsChangesNoWeight) {
  for (auto const apply : {ApplyRule::immediate, ApplyRule::gather}) {
    auto const one = train({1, 0}, apply);
    EXPECT_EQ(one.codes, (std::vector<int>{0, 0}));
    for (auto const& ports : {PortLayout{1, 1}, PortLayout{2, 2}, PortLayout{3, 0}}) {
      auto const several = train(ports, apply);
      EXPECT_EQ(several.codes, (std::vector<int>{0, 0})) << to_string(ports);
      EXPECT_EQ(several.rows, one.rows) << to_string(ports);
      EXPECT_EQ(several.weights, one.weights) << to_string(ports);
    }
  }
}

TEST(StandaloneServer, SaysAtTheEndThatRowsCameByTheSparsePorts) {
  CaughtLog const log;
  (void)train({2, 2}, ApplyRule::immediate);
  int dense = 0, sparse = 0;
  for (auto const& line : log.lines()) {
    if (line.find("requests") == std::string::npos) continue;
    bool const rows = line.find(" for sparse parameters") != std::string::npos;
    EXPECT_TRUE(holds(line, rows ? " 0 dense" : " 0 sparse"));
    EXPECT_EQ(line.find(rows ? " 0 sparse" : " 0 dense"), std::string::npos) << "every port is used: " << line;
    ++(rows ? sparse : dense);
  }
  EXPECT_EQ(dense, 4);
  EXPECT_EQ(sparse, 4);
}

TEST(StandaloneServer, APortInUseIsNamedWithAllThatAreNeeded) {
  auto const [taken, descriptor] = listening_socket();
  StandaloneOptions options;
  options.port = static_cast<std::uint16_t>(taken.port - 1);
  options.ports = {1, 1};
  options.addresses = {"127.0.0.1"};
  StandaloneServer<> server(options, quick_options());
  auto const error = thrown([&] { server.listen(); });
  ::close(descriptor);
  EXPECT_EQ(error.code(), Errc::transport_in_use);
  EXPECT_EQ(exit_code(error.code()), 78);
  EXPECT_EQ(error.message(),
            concat("server: 127.0.0.1:", taken.port, " is in use by another process, and ports ", options.port, " to ",
                   taken.port, " are needed: choose another --port or end that process"));
  EXPECT_TRUE(holds(thrown([&] { (void)server.run(); }).what(), "run() before listen()"));
}

TEST(StandaloneServer, PortsBeyondTheLastAreRefused) {
  StandaloneOptions options;
  options.port = 65535;
  EXPECT_EQ(thrown([&] { StandaloneServer<> const server(options, quick_options()); }).message(),
            "port 65535 and 1 dense and 1 sparse ports go beyond 65535: begin lower with --port");
}

}  // namespace
}  // namespace prdist::test
