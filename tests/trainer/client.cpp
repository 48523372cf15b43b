// A client against servers that do not do what they should.
#include <prdist/trainer/client.hpp>

#include <gtest/gtest.h>

#include <prdist/core/stop_signal.hpp>
#include <prdist/transport/memory.hpp>
#include <prdist/wire/hello.hpp>
#include <prdist/wire/work_state.hpp>

#include <functional>

#include "../support/recorder.hpp"

namespace prdist::test {
namespace {

/// Answers every request by a rule of the test's.
class FakeServer {
 public:
  using Rule = std::function<void(Connection&, Header, std::vector<std::byte> const&)>;

  explicit FakeServer(Memory memory, Endpoint const& endpoint) {
    listener_ = memory
                    .listen({.endpoint = endpoint, .pages = {}},
                            [this](std::shared_ptr<Connection> const& connection) {
                              auto sink = std::make_shared<Recorder>();
                              sink->on_each = [this, weak = std::weak_ptr(connection)](Recorder::Frame const& frame) {
                                auto const alive = weak.lock();
                                if (!alive) return;
                                auto const kind = frame.header.kind;
                                if (kind == Kind::hello || kind == Kind::declare || kind == Kind::leave) {
                                  reply(*alive, frame.header, {});
                                } else if (rule) {
                                  rule(*alive, frame.header, frame.payload);
                                }
                              };
                              return sink;
                            })
                    .value();
  }

  static void reply(Connection& connection, Header header, std::vector<std::byte> payload, Kind kind = Kind::reply) {
    header.kind = kind;
    auto const keep = std::make_shared<std::vector<std::byte>>(std::move(payload));
    Outgoing frame{header, {}, keep};
    if (!keep->empty()) frame.pieces.push_back(*keep);
    connection.send(std::move(frame));
  }

  Rule rule;

 private:
  std::unique_ptr<Listener> listener_;
};

class ClientByHand : public ::testing::Test {
 protected:
  SystemRuntime runtime;
  Memory memory{std::make_shared<MemoryHub>()};
  FakeServer zero{memory, {"s", 1}};
  FakeServer one{memory, {"s", 2}};
  std::optional<Client> client;
  SparseRef table;
  std::vector<Key> keys = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> rows = std::vector<float>(8);

  void connect(std::size_t servers, Duration deadline, Duration wait_for_disk = std::chrono::minutes(10)) {
    ClientOptions options;
    options.servers.assign({{"s", 1}, {"s", 2}});
    options.servers.resize(servers);
    options.deadline = deadline;
    options.wait_for_disk = wait_for_disk;
    client.emplace(
        runtime,
        [this](Endpoint const& endpoint, std::shared_ptr<FrameSink> sink, Duration timeout) {
          return memory.connect(endpoint, std::move(sink), timeout);
        },
        options);
    client->connect();
    table = client->declare(SparseSpec{.name = "t", .dim = 1});
  }

