// A server that learns from its trainers which one it is: frames by hand over the hub, in steps.
#include <prdist/server/lobby.hpp>

#include <gtest/gtest.h>
#include <signal.h>

#include <prdist/core/stop_signal.hpp>
#include <prdist/transport/memory.hpp>
#include <prdist/wire/hello.hpp>

#include "../support/caught_log.hpp"
#include "../support/recorder.hpp"
#include "../support/still_runtime.hpp"
#include "../support/thrown.hpp"

namespace prdist::test {
namespace {

class LobbyByHand : public ::testing::Test {
 protected:
  struct Peer {
    std::shared_ptr<Recorder> sink;
    std::shared_ptr<Connection> connection;
  };

  void open(KnownPlace const& place = {}, PortLayout const& layout = {1, 1}) {
    ServerOptions options;
    options.trainers = 2;
    options.threads = 0;
    lobby = std::make_unique<Lobby>(runtime, options, place);
    for (std::uint32_t i = 0; i < layout.total(); ++i) {
      auto const port = lobby->add_port(static_cast<std::uint16_t>(100 + i), i, layout);
      listeners.push_back(memory
                              .listen({.endpoint = {"s", port->port()}, .pages = {}},
                                      [this, port](auto const& c) { return lobby->accept(c, port); })
                              .value());
    }
  }

  ~LobbyByHand() override { listeners.clear(); }

  Peer connect(std::uint16_t port = 100) {
    auto sink = std::make_shared<Recorder>();
    return {sink, memory.connect({"s", port}, sink, {}).value()};
  }

  void settle() {
    while (hub->step()) {
    }
  }

  std::string ask(Peer const& peer, Kind kind, std::string_view payload = {}) {
    Header header;
    header.kind = kind;
    header.placement = 1;
    auto const before = peer.sink->frames().size();
    auto const keep = std::make_shared<std::string>(payload);
    Outgoing frame{header, {}, keep};
    if (!keep->empty()) frame.pieces.push_back(std::as_bytes(std::span(*keep)));
    peer.connection->send(std::move(frame));
    settle();
    auto const frames = peer.sink->frames();
    if (frames.size() == before) return peer.sink->closed() ? "closed" : "silence";
    return frames.back().header.kind == Kind::reply ? "" : decode_failure(frames.back().payload).what();
  }

  std::string hello(Peer const& peer, Hello const& who) { return ask(peer, Kind::hello, to_json(who)); }

  std::string page(std::string_view path) {
    std::string json;
    lobby->page(path, [&](Page answer) { json = std::move(answer.json); });
    settle();
    return json;
  }

