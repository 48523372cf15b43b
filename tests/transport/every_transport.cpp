// One suite over every transport: what server and client rely on.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "../support/any_transport.hpp"
#include "../support/recorder.hpp"

namespace prdist::test {
namespace {

template <class Choice>
class EveryTransport : public ::testing::Test {
 protected:
  /// Listens with sinks that send every frame back.
  std::unique_ptr<Listener> listen_echo() {
    return transport
        .listen(anywhere(),
                [this](std::shared_ptr<Connection> connection) {
                  auto sink = std::make_shared<Recorder>();
                  sink->on_each = [weak = std::weak_ptr(connection)](Recorder::Frame const& frame) {
                    auto const copy = std::make_shared<std::vector<std::byte>>(frame.payload);
                    Outgoing back{frame.header, {}, copy};
                    back.header.kind = Kind::reply;
                    if (!copy->empty()) back.pieces.push_back(*copy);
                    if (auto const alive = weak.lock()) alive->send(std::move(back));
                  };
                  std::lock_guard const lock(mutex);
                  accepted.push_back(sink);
                  connections.push_back(connection);
                  return sink;
                })
        .value();
  }

  std::shared_ptr<Connection> connect(Listener const& listener, std::shared_ptr<FrameSink> sink) {
    return transport.connect(listener.endpoint(), std::move(sink), std::chrono::seconds(10)).value();
  }

  static void send(Connection& connection, std::uint64_t request, std::vector<std::byte> payload) {
    auto const keep = std::make_shared<std::vector<std::byte>>(std::move(payload));
    Header header;
    header.request = request;
    Outgoing frame{header, {}, keep};
    if (!keep->empty()) frame.pieces.push_back(*keep);
    connection.send(std::move(frame));
  }

  std::mutex mutex;
  std::vector<std::shared_ptr<Recorder>> accepted;
  std::vector<std::shared_ptr<Connection>> connections;
  Choice transport = make_transport<Choice>();
};

TYPED_TEST_SUITE(EveryTransport, AllTransports);

TYPED_TEST(EveryTransport, CarriesFramesOfAnySizeInOrder) {
  auto const listener = this->listen_echo();
  auto const sink = std::make_shared<Recorder>();
  auto const connection = this->connect(*listener, sink);
  std::vector<std::size_t> const sizes = {0, 1, 87, 88, 89, 65535, 65536, 65537, 131072, 3 * 65536 + 5, 1 << 20, 0, 7};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    this->send(*connection, i, noise(sizes[i], static_cast<unsigned>(i)));
  }
  ASSERT_TRUE(sink->wait_for_frames(sizes.size()));
  auto const frames = sink->frames();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(frames[i].header.request, i);
    EXPECT_EQ(frames[i].header.kind, Kind::reply);
    EXPECT_EQ(frames[i].payload, noise(sizes[i], static_cast<unsigned>(i))) << sizes[i];
  }
  connection->close();
}

TYPED_TEST(EveryTransport, GathersFromPiecesAndScattersIntoPieces) {
  auto const listener = this->listen_echo();
  auto const sink = std::make_shared<Recorder>();
  sink->cut = {1, 65535, 65536, 3, 100000};
  auto const connection = this->connect(*listener, sink);
  auto const bytes = std::make_shared<std::vector<std::byte>>(noise(400000, 1));
  Outgoing frame;
  frame.keep = bytes;
  for (std::size_t at = 0; at < bytes->size(); at += 70001) {
    frame.pieces.push_back(ConstBytes(*bytes).subspan(at, std::min<std::size_t>(70001, bytes->size() - at)));
  }
  connection->send(std::move(frame));
  ASSERT_TRUE(sink->wait_for_frames(1));
  EXPECT_EQ(sink->frames()[0].payload, *bytes);
  connection->close();
}