  std::string pull_error() {
    try {
      client->pull(table, keys, rows).wait();
      return "";
    } catch (Error const& error) {
      return error.what();
    }
  }
};

bool holds(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ClientByHand, AServerThatDoesNotAnswerIsNamedAtTheDeadline) {
  connect(2, std::chrono::milliseconds(100));
  one.rule = [](Connection& connection, Header const& header, std::vector<std::byte> const& payload) {
    FakeServer::reply(connection, header, std::vector<std::byte>(payload.size() / 2));
  };
  auto const said = pull_error();
  EXPECT_TRUE(holds(said, "prdist[job.deadline] a pull of 8 keys of table 't' has no answer after 0.1 s")) << said;
  EXPECT_TRUE(holds(said, "worker 0 -> server 0 at s:1")) << said;
  EXPECT_FALSE(holds(said, "server 1")) << said;
  // The connection cannot be trusted any more: later calls fail at once, not at their deadline.
  auto const again = pull_error();
  EXPECT_TRUE(holds(again, "worker 0 -> server 0")) << again;
}

TEST_F(ClientByHand, ADiskThatIsSlowerThanACallMayBeIsWaitedFor) {
  auto const work = [&](bool waits_for_disk, int looks) {
    return [waits_for_disk, looks, seen = 0](Connection& connection, Header const& header,
                                             std::vector<std::byte> const&) mutable {
      WorkState state{"server 0: its part", ++seen > looks, 7};
      state.waits_for_disk = waits_for_disk && !state.done;
      if (state.done) state.result = "{}";
      auto const text = to_json(state);
      auto const bytes = std::as_bytes(std::span(text));
      FakeServer::reply(connection, header, {bytes.begin(), bytes.end()});
    };
  };
  auto const said = [&] {
    try {
      return client->wait_for_work().at(0);
    } catch (Error const& error) {
      return std::string(error.what());
    }
  };
  // Ten looks take most of a second: longer than the deadline, and not nearly as long as the disk may take.
  connect(1, std::chrono::milliseconds(100));
  zero.rule = work(true, 10);
  EXPECT_EQ(said(), "{}");
  zero.rule = work(false, 10);
  EXPECT_TRUE(holds(said(), "prdist[job.deadline] server 0: its part has not moved for 0.1 s, at 7 rows"));
  connect(1, std::chrono::milliseconds(100), std::chrono::milliseconds(200));
  zero.rule = work(true, 1000);
  EXPECT_EQ(said(),
            "prdist[job.deadline] server 0: its part, the disk has not taken its 7 rows within 0.2 s: look at the "
            "server's disk and log; a longer PRDIST_WAIT_DISK waits longer");
}

TEST_F(ClientByHand, AnAnswerOfAnotherSizeEndsTheConnection) {
  connect(1, std::chrono::seconds(20));
  zero.rule = [](Connection& connection, Header const& header, std::vector<std::byte> const&) {
    FakeServer::reply(connection, header, std::vector<std::byte>(31));
  };
  EXPECT_TRUE(holds(pull_error(), "answered 31 bytes where 32 were asked for"));
}

TEST_F(ClientByHand, AnAnswerNobodyAskedForEndsTheConnection) {
  connect(1, std::chrono::seconds(20));
  zero.rule = [](Connection& connection, Header header, std::vector<std::byte> const&) {
    header.request += 1000;
    FakeServer::reply(connection, header, {});
  };
  EXPECT_TRUE(holds(pull_error(), "answered a request that was not sent"));
}

TEST_F(ClientByHand, AFailureArrivesAsTheServerSaidIt) {
  connect(2, std::chrono::seconds(20));
  auto const fail = [](Connection& connection, Header const& header, std::vector<std::byte> const&) {
    FakeServer::reply(connection, header, encode_failure(Error(Errc::table_memory, "server 1: full")), Kind::failure);
  };
  zero.rule = one.rule = fail;
  EXPECT_EQ(pull_error(), "prdist[table.memory] server 1: full");
}

TEST_F(ClientByHand, AHandleThatIsDroppedWaitsSoThatMemoryStaysSafe) {
  connect(1, std::chrono::milliseconds(50));
  {
    std::vector<float> gone(8);
    auto const handle = client->pull(table, keys, gone);
    EXPECT_FALSE(handle.ready());
  }
  // The destructor has waited for the deadline and closed the connection: nothing writes into `gone` any more.
  EXPECT_TRUE(holds(pull_error(), "has no answer after"));
}

TEST_F(ClientByHand, CallsWithoutAConnectionSaySo) {
  ClientOptions options;
  options.servers = {{"s", 1}};
  client.emplace(
      runtime, [](auto const&...) -> Result<std::shared_ptr<Connection>> { return Error(Errc::internal, "never"); },
      options);
  table = {1, 1, "t"};
  EXPECT_TRUE(holds(pull_error(), "prdist[job.state] worker 0 -> server 0 at s:1: there is no connection"))
      << pull_error();
  table = {};
  EXPECT_TRUE(holds(pull_error(), "prdist[table.unknown] a table that declare() did not give"));
}

/// Calls back in the middle of close(), as another thread may.
class Closing final : public Connection {
 public:
  Closing(std::shared_ptr<Connection> real, std::function<void()> in_between)
      : real_(std::move(real)), in_between_(std::move(in_between)) {}
  void send(Outgoing frame) override { real_->send(std::move(frame)); }
  void close() override {
    in_between_();
    real_->close();
  }
  void finish() override { real_->finish(); }
  void abort() override { real_->abort(); }
  std::string peer() const override { return real_->peer(); }