  StillRuntime runtime;
  std::shared_ptr<MemoryHub> hub = std::make_shared<MemoryHub>(MemoryHub::Stepped{});
  Memory memory{hub};
  std::unique_ptr<Lobby> lobby;
  std::vector<std::unique_ptr<Listener>> listeners;
};

Hello trainer(std::uint32_t id, std::uint32_t server, std::uint32_t servers, std::uint32_t link = 0) {
  return {.trainer = id,
          .trainers = 2,
          .server = server,
          .servers = servers,
          .release = "r",
          .ports = {1, 1},
          .link = link};
}

TEST_F(LobbyByHand, TheFirstTrainerSaysWhichServerItIsAndTheNextMustAgree) {
  open();
  EXPECT_TRUE(holds(page("/healthz"), R"("server":null)"));
  auto const late = connect();  // came before anybody said anything
  EXPECT_EQ(hello(connect(), trainer(0, 1, 3)), "");
  EXPECT_TRUE(holds(page("/healthz"), R"("server":1,"servers":3)"));
  EXPECT_TRUE(holds(hello(connect(), trainer(1, 0, 3)), "takes this for server 0 of 3, but it is 1 of 3"));
  EXPECT_TRUE(holds(hello(late, trainer(1, 1, 2)), "takes this for server 1 of 2, but it is 1 of 3"));
  EXPECT_EQ(hello(connect(), trainer(1, 1, 3)), "");
}

TEST_F(LobbyByHand, ATrainerOfAnotherJobDoesNotSayIt) {
  open();
  auto other = trainer(0, 0, 1);
  other.trainers = 5;
  auto const peer = connect();
  EXPECT_TRUE(holds(hello(peer, other), "knows of 5 trainers, this server of 2"));
  EXPECT_TRUE(peer.sink->closed());
  EXPECT_TRUE(holds(hello(connect(), trainer(0, 3, 3)), "prdist[wire.message]"));
  EXPECT_TRUE(holds(hello(connect(), trainer(0, 0, 257)), "257 servers: a job has between 1 and 256"))
      << "so no server is ever without a shard";
  EXPECT_EQ(hello(connect(), trainer(0, 2, 3)), "");
  EXPECT_TRUE(holds(page("/healthz"), R"("server":2,"servers":3)"));
}

TEST_F(LobbyByHand, WhatItWasToldIsComparedFromTheStart) {
  open({.index = 0, .servers = 2});
  EXPECT_TRUE(holds(page("/healthz"), R"("server":0,"servers":2)"));
  EXPECT_TRUE(holds(hello(connect(), trainer(0, 1, 2)), "takes this for server 1 of 2, but it is 0 of 2"));
}

TEST_F(LobbyByHand, HalfOfThePlaceIsComparedToo) {
  open({.index = std::nullopt, .servers = 2});
  EXPECT_TRUE(holds(hello(connect(), trainer(0, 1, 3)), "takes this for server 1 of 3, but it is 1 of 2"));
  EXPECT_EQ(hello(connect(), trainer(0, 1, 2)), "");
}

TEST_F(LobbyByHand, WhoSaysNoHelloOrNothingIsSentAway) {
  open();
  auto const wrong = connect();
  EXPECT_TRUE(holds(ask(wrong, Kind::ping), "its first message is not a hello"));
  EXPECT_TRUE(wrong.sink->closed());
  auto const nonsense = connect();
  EXPECT_TRUE(holds(ask(nonsense, Kind::hello, "{}"), "the peer's hello does not say who it is"));
  auto const silent = connect();
  settle();
  runtime.advance(std::chrono::seconds(11));
  settle();
  EXPECT_TRUE(silent.sink->closed());
}

TEST_F(LobbyByHand, ATrainerHasAConnectionToEachPortAndLosingOneIsLosingIt) {
  open();
  auto const first = connect(100);
  auto const rows = connect(101);
  EXPECT_TRUE(holds(hello(connect(101), trainer(0, 0, 1, 1)), "the one for port 0 comes first"));
  EXPECT_EQ(hello(first, trainer(0, 0, 1)), "");
  EXPECT_TRUE(holds(hello(connect(100), trainer(0, 0, 1, 1)), "takes this for port 1 of 1 dense and 1 sparse ports"));
  EXPECT_EQ(hello(rows, trainer(0, 0, 1, 1)), "");
  EXPECT_TRUE(holds(hello(connect(101), trainer(0, 0, 1, 1)), "it is already connected to port 1"));
  EXPECT_EQ(ask(first, Kind::ping), "");
  CaughtLog const log;
  rows.connection->close();
  settle();
  EXPECT_TRUE(first.sink->closed()) << "nothing may come from it any more";
  EXPECT_TRUE(holds(page("/healthz"), R"("connected":0,"lost":1)"));
  auto const one = connect();
  EXPECT_EQ(hello(one, trainer(1, 0, 1)), "");
  EXPECT_EQ(ask(one, Kind::leave), "");
  one.connection->close();
  settle();
  EXPECT_EQ(lobby->wait(), 75);
}

TEST_F(LobbyByHand, AfterTheGoodbyeTheOtherConnectionsAreNoLoss) {
  open();
  std::vector<Peer> peers;
  for (std::uint32_t id = 0; id < 2; ++id) {
    for (std::uint32_t link = 0; link < 2; ++link) {
      peers.push_back(connect(static_cast<std::uint16_t>(100 + link)));
      ASSERT_EQ(hello(peers.back(), trainer(id, 0, 1, link)), "");
    }
  }
  for (std::size_t i = 0; i < 4; i += 2) EXPECT_EQ(ask(peers[i], Kind::leave), "");
  for (auto const i : {1, 0, 3, 2}) peers[static_cast<std::size_t>(i)].connection->close();
  settle();
  EXPECT_EQ(lobby->wait(), 0);
}

TEST_F(LobbyByHand, CountsWhatComesByEachPort) {
  open();
  auto const first = connect(100);
  ASSERT_EQ(hello(first, trainer(0, 0, 1)), "");
  ASSERT_EQ(ask(first, Kind::ping), "");
  auto const json = page("/v1/ports");
  // The hello was the lobby's to read, and is counted all the same.
  EXPECT_TRUE(holds(json, R"({"port":100,"for":"dense","control":{"requests":2,)")) << json;
  EXPECT_TRUE(holds(json, R"({"port":101,"for":"sparse","control":{"requests":0,)")) << json;
  EXPECT_TRUE(holds(page("/v1/tables"), R"({"tables":[)"));
  EXPECT_TRUE(holds(page("/x"), R"("pages":["/healthz","/v1/tables","/v1/ports"])"));
}

TEST_F(LobbyByHand, EndsWhenNobodyComes) {
  open();
  runtime.skips = true;
  EXPECT_EQ(lobby->wait(), 75);
}

TEST_F(LobbyByHand, IsStoppedAtOnceBeforeAnybodyHasCome) {
  open();
  StopSignal const signal;
  ::raise(SIGTERM);
  EXPECT_EQ(lobby->wait(), 143);
}

}  // namespace
}  // namespace prdist::test
