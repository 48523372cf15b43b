// A server against a peer that says anything: frames by hand over the hub, in steps.
#include <prdist/server/server.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include <prdist/transport/memory.hpp>
#include <prdist/wire/hello.hpp>

#include "../support/caught_log.hpp"
#include "../support/recorder.hpp"
#include "../support/still_runtime.hpp"

namespace prdist::test {
namespace {

class ServerByHand : public ::testing::Test {
 protected:
  StillRuntime runtime;
  std::shared_ptr<MemoryHub> hub = std::make_shared<MemoryHub>(MemoryHub::Stepped{});
  Memory memory{hub};
  std::vector<std::shared_ptr<Server>> kept;
  std::shared_ptr<Server> server = make_server();
  std::unique_ptr<Listener> listener =
      memory.listen({.endpoint = {"s", 1}, .pages = {}}, [this](auto const& c) { return server->accept(c); }).value();

  std::shared_ptr<Server> make_server(std::optional<Elastic> elastic = std::nullopt) {
    ServerOptions options;
    options.trainers = 2;
    options.elastic = elastic;
    options.threads = 0;
    options.max_payload = 1 << 16;
    auto made = std::make_shared<Server>(runtime, options);
    made->start();
    return made;
  }

  struct Peer {
    std::shared_ptr<Recorder> sink;
    std::shared_ptr<Connection> connection;
  };

  Peer connect() {
    auto sink = std::make_shared<Recorder>();
    return {sink, memory.connect({"s", 1}, sink, {}).value()};
  }

  void settle() {
    while (hub->step()) {
    }
  }