 private:
  std::shared_ptr<Connection> real_;
  std::function<void()> in_between_;
};

TEST_F(ClientByHand, WhoSendsWhileTheConnectionEndsIsToldWhy) {
  std::string said;
  ClientOptions options;
  options.servers = {{"s", 1}};
  options.deadline = std::chrono::milliseconds(50);
  client.emplace(
      runtime,
      [&](Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
          Duration timeout) -> Result<std::shared_ptr<Connection>> {
        auto real = memory.connect(endpoint, std::move(sink), timeout).value();
        return std::shared_ptr<Connection>(std::make_shared<Closing>(std::move(real), [&] { said = pull_error(); }));
      },
      options);
  client->connect();
  table = client->declare(SparseSpec{.name = "t", .dim = 1});
  EXPECT_TRUE(holds(pull_error(), "has no answer after 0.05 s"));
  EXPECT_TRUE(holds(said, "worker 0 -> server 0 at s:1")) << said;
}

TEST_F(ClientByHand, AServerThatDropsTheFirstConnectionIsAskedAgain) {
  int dropped = 0;
  ClientOptions options;
  options.servers = {{"s", 1}};
  options.retry_every = std::chrono::milliseconds(1);
  client.emplace(
      runtime,
      [&](Endpoint const& endpoint, std::shared_ptr<FrameSink> sink,
          Duration timeout) -> Result<std::shared_ptr<Connection>> {
        auto connection = memory.connect(endpoint, sink, timeout).value();
        // The end comes before the client knows of the connection: it must not be forgotten.
        if (++dropped <= 2) sink->on_close(Error(Errc::transport_closed, "the peer closed the connection"));
        return connection;
      },
      options);
  client->connect();
  EXPECT_EQ(dropped, 3);
  client->leave();
}

TEST_F(ClientByHand, TheWaitForServersIsAsLongAsWasSaid) {
  std::vector<Duration> patience;
  ClientOptions options;
  options.servers.assign(4, {"s", 9});
  options.wait_for_servers = std::chrono::milliseconds(300);
  options.retry_every = std::chrono::milliseconds(200);
  client.emplace(
      runtime,
      [&](Endpoint const& endpoint, std::shared_ptr<FrameSink> const&,
          Duration timeout) -> Result<std::shared_ptr<Connection>> {
        patience.push_back(timeout);
        return Error(Errc::transport_refused, to_string(endpoint), ": nobody");
      },
      options);
  auto const begun = runtime.now();
  EXPECT_THROW(client->connect(), Error);
  EXPECT_GE(runtime.now() - begun, options.wait_for_servers);
  ASSERT_EQ(patience.size(), 12U) << "at once, after 200 ms, and a last time at the end";
  for (auto const each : patience) EXPECT_LE(each, options.wait_for_servers);
  EXPECT_EQ(patience.back(), std::chrono::milliseconds(50));
}

TEST_F(ClientByHand, AskedToStopItWaitsForNoServer) {
  StopSignal const signal;
  ::raise(SIGTERM);
  ClientOptions options;
  options.servers.assign(2, {"s", 9});
  client.emplace(
      runtime,
      [](Endpoint const& endpoint, std::shared_ptr<FrameSink> const&, Duration) -> Result<std::shared_ptr<Connection>> {
        return Error(Errc::transport_refused, to_string(endpoint), ": nobody");
      },
      options);
  try {
    client->connect();
    ADD_FAILURE() << "there is nobody";
  } catch (Error const& error) {
    EXPECT_STREQ(error.what(),
                 "prdist[job.stopped] worker 0: asked to stop while it waited for 2 of 2 servers: nothing "
                 "was trained");
  }
}

// It may be waiting for the others, with no batch left to ask between.
TEST_F(ClientByHand, AskedToStopItSaysSoToEveryServer) {
  StopSignal const signal;
  Gate zero_knows, one_knows;
  auto const telling = [](Gate& gate) {
    return [&gate](Connection& connection, Header const& header, std::vector<std::byte> const&) {
      if (header.kind == Kind::ping && (header.flags & flag_stop) != 0) gate.open();
      FakeServer::reply(connection, header, {});
    };
  };
  zero.rule = telling(zero_knows);
  one.rule = telling(one_knows);
  connect(2, std::chrono::seconds(20));
  ::raise(SIGTERM);
  auto const soon = runtime.now() + std::chrono::seconds(20);
  EXPECT_TRUE(runtime.wait(zero_knows, soon));
  EXPECT_TRUE(runtime.wait(one_knows, soon));
  client->leave();
}

TEST_F(ClientByHand, AfterLeavingEveryCallSaysSo) {
  connect(1, std::chrono::seconds(20));
  client->leave();
  EXPECT_TRUE(holds(pull_error(), "prdist[job.state] worker 0: a pull of 8 keys of table 't' after leaving the job"));
  client->leave();  // twice is once
}

/// Servers of several ports: what comes by which of them.
class ClientOfManyPorts : public ::testing::Test {
 protected:
  struct Heard {
    std::uint16_t port;
    Kind kind;
    TableId table;
  };

