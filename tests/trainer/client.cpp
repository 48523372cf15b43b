// A client against servers that do not do what they should.
#include <prdist/trainer/client.hpp>

#include <gtest/gtest.h>

#include <prdist/transport/memory.hpp>
#include <prdist/wire/hello.hpp>

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

  void connect(std::size_t servers, Duration deadline) {
    ClientOptions options;
    options.servers.assign({{"s", 1}, {"s", 2}});
    options.servers.resize(servers);
    options.deadline = deadline;
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

TEST_F(ClientByHand, AfterLeavingEveryCallSaysSo) {
  connect(1, std::chrono::seconds(20));
  client->leave();
  EXPECT_TRUE(holds(pull_error(), "prdist[job.state] worker 0: a pull of 8 keys of table 't' after leaving the job"));
  client->leave();  // twice is once
}

}  // namespace
}  // namespace prdist::test
