// What Tcp does with peers that do not keep to the protocol, and with sockets it is handed.
#include <prdist/transport/tcp.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>

#include <atomic>

#include "../support/any_transport.hpp"
#include "../support/raw_socket.hpp"
#include "../support/recorder.hpp"

namespace prdist::test {
namespace {

class TcpServer : public ::testing::Test {
 protected:
  std::shared_ptr<Recorder> sink = std::make_shared<Recorder>();
  Tcp tcp{SocketOptions{.max_payload = 1 << 20}};
  std::unique_ptr<Listener> listener = tcp.listen(anywhere(), [this](auto const&) { return sink; }).value();

  static std::vector<std::byte> frame(Header header, std::vector<std::byte> const& payload) {
    header.payload = payload.size();
    auto const encoded = encode(header);
    std::vector<std::byte> bytes(header_bytes + payload.size() + checksum_count(payload.size()) * 8);
    std::copy(encoded.begin(), encoded.end(), bytes.begin());
    std::copy(payload.begin(), payload.end(), bytes.begin() + header_bytes);
    ConstBytes const piece(payload);
    write_checksums(std::span(&piece, 1), Bytes(bytes).subspan(header_bytes + payload.size()));
    return bytes;
  }

  Errc closed_with() {
    EXPECT_TRUE(sink->wait_for_close());
    return sink->closed() ? sink->closed()->code() : Errc::internal;
  }
};

TEST_F(TcpServer, TakesAFrameByteByByte) {
  RawSocket raw(listener->endpoint());
  auto const bytes = frame({}, noise(300, 1));
  for (std::size_t i = 0; i < bytes.size(); ++i) raw.say(ConstBytes(bytes).subspan(i, 1));
  ASSERT_TRUE(sink->wait_for_frames(1));
  EXPECT_EQ(sink->frames()[0].payload, noise(300, 1));
}

TEST_F(TcpServer, RefusesWhatIsNotOurProtocol) {
  RawSocket raw(listener->endpoint());
  raw.say("GET / HTTP/1.1\r\nHost: example\r\nUser-Agent: something that is long enough for a header\r\n\r\n");
  EXPECT_EQ(closed_with(), Errc::wire_not_prdist);
  EXPECT_EQ(raw.hear(), "");
}

TEST_F(TcpServer, RefusesAnotherVersion) {
  RawSocket raw(listener->endpoint());
  Header header;
  header.version = 9;
  raw.say(frame(header, {}));
  EXPECT_EQ(closed_with(), Errc::wire_version);
}

TEST_F(TcpServer, RefusesADamagedHeader) {
  RawSocket raw(listener->endpoint());
  auto bytes = frame({}, {});
  bytes[40] ^= std::byte{1};
  raw.say(bytes);
  EXPECT_EQ(closed_with(), Errc::wire_checksum);
}

TEST_F(TcpServer, RefusesADamagedPayload) {
  RawSocket raw(listener->endpoint());
  auto bytes = frame({}, noise(200000, 1));
  bytes[header_bytes + 150000] ^= std::byte{1};
  raw.say(bytes);
  EXPECT_EQ(closed_with(), Errc::wire_checksum);
  EXPECT_TRUE(sink->frames().empty());
}

TEST_F(TcpServer, RefusesALengthBeforeTakingMemoryForIt) {
  bool asked = false;
  sink->refuse = [&](Header const&) -> std::optional<Error> {
    asked = true;
    return std::nullopt;
  };
  RawSocket raw(listener->endpoint());
  Header header;
  header.payload = std::uint64_t{1} << 60;
  raw.say(ConstBytes(encode(header)));
  EXPECT_EQ(closed_with(), Errc::wire_too_large);
  EXPECT_FALSE(asked);
}

TEST_F(TcpServer, ATruncatedFrameIsNeverDelivered) {
  RawSocket raw(listener->endpoint());
  auto const bytes = frame({}, noise(5000, 1));
  raw.say(ConstBytes(bytes).first(bytes.size() - 1));
  raw.half_close();
  EXPECT_EQ(closed_with(), Errc::transport_closed);
  EXPECT_TRUE(sink->frames().empty());
}

TEST_F(TcpServer, ADescriptorThatIsNoListeningSocketIsNamed) {
  for (int const descriptor : {::open("/dev/null", O_RDONLY | O_CLOEXEC), ::socket(AF_INET, SOCK_STREAM, 0), 9999}) {
    auto const adopted =
        tcp.listen({.endpoint = {}, .descriptor = descriptor, .pages = {}}, [](auto const&) { return nullptr; });
    ASSERT_FALSE(adopted);
    EXPECT_EQ(adopted.error().code(), Errc::config_invalid);
    EXPECT_NE(std::string(adopted.error().what()).find(concat("PRDIST_LISTEN_FD=", descriptor)), std::string::npos);
    if (descriptor != 9999) ::close(descriptor);
  }
}

// As a launcher does for a program it does not know, such as a wrapper around one of ours.
TEST_F(TcpServer, ASocketThatIsOnlyBoundIsTakenToo) {
  int const descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  auto const door =
      tcp.listen({.endpoint = {}, .descriptor = descriptor, .pages = {}}, [this](auto const&) { return sink; }).value();
  EXPECT_EQ(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  RawSocket raw(door->endpoint());
  raw.say(frame({}, noise(10, 1)));
  EXPECT_TRUE(sink->wait_for_frames(1));
}

TEST_F(TcpServer, AnAddressOfAnotherMachineCannotBeListenedTo) {
  auto const elsewhere = tcp.listen({.endpoint = {"192.0.2.1", 0}, .pages = {}}, [](auto const&) { return nullptr; });
  ASSERT_FALSE(elsewhere);
  EXPECT_STREQ(elsewhere.error().what(),
               "prdist[config.invalid] cannot listen on 192.0.2.1:0: POD_IP must be an address of this machine");
}

TEST_F(TcpServer, AnUnknownHostIsUnresolved) {
  auto const nowhere = tcp.connect({"no..such..host", 1}, std::make_shared<Recorder>(), std::chrono::seconds(20));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), Errc::transport_unresolved);
}

TEST_F(TcpServer, ReadsNoMoreWhileTooMuchIsUnanswered) {
  class Busy final : public Recorder {
   public:
    std::size_t backlog() const override { return frames().size(); }
  };
  auto const busy = std::make_shared<Busy>();
  Tcp small(SocketOptions{.max_backlog = 3});
  auto const door = small.listen(anywhere(), [&](auto const&) { return busy; }).value();
  RawSocket raw(door->endpoint());
  for (int i = 0; i < 10; ++i) raw.say(frame({}, noise(10, 1)));
  ASSERT_TRUE(busy->wait_for_frames(3));
  // Nothing more can come: the third frame was the last that was read. A reader that went on would have had the
  // rest in its socket already.
  raw.half_close();
  EXPECT_EQ(busy->frames().size(), 3U);
}

TEST_F(TcpServer, AConnectionThatWaitsForAnswersLivesAndGoesOn) {
  class Busy final : public Recorder {
   public:
    std::atomic<std::size_t> answered = 0;
    std::size_t backlog() const override { return frames().size() - answered; }
  };
  auto const busy = std::make_shared<Busy>();
  std::vector<std::shared_ptr<FrameSink>> sinks{sink, busy};  // of the second connection, of the first
  std::weak_ptr<Connection> connection;
  Tcp small(SocketOptions{.max_backlog = 3});
  auto const door = small
                        .listen(anywhere(),
                                [&](std::shared_ptr<Connection> const& it) {
                                  auto const mine = sinks.back();
                                  if (mine == busy) connection = it;
                                  sinks.pop_back();
                                  return mine;
                                })
                        .value();
  RawSocket raw(door->endpoint());
  for (int i = 0; i < 10; ++i) raw.say(frame({}, noise(10, 1)));
  ASSERT_TRUE(busy->wait_for_frames(3));
  // The transport has one thread: when it serves another connection, it is done with the third frame of this one.
  RawSocket other(door->endpoint());
  other.say(frame({}, noise(10, 1)));
  ASSERT_TRUE(sink->wait_for_frames(1));

  for (std::size_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(busy->wait_for_frames(i));
    auto const alive = connection.lock();
    ASSERT_TRUE(alive);
    busy->answered = i;
    alive->send({});
  }
  EXPECT_FALSE(busy->closed());
}

TEST_F(TcpServer, APeerThatDoesNotReadCannotKeepItsConnection) {
  std::weak_ptr<Connection> connection;
  auto const door = tcp.listen(anywhere(),
                               [&](std::shared_ptr<Connection> const& it) {
                                 connection = it;
                                 return sink;
                               })
                        .value();
  RawSocket raw(door->endpoint());
  raw.say(frame({}, noise(10, 1)));
  ASSERT_TRUE(sink->wait_for_frames(1));
  auto const alive = connection.lock();
  ASSERT_TRUE(alive);
  auto const much =
      std::make_shared<std::vector<std::byte>>(noise(std::size_t{64} << 20, 1));  // more than sockets take
  alive->send({{}, {ConstBytes(*much)}, much});
  alive->finish();  // waits for the peer, for ever
  alive->abort();
  EXPECT_EQ(closed_with(), Errc::transport_closed);
}

TEST_F(TcpServer, TheReasonOfARefusalIsWhatTheSinkSaid) {
  sink->refuse = [](Header const&) -> std::optional<Error> { return Error(Errc::wire_message, "not this one"); };
  RawSocket raw(listener->endpoint());
  raw.say(frame({}, noise(10, 1)));
  ASSERT_TRUE(sink->wait_for_close());
  EXPECT_STREQ(sink->closed()->what(), "prdist[wire.message] not this one");
}

// Both sides have much to say at once. The server may leave requests unread; a client that did so too would never end.
TEST_F(TcpServer, MuchBothWaysDoesNotStop) {
  Tcp small(SocketOptions{.max_queued = 64 * 1024});
  auto const door = small
                        .listen(anywhere(),
                                [](std::shared_ptr<Connection> const& it) {
                                  auto echo = std::make_shared<Recorder>();
                                  echo->on_each = [weak = std::weak_ptr(it)](Recorder::Frame const& frame) {
                                    auto const copy = std::make_shared<std::vector<std::byte>>(frame.payload);
                                    if (auto const alive = weak.lock())
                                      alive->send({frame.header, {ConstBytes(*copy)}, copy});
                                  };
                                  return echo;
                                })
                        .value();
  auto const answers = std::make_shared<Recorder>();
  auto const connection = small.connect(door->endpoint(), answers, std::chrono::seconds(10)).value();
  auto const bytes = std::make_shared<std::vector<std::byte>>(noise(std::size_t{1} << 20, 1));
  for (int i = 0; i < 32; ++i) connection->send({{}, {ConstBytes(*bytes)}, bytes});
  EXPECT_TRUE(answers->wait_for_frames(32));
  connection->close();
}

}  // namespace
}  // namespace prdist::test