  void connect(PortLayout const& ports, std::uint32_t trainer = 0) {
    for (std::uint16_t port = 1; port <= ports.total(); ++port) {
      listeners.push_back(memory
                              .listen({.endpoint = {"s", port}, .pages = {}},
                                      [this, port](std::shared_ptr<Connection> const& connection) {
                                        auto sink = std::make_shared<Recorder>();
                                        sink->on_each = [this, port, weak = std::weak_ptr(connection)](
                                                            Recorder::Frame const& frame) { hear(port, weak, frame); };
                                        return sink;
                                      })
                              .value());
    }
    ClientOptions options;
    options.servers = {{"s", 1}};
    options.ports = ports;
    options.trainer = trainer;
    options.trainers = 4;
    client.emplace(
        runtime,
        [this](Endpoint const& endpoint, std::shared_ptr<FrameSink> sink, Duration timeout) {
          return memory.connect(endpoint, std::move(sink), timeout);
        },
        options);
    client->connect();
  }

  void hear(std::uint16_t port, std::weak_ptr<Connection> const& weak, Recorder::Frame const& frame) {
    {
      std::lock_guard const lock(mutex);
      heard.push_back({port, frame.header.kind, frame.header.table});
      if (frame.header.kind == Kind::hello) hellos.push_back(hello_from_json(as_text(frame.payload)).value());
    }
    if (auto const alive = weak.lock()) {
      auto const rows = frame.header.kind == Kind::pull_rows ? frame.payload.size() / 2 : 0;
      FakeServer::reply(*alive, frame.header, std::vector<std::byte>(rows));
    }
  }

  /// The ports by which frames of this kind came, in their order.
  std::vector<int> ports_of(Kind kind, std::optional<TableId> table = {}) {
    std::lock_guard const lock(mutex);
    std::vector<int> ports;
    for (auto const& each : heard) {
      if (each.kind == kind && (!table || *table == each.table)) ports.push_back(each.port);
    }
    return ports;
  }