TYPED_TEST(EveryTransport, ManyConnectionsAndThreadsShareFewThreads) {
  auto const listener = this->listen_echo();
  std::vector<std::thread> threads;
  std::atomic<int> fine = 0;
  for (unsigned c = 0; c < 24; ++c) {
    threads.emplace_back([&, c] {
      auto const sink = std::make_shared<Recorder>();
      auto const connection = this->connect(*listener, sink);
      for (unsigned i = 0; i < 40; ++i) this->send(*connection, i, noise(i * 37 + c, i + c));
      if (!sink->wait_for_frames(40)) return;
      auto const frames = sink->frames();
      for (unsigned i = 0; i < 40; ++i) {
        if (frames[i].header.request == i && frames[i].payload == noise(i * 37 + c, i + c)) ++fine;
      }
      connection->close();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(fine, 24 * 40);
}

TYPED_TEST(EveryTransport, NobodyListeningIsRefusedByName) {
  auto listener = this->listen_echo();
  auto const endpoint = listener->endpoint();
  listener.reset();
  auto const connection = this->transport.connect(endpoint, std::make_shared<Recorder>(), std::chrono::seconds(5));
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code(), Errc::transport_refused);
  EXPECT_NE(std::string(connection.error().what()).find(to_string(endpoint)), std::string::npos);
}

TYPED_TEST(EveryTransport, AnEndpointIsListenedToOnce) {
  auto const listener = this->listen_echo();
  auto const second =
      this->transport.listen({.endpoint = listener->endpoint(), .pages = {}}, [](auto const&) { return nullptr; });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Errc::transport_in_use);
}

TYPED_TEST(EveryTransport, ClosingIsSeenByTheOtherSide) {
  auto const listener = this->listen_echo();
  auto const sink = std::make_shared<Recorder>();
  auto const connection = this->connect(*listener, sink);
  this->send(*connection, 1, {});
  ASSERT_TRUE(sink->wait_for_frames(1));
  connection->close();
  ASSERT_TRUE(this->accepted[0]->wait_for_close());
  EXPECT_EQ(this->accepted[0]->closed()->code(), Errc::transport_closed);
}

TYPED_TEST(EveryTransport, EndOfTheListenerEndsWhatItAccepted) {
  auto listener = this->listen_echo();
  auto const sink = std::make_shared<Recorder>();
  auto const connection = this->connect(*listener, sink);
  this->send(*connection, 1, {});
  ASSERT_TRUE(sink->wait_for_frames(1));
  listener.reset();
  ASSERT_TRUE(sink->wait_for_close());
  connection->close();
}

TYPED_TEST(EveryTransport, FinishSendsWhatIsQueuedFirst) {
  auto const listener = this->listen_echo();
  auto const sink = std::make_shared<Recorder>();
  auto const connection = this->connect(*listener, sink);
  this->send(*connection, 1, {});
  ASSERT_TRUE(sink->wait_for_frames(1));
  for (unsigned i = 0; i < 8; ++i) this->send(*this->connections[0], 100 + i, noise(100000, i));
  this->connections[0]->finish();
  ASSERT_TRUE(sink->wait_for_close());
  EXPECT_EQ(sink->frames().size(), 9U);
  connection->close();
}

TYPED_TEST(EveryTransport, AfterCloseTheSinkIsLeftAlone) {
  auto const listener = this->listen_echo();
  for (unsigned round = 0; round < 20; ++round) {
    auto const sink = std::make_shared<Recorder>();
    auto const connection = this->connect(*listener, sink);
    for (unsigned i = 0; i < 8; ++i) this->send(*connection, i, noise(200000, i));
    connection->close();
    auto const before = sink->frames().size();
    std::weak_ptr<Recorder> const weak = sink;
    this->send(*connection, 99, {});
    EXPECT_EQ(sink->frames().size(), before);
    EXPECT_FALSE(sink->closed());
  }
}

TYPED_TEST(EveryTransport, ARefusedHeaderEndsTheConnection) {
  auto const listener = this->listen_echo();
  auto const sink = std::make_shared<Recorder>();
  sink->refuse = [](Header const& header) -> std::optional<Error> {
    if (header.request == 2) return Error(Errc::wire_message, "no");
    return std::nullopt;
  };
  auto const connection = this->connect(*listener, sink);
  for (unsigned i = 1; i < 5; ++i) this->send(*connection, i, noise(10, i));
  ASSERT_TRUE(sink->wait_for_close());
  EXPECT_EQ(sink->frames().size(), 1U);
  ASSERT_TRUE(this->accepted[0]->wait_for_close());
}

}  // namespace
}  // namespace prdist::test