  /// Sends one frame and returns the answer to it: empty for a reply, the error's text for a failure, "closed".
  std::string ask(Peer const& peer, Header header, std::string_view payload = {}) {
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

  std::string hello(Peer const& peer, Hello const& who) {
    Header header;
    header.kind = Kind::hello;
    return ask(peer, header, to_json(who));
  }

  Peer trainer(std::uint32_t id) {
    auto peer = connect();
    EXPECT_EQ(hello(peer, {id, 2, 0, 1, "test"}), "");
    return peer;
  }

  std::string declare(Peer const& peer, AnySpec const& spec) {
    Header header;
    header.kind = Kind::declare;
    return ask(peer, header, to_json(spec));
  }

  static Header of(Kind kind, std::string_view table = "t", std::uint64_t count = 0) {
    Header header;
    header.kind = kind;
    header.table = table_id(table);
    header.count = count;
    return header;
  }
};

bool holds(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ServerByHand, TheFirstMessageMustBeAHello) {
  auto const peer = connect();
  EXPECT_TRUE(holds(ask(peer, of(Kind::pull_rows)), "its first message is not a hello"));
  EXPECT_TRUE(peer.sink->closed());
}

TEST_F(ServerByHand, AHelloThatIsNoneIsRefused) {
  for (auto const* const text :
       {"", "{", "[]", "{}", R"({"trainer":-1,"trainers":2,"server":0,"servers":1,"release":"x"})",
        R"({"trainer":0,"trainers":2,"server":0,"servers":1})"}) {
    auto const peer = connect();
    EXPECT_TRUE(holds(ask(peer, of(Kind::hello), text), "prdist[wire.message] the peer's hello")) << text;
  }
  auto const twice = trainer(0);
  EXPECT_TRUE(holds(hello(twice, {0, 2, 0, 1, "test"}), "said hello twice"));
}

TEST_F(ServerByHand, AListInAnotherOrderIsNoticed) {
  EXPECT_TRUE(
      holds(hello(connect(), {0, 2, 1, 2, "test"}), "PADDLE_PSERVERS_IP_PORT_LIST must be the same everywhere"));
}

TEST_F(ServerByHand, SizesAreComparedBeforeMemoryIsTaken) {
  auto const fine = trainer(0);
  ASSERT_EQ(declare(fine, SparseSpec{.name = "t", .dim = 4}), "");
  ASSERT_EQ(declare(fine, DenseSpec{.name = "d", .parts = {{"w", 10, {}}}}), "");
  auto const refused = [&](Header const& header, std::string_view payload, std::string_view why) {
    kept.push_back(server);  // its sessions end with the hub
    server = make_server();
    auto const peer = trainer(0);
    EXPECT_EQ(declare(peer, SparseSpec{.name = "t", .dim = 4}), "");
    EXPECT_EQ(declare(peer, DenseSpec{.name = "d", .parts = {{"w", 10, {}}}}), "");
    auto const answer = ask(peer, header, payload);
    EXPECT_TRUE(holds(answer, why)) << answer;
    EXPECT_TRUE(peer.sink->closed());
  };
  refused(of(Kind::pull_rows, "t", 2), std::string(8, 0), "2 keys in 8 bytes");
  refused(of(Kind::pull_rows, "t", ~std::uint64_t{0} / 8 + 2), std::string(8, 0), "keys in 8 bytes");
  refused(of(Kind::pull_rows, "t", 8000), std::string(64000, 0), "ask for fewer at a time");
  refused(of(Kind::push_rows, "t", 1), std::string(8, 0), "1 keys in 8 bytes");
  refused(of(Kind::pull_rows, "nobody", 1), std::string(8, 0), "prdist[table.unknown]");
  refused(of(Kind::pull_rows, "d", 1), std::string(8, 0), "no sparse table has number");
  refused(of(Kind::pull_dense, "t", 1), {}, "no dense table has number");
  refused(of(Kind::pull_dense, "d", 2), {}, "ranges 0+2 of 1");
  refused(of(Kind::push_dense, "d", 1), std::string(8, 0), "8 bytes for 40");
  refused(of(Kind::ping), "x", "came with 1 bytes");
  refused(of(Kind::clock), "x", "came with 1 bytes");
  refused(of(Kind::clock), {}, "a clock of thread 0 of 0");
  refused(of(Kind::pull_changed, "t"), "x", "came with 1 bytes");
  refused(of(static_cast<Kind>(77)), {}, "unknown kind 77");
  refused(of(Kind::reply), {}, "unknown kind 64");
}

TEST_F(ServerByHand, AnotherPlacementIsRefused) {
  auto const peer = trainer(0);
  ASSERT_EQ(declare(peer, SparseSpec{.name = "t", .dim = 1}), "");
  auto header = of(Kind::pull_rows, "t", 1);
  header.placement = 9;
  auto const key = std::make_shared<std::string>(8, '\0');
  peer.connection->send({header, {std::as_bytes(std::span(*key))}, key});
  settle();
  EXPECT_TRUE(holds(decode_failure(peer.sink->frames().back().payload).what(), "prdist[job.placement]"));
}

TEST_F(ServerByHand, WhoSaysNothingIsSentAway) {
  auto const silent = connect();
  auto const working = trainer(0);
  runtime.advance(std::chrono::seconds(11));
  settle();
  EXPECT_TRUE(silent.sink->closed());
  EXPECT_FALSE(working.sink->closed());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ask(working, of(Kind::ping)), "");
    runtime.advance(std::chrono::seconds(5));
  }
  EXPECT_FALSE(working.sink->closed());
  runtime.advance(std::chrono::seconds(70));
  settle();
  EXPECT_TRUE(working.sink->closed());
}

TEST_F(ServerByHand, AStepThatIsNotCompleteIsExplainedBeforeTheSenderGivesUp) {
  auto const peer = trainer(0);
  ASSERT_EQ(declare(peer, SparseSpec{.name = "t", .dim = 1, .apply = ApplyRule::gather}), "");
  auto header = of(Kind::push_rows, "t", 1);
  header.flags = flag_last;
  header.remaining_ms = 10000;
  EXPECT_EQ(ask(peer, header, std::string(12, 0)), "silence");
  runtime.advance(std::chrono::seconds(10));
  settle();
  auto const answer = std::string(decode_failure(peer.sink->frames().back().payload).what());
  EXPECT_TRUE(holds(answer, "server 0: a step of table 't' is not complete: trainers 1 have not pushed their part"))
      << answer;
}

TEST_F(ServerByHand, WhatAStrangerSaidIsInTheLog) {
  CaughtLog const log;
  auto const sink = server->accept(connect().connection);
  sink->on_close(Error(Errc::transport_closed, "a probe that came and went"));
  EXPECT_TRUE(log.lines().empty());
  sink->on_close(Error(Errc::wire_version, "the peer speaks version 2"));
  auto const lines = log.lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(holds(lines[0], "server 0: the peer at ")) << lines[0];
  EXPECT_TRUE(holds(lines[0], "prdist[wire.version] the peer speaks version 2")) << lines[0];
}

TEST_F(ServerByHand, EndsWithZeroWhenAllHaveStopped) {
  auto const zero = trainer(0);
  auto const one = trainer(1);
  EXPECT_EQ(ask(zero, of(Kind::leave)), "");
  EXPECT_EQ(ask(one, of(Kind::leave)), "");
  zero.connection->close();
  one.connection->close();
  settle();
  EXPECT_EQ(server->wait(), 0);
}

TEST_F(ServerByHand, DoesNotWaitForAConnectionThatStaysOpenAfterTheGoodbye) {
  auto const zero = trainer(0);
  auto const one = trainer(1);
  EXPECT_EQ(ask(zero, of(Kind::leave)), "");
  EXPECT_EQ(ask(one, of(Kind::leave)), "");
  runtime.advance(std::chrono::seconds(6));
  EXPECT_EQ(server->wait(), 0);
}

// By the contract only finished training is 0, for servers as for trainers, whoever of the job was asked to stop.
TEST_F(ServerByHand, TrainersThatLeaveBeforeTheWorkIsFinishedAre143) {
  auto const zero = trainer(0);
  auto const one = trainer(1);
  auto early = of(Kind::leave);
  early.flags = flag_stop;
  EXPECT_EQ(ask(zero, of(Kind::leave)), "");
  EXPECT_EQ(ask(one, early), "");
  runtime.advance(std::chrono::seconds(6));
  EXPECT_EQ(server->wait(), 143);
}

TEST_F(ServerByHand, GivesUpWhenTrainersNeverCome) {
  auto const zero = trainer(0);
  for (int i = 0; i < 365; ++i) {
    EXPECT_EQ(ask(zero, of(Kind::ping)), "");
    runtime.advance(std::chrono::seconds(5));
  }
  EXPECT_TRUE(holds(ask(zero, of(Kind::meet), std::string("m\0", 2)), "trainer 1 is lost"));
  EXPECT_EQ(ask(zero, of(Kind::leave)), "");
  zero.connection->close();
  settle();
  EXPECT_EQ(server->wait(), 75);
}

TEST_F(ServerByHand, AskedToStopBeforeAllHaveComeThereIsNothingToWaitFor) {
  auto const zero = trainer(0);
  auto asked = of(Kind::ping);
  asked.flags = flag_stop;
  EXPECT_EQ(ask(zero, of(Kind::meet), std::string("start\0", 6)), "silence");
  EXPECT_EQ(ask(zero, asked), "");
  EXPECT_EQ(zero.sink->frames().back().header.flags & flag_stop, flag_stop) << "everybody hears of it in the answers";
  runtime.advance(std::chrono::milliseconds(250));
  settle();
  EXPECT_STREQ(decode_failure(zero.sink->frames().back().payload).what(),
               "prdist[job.stopped] server 0: the job was asked to stop before trainers 1 of 2 had come: nothing was "
               "trained");
  zero.connection->close();
  settle();
  EXPECT_EQ(server->wait(), 143);
}

TEST_F(ServerByHand, AskedToStopWithSomethingLearnedItWaitsForTheLastCheckpoint) {
  auto const zero = trainer(0);
  ASSERT_EQ(declare(zero, SparseSpec{.name = "t", .dim = 1}), "");
  auto push = of(Kind::push_rows, "t", 1);
  push.flags = flag_last;
  EXPECT_EQ(ask(zero, push, std::string(12, 0)), "");
  auto asked = of(Kind::ping);
  asked.flags = flag_stop;
  EXPECT_EQ(ask(zero, asked), "");
  EXPECT_EQ(ask(zero, of(Kind::meet), std::string("m\0", 2)), "silence");
  runtime.advance(std::chrono::seconds(5));
  settle();
  EXPECT_EQ(zero.sink->frames().back().header.kind, Kind::reply) << "the meeting waits for the one that is missing";
}

TEST_F(ServerByHand, WhoWaitsAtAMeetingForLongIsToldForWhomAndAsksAgain) {
  auto const zero = trainer(0);
  auto const one = trainer(1);
  auto meet = of(Kind::meet);
  meet.flags = flag_training;
  meet.remaining_ms = 1000;
  auto const name = std::string("checkpoint 1 is written\0", 24);
  EXPECT_EQ(ask(zero, meet, name), "silence");
  runtime.advance(std::chrono::seconds(2));
  settle();
  auto const told = zero.sink->frames().back();
  EXPECT_EQ(told.header.kind, Kind::reply) << "a slow disk is no failure";
  EXPECT_EQ(told.header.flags & flag_again, flag_again);
  EXPECT_TRUE(holds(std::string(as_text(told.payload)), "trainer 0 waits at 'checkpoint 1 is written' for trainers 1"));
  EXPECT_EQ(ask(zero, meet, name), "silence");
  EXPECT_EQ(ask(one, meet, name), "");
  EXPECT_EQ(zero.sink->frames().back().header.flags & flag_again, 0U);
}

TEST_F(ServerByHand, ShowsItsTables) {
  auto const peer = trainer(0);
  ASSERT_EQ(declare(peer, SparseSpec{.name = "t", .dim = 1}), "");
  ASSERT_EQ(declare(peer, DenseSpec{.name = "d", .parts = {{"w", 10, {}}}}), "");
  auto header = of(Kind::push_rows, "t", 1);
  EXPECT_EQ(ask(peer, header, std::string(12, 0)), "");
  Page page;
  auto const keep = [&](Page answer) { page = std::move(answer); };
  server->page("/v1/tables", keep);
  EXPECT_EQ(page.status, 200U);
  EXPECT_TRUE(holds(page.json, R"("rows":1)")) << page.json;
  EXPECT_TRUE(holds(page.json, R"("size":10,"here":10)")) << page.json;
  server->page("/healthz", keep);
  EXPECT_TRUE(holds(page.json, R"("connected":1)")) << page.json;
  server->page("/etc/passwd", keep);
  EXPECT_EQ(page.status, 404U);
}

TEST_F(ServerByHand, MeasuresHowStaleAPushIs) {
  auto const zero = trainer(0);
  auto const one = trainer(1);
  ASSERT_EQ(declare(zero, SparseSpec{.name = "t", .dim = 1}), "");
  auto const pull = of(Kind::pull_rows, "t", 1);
  auto push = of(Kind::push_rows, "t", 1);
  push.flags = flag_last;
  ASSERT_EQ(ask(zero, pull, std::string(8, 0)), "");
  push.table_version = zero.sink->frames().back().header.table_version;
  EXPECT_NE(push.table_version, 0U);
  auto other = push;
  other.table_version = 0;  // one that does not say
  ASSERT_EQ(ask(one, other, std::string(12, 0)), "");
  EXPECT_EQ(one.sink->frames().back().header.table_version, 0U);
  ASSERT_EQ(ask(one, other, std::string(12, 0)), "");
  ASSERT_EQ(ask(zero, push, std::string(12, 0)), "");
  EXPECT_EQ(zero.sink->frames().back().header.table_version, 3U);  // two others, told as one more
  Page page;
  server->page("/v1/tables", [&](Page answer) { page = std::move(answer); });
  EXPECT_TRUE(holds(page.json, R"("pushes":3)")) << page.json;
  EXPECT_TRUE(holds(page.json, R"("max":2,"dropped":0,"histogram":{"2":1})")) << page.json;
}

TEST_F(ServerByHand, DropsOrRefusesWhatIsTooStale) {
  auto const peer = trainer(0);
  for (auto const beyond : {Stale::drop, Stale::refuse}) {
    auto const name = std::string(name_of(beyond));
    ASSERT_EQ(declare(peer, SparseSpec{.name = name, .dim = 1, .staleness = {1, beyond}}), "");
    auto push = of(Kind::push_rows, name, 1);
    push.flags = flag_last;
    push.table_version = 1;
    EXPECT_EQ(ask(peer, push, std::string(12, 0)), "");
    EXPECT_EQ(ask(peer, push, std::string(12, 0)), "");  // as stale as may be
    EXPECT_EQ(ask(peer, push, std::string(12, 0)),
              beyond == Stale::drop ? ""
                                    : "prdist[job.stale] server 0: a push of trainer 0 to table 'refuse' is 2 pushes "
                                      "stale, the bound is 1: raise max_staleness, or use fewer or faster trainers");
    Page page;
    server->page("/v1/tables", [&](Page answer) { page = std::move(answer); });
    EXPECT_TRUE(holds(page.json, R"("pushes":2,"staleness":{"mean":5E-1,"max":1,"dropped":1)")) << page.json;
  }
  EXPECT_FALSE(peer.sink->closed());
}

TEST_F(ServerByHand, RefusesGradientsThatAreNoNumbersAndAppliesNothing) {
  auto const peer = trainer(0);
  ASSERT_EQ(declare(peer, SparseSpec{.name = "t", .dim = 2}), "");
  ASSERT_EQ(declare(peer, DenseSpec{.name = "d", .parts = {{"w", 3, {}}, {"b", 1, {}}}}), "");
  auto const bytes = [](auto const& values) {
    return std::string(reinterpret_cast<char const*>(values.data()), values.size() * sizeof values[0]);
  };
  auto const infinite = std::numeric_limits<float>::infinity();
  constexpr auto way_out =
      ": take a smaller learning rate, look at the data for numbers that are far too large, and go on from the last "
      "checkpoint";
  auto push = of(Kind::push_rows, "t", 2);
  push.flags = flag_last;
  auto const keys = bytes(std::array<Key, 2>{7, 4815});
  EXPECT_EQ(ask(peer, push, keys + bytes(std::array{1.0F, 1.0F, 1.0F, infinite})),
            concat("prdist[job.diverged] server 0: a push of trainer 0 to table 't' has the gradient inf for key 4815 "
                   "and was not applied",
                   way_out));
  ASSERT_EQ(ask(peer, of(Kind::pull_rows, "t", 2), keys), "");
  EXPECT_EQ(as_text(peer.sink->frames().back().payload), std::string(16, 0)) << "key 7 is as it was, too";
  auto dense = of(Kind::push_dense, "d", 1);
  dense.flags = flag_last;
  EXPECT_EQ(ask(peer, dense, bytes(std::array{1.0F, 1.0F, 1.0F, std::numeric_limits<float>::quiet_NaN()})),
            concat("prdist[job.diverged] server 0: a push of trainer 0 to table 'd' has the gradient nan in part 'b' "
                   "and was not applied",
                   way_out));
  ASSERT_EQ(ask(peer, of(Kind::pull_dense, "d", 1)), "");
  EXPECT_EQ(as_text(peer.sink->frames().back().payload), std::string(16, 0));
  EXPECT_FALSE(peer.sink->closed());
}

TEST_F(ServerByHand, TellsWhichRowsOthersHaveAddedTo) {
  auto const zero = trainer(0);
  auto const one = trainer(1);
  ASSERT_EQ(declare(zero, SparseSpec{.name = "t", .dim = 1, .optimizer = adding, .apply = ApplyRule::add}), "");
  auto push = of(Kind::push_rows, "t", 1);
  push.flags = flag_last;
  float const three = 3;
  Key const key = 42;
  std::string payload(12, 0);
  std::memcpy(payload.data(), &key, 8);
  std::memcpy(payload.data() + 8, &three, 4);
  ASSERT_EQ(ask(zero, push, payload), "");
  ASSERT_EQ(ask(zero, push, payload), "");
  ASSERT_EQ(ask(one, of(Kind::pull_changed), ""), "");
  auto const told = one.sink->frames().back();
  EXPECT_EQ(told.header.count, 1U);
  EXPECT_EQ(told.payload.size(), 8U);
  EXPECT_EQ(told.header.offset, 2U);
  auto next = of(Kind::pull_changed);
  next.offset = told.header.offset;
  ASSERT_EQ(ask(one, next, ""), "");
  EXPECT_EQ(one.sink->frames().back().header.count, 0U);
  ASSERT_EQ(ask(zero, of(Kind::pull_changed), ""), "");
  EXPECT_EQ(zero.sink->frames().back().header.count, 0U);  // its own
  ASSERT_EQ(ask(one, of(Kind::pull_rows, "t", 1), payload.substr(0, 8)), "");
  float sum = 0;
  std::memcpy(&sum, one.sink->frames().back().payload.data(), 4);
  EXPECT_EQ(sum, 6);
  EXPECT_TRUE(holds(ask(one, of(Kind::pull_changed, "nobody")), "prdist[table.unknown]"));
}

TEST_F(ServerByHand, AClockIsAnsweredWhenTheSlowestHasCome) {
  auto const zero = trainer(0);
  auto const one = trainer(1);
  auto clock = of(Kind::clock);
  clock.table = 0;  // nobody may be ahead
  clock.weight = 1;
  clock.count = 1;
  EXPECT_EQ(ask(zero, clock), "silence");
  server->release_clocks();
  settle();
  EXPECT_EQ(zero.sink->frames().back().header.flags, flag_again);
  EXPECT_EQ(ask(zero, clock), "silence");
  EXPECT_EQ(ask(one, clock), "");
  EXPECT_EQ(one.sink->frames().back().header.flags, 0U);
  EXPECT_EQ(zero.sink->frames().back().header.flags, 0U);
  clock.count = 2;
  EXPECT_EQ(ask(zero, clock), "silence");
  EXPECT_EQ(ask(one, of(Kind::retire)), "");
  EXPECT_EQ(zero.sink->frames().size(), 4U);  // hello, again, go, go
}

TEST_F(ServerByHand, TheConnectionOfOneThatHasLeftEndsAfterAnotherHasItsId) {
  server = make_server(Elastic{1, 2});
  auto const old = connect();
  ASSERT_EQ(hello(old, {0, 2, 0, 1, "test", {}, 0, "1:2"}), "");
  auto early = of(Kind::leave);
  early.flags = flag_stop;
  ASSERT_EQ(ask(old, early), "");
  auto const next = connect();
  ASSERT_EQ(hello(next, {0, 5, 0, 1, "test", {}, 0, "1:2"}), "")
      << "how many there were at the beginning is not compared";
  old.connection->close();
  settle();
  std::string body;
  server->page("/healthz", [&](Page const& page) { body = page.json; });
  EXPECT_TRUE(holds(body, R"("connected":1,"lost":0)")) << body;
  EXPECT_TRUE(holds(body, R"("elastic":"1:2")")) << body;
}

TEST_F(ServerByHand, AnElasticJobAndOneThatIsNotDoNotMix) {
  EXPECT_TRUE(holds(hello(connect(), {0, 2, 0, 1, "test", {}, 0, "1:2"}),
                    "has PRDIST_ELASTIC='1:2', server 0 '': it must be the same everywhere"));
  server = make_server(Elastic{1, 2});
  EXPECT_TRUE(holds(hello(connect(), {0, 2, 0, 1, "test"}),
                    "has PRDIST_ELASTIC='', server 0 '1:2': it must be the same everywhere"));
}

TEST_F(ServerByHand, DataFilesAndDutiesAreHandedOutByFrames) {
  auto const first = trainer(0), second = trainer(1);
  auto next = of(Kind::next_file, "", 2);
  next.weight = 1;
  ASSERT_EQ(ask(first, next), "");
  EXPECT_EQ(first.sink->frames().back().header.offset, 0U);
  ASSERT_EQ(ask(second, next), "");
  EXPECT_EQ(second.sink->frames().back().header.offset, 1U);
  ASSERT_EQ(ask(second, next), "");
  EXPECT_EQ(second.sink->frames().back().header.flags, flag_again);
  auto done = of(Kind::file_done);
  done.offset = 1;
  EXPECT_TRUE(holds(ask(first, done), "trainer 0 has finished task 1 of the data, which it was not given"));
  done.count = 12;
  EXPECT_EQ(ask(second, done), "");
  ASSERT_EQ(ask(first, of(Kind::file_state)), "");
  EXPECT_TRUE(holds(std::string(as_text(first.sink->frames().back().payload)), "\"rows\":12"));
  EXPECT_TRUE(holds(ask(first, of(Kind::file_state), "{}"), "does not say which files are done"));
  EXPECT_TRUE(holds(ask(first, of(Kind::next_file, "", 3), "x"), "a message that has no payload came with 1 bytes"));
  // A loss of that one gives its file to others, in a job of a fixed number as well.
  ASSERT_EQ(ask(second, next), "");
  EXPECT_EQ(second.sink->frames().back().header.offset, 0U);

  ASSERT_EQ(ask(second, of(Kind::duty), "look"), "");
  EXPECT_EQ(second.sink->frames().back().header.flags, flag_last);
  auto report = of(Kind::duty);
  report.flags = flag_last;
  EXPECT_TRUE(holds(ask(second, report, "other"), "trainer 1 has done 'other', which is not its own"));
  EXPECT_EQ(ask(second, report, std::string_view("look\0seen", 9)), "");
  ASSERT_EQ(ask(second, of(Kind::duty), "look"), "");
  EXPECT_EQ(second.sink->frames().back().header.flags, 0U);
  EXPECT_EQ(as_text(second.sink->frames().back().payload), "seen");
}

}  // namespace
}  // namespace prdist::test