  SystemRuntime runtime;
  Memory memory{std::make_shared<MemoryHub>()};
  std::mutex mutex;
  std::vector<Heard> heard;
  std::vector<Hello> hellos;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::optional<Client> client;
};

TEST_F(ClientOfManyPorts, ATablesRowsStayOnOneSparsePortAndEverythingElseOnDenseOnes) {
  connect({1, 2});
  ASSERT_EQ(hellos.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(hellos[i].link, i) << "the first port comes first";
    EXPECT_EQ(hellos[i].ports, (PortLayout{1, 2}));
  }
  std::vector<SparseRef> const tables{client->declare(SparseSpec{.name = "a", .dim = 1}),
                                      client->declare(SparseSpec{.name = "b", .dim = 1}),
                                      client->declare(SparseSpec{.name = "a", .dim = 1})};
  auto const dense = client->declare(DenseSpec{.name = "d", .parts = {{"w", 4, {}}}});
  std::vector<Key> const keys{1, 2, 3};
  std::vector<float> rows(3), weights(4);
  for (auto const& table : tables) {
    client->push(table, keys, rows).wait();
    client->pull(table, keys, rows).wait();
    (void)client->changed(table);
  }
  client->push(dense, weights).wait();
  client->barrier("b");
  EXPECT_EQ(ports_of(Kind::push_rows), (std::vector<int>{2, 3, 2}));
  EXPECT_EQ(ports_of(Kind::pull_rows), (std::vector<int>{2, 3, 2}));
  EXPECT_EQ(ports_of(Kind::pull_changed), (std::vector<int>{2, 3, 2}));
  EXPECT_EQ(ports_of(Kind::push_dense), (std::vector<int>{1}));
  EXPECT_EQ(ports_of(Kind::declare), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(ports_of(Kind::meet), (std::vector<int>{1}));
  client->leave();
  EXPECT_EQ(ports_of(Kind::leave), (std::vector<int>{1}));
}

TEST_F(ClientOfManyPorts, TrainersBeginAtDifferentPorts) {
  connect({2, 3}, 2);
  auto const table = client->declare(SparseSpec{.name = "a", .dim = 1});
  auto const dense = client->declare(DenseSpec{.name = "d", .parts = {{"w", 4, {}}}});
  EXPECT_EQ(table.link, 4U);
  EXPECT_EQ(dense.link, 0U);
  client->leave();
}

// On one connection a goodbye comes after the pushes that were not waited for; on several it must as well.
TEST_F(ClientOfManyPorts, TheGoodbyeComesWhenThePushesHaveArrived) {
  connect({1, 1});
  auto const table = client->declare(SparseSpec{.name = "a", .dim = 1});
  std::vector<Key> const keys{1};
  std::vector<float> const rows{1};
  auto const push = client->push(table, keys, rows);
  client->leave();
  std::lock_guard const lock(mutex);
  auto const at = [&](Kind kind) { return std::ranges::find(heard, kind, &Heard::kind) - heard.begin(); };
  EXPECT_LT(at(Kind::push_rows), at(Kind::leave));
  EXPECT_EQ(heard[static_cast<std::size_t>(at(Kind::leave)) - 1].kind, Kind::ping) << "asked whether it has arrived";
}

TEST_F(ClientOfManyPorts, APortThatNobodyListensOnIsNamed) {
  listeners.push_back(memory
                          .listen({.endpoint = {"t", 1}, .pages = {}},
                                  [](std::shared_ptr<Connection> const& connection) {
                                    auto sink = std::make_shared<Recorder>();
                                    sink->on_each = [weak = std::weak_ptr(connection)](Recorder::Frame const& frame) {
                                      if (auto const alive = weak.lock()) FakeServer::reply(*alive, frame.header, {});
                                    };
                                    return sink;
                                  })
                          .value());
  ClientOptions options;
  options.servers = {{"t", 1}};
  options.ports = {1, 1};
  options.wait_for_servers = std::chrono::milliseconds(10);
  options.retry_every = std::chrono::milliseconds(5);
  client.emplace(
      runtime,
      [this](Endpoint const& endpoint, std::shared_ptr<FrameSink> sink, Duration timeout) {
        return memory.connect(endpoint, std::move(sink), timeout);
      },
      options);
  std::string said;
  try {
    client->connect();
  } catch (Error const& error) {
    said = error.what();
  }
  EXPECT_TRUE(holds(said, "1 of 1 servers were not ready")) << said;
  EXPECT_TRUE(holds(said, "t:2")) << said;
  EXPECT_TRUE(holds(said, "compare PADDLE_INIT_PSERVERS, PADDLE_INIT_PORT and its ports_num")) << said;
}

}  // namespace
}  // namespace prdist::test
