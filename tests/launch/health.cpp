// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/health.hpp>
#include <prdist/launch/ports.hpp>
#include <thread>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;
using launch_test::write_file;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A server that answers one connection with `answer` after it has read something.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : port_(bind_loopback().value()) {
    start_listening(port_).value();
    thread_ = std::thread([this, answer = std::move(answer)] {
      Descriptor const peer(::accept(port_.socket.get(), nullptr, nullptr));
      char text[1024];
      auto const got = ::recv(peer.get(), text, sizeof text, 0);
      request_.assign(text, got > 0 ? static_cast<std::size_t>(got) : 0);
      ::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    });
  }
  ~OneAnswer() { thread_.join(); }
  OneAnswer(OneAnswer const&) = delete;
  OneAnswer& operator=(OneAnswer const&) = delete;

  [[nodiscard]] Endpoint const& endpoint() const { return port_.endpoint; }
  [[nodiscard]] std::string request() {
    thread_.join();
    thread_ = std::thread([] {});
    return request_;
  }

 private:
  BoundPort port_;
  std::string request_;
  std::thread thread_;
};

}  // namespace

TEST(Health, AServerIsAskedForItsHealth) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  auto const health = server_health(server.endpoint(), launch_test::patience);
  EXPECT_TRUE(health.alive);
  EXPECT_EQ(health.reason, concat("server ", to_string(server.endpoint()), " serves"));
  EXPECT_TRUE(server.request().starts_with("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:"));
}

TEST(Health, AServerThatRefusesIsNotAlive) {
  OneAnswer server("HTTP/1.1 503 Service Unavailable\r\n\r\n");
  auto const health = server_health(server.endpoint(), launch_test::patience);
  EXPECT_FALSE(health.alive);
  EXPECT_TRUE(health.reason.ends_with(" answers 503 to /healthz")) << health.reason;
}

TEST(Health, ForeignServersLiveInTheirOwnWay) {
  OneAnswer unknown_page("HTTP/1.1 404 Not Found\r\n\r\n");
  EXPECT_TRUE(server_health(unknown_page.endpoint(), launch_test::patience).alive);
  OneAnswer other_protocol("\x01\x02");
  auto const health = server_health(other_protocol.endpoint(), launch_test::patience);
  EXPECT_TRUE(health.alive);
  EXPECT_TRUE(health.reason.ends_with("takes connections (it speaks no HTTP)")) << health.reason;
}

TEST(Health, ASilentServerIsNotWaitedForLong) {
  auto const port = bind_loopback().value();
  start_listening(port).value();
  auto const health = server_health(port.endpoint, milliseconds(50));
  EXPECT_FALSE(health.alive);
  EXPECT_TRUE(health.reason.ends_with("takes connections and does not answer in time")) << health.reason;
}

TEST(Health, NobodyThereIsSaid) {
  auto const port = bind_loopback().value();  // bound, and not listening
  auto const health = server_health(port.endpoint, launch_test::patience);
  EXPECT_FALSE(health.alive);
  EXPECT_TRUE(health.reason.ends_with("cannot be reached: Connection refused")) << health.reason;
  auto const unknown = server_health({"no-such-host.invalid", 1}, launch_test::patience);
  EXPECT_FALSE(unknown.alive);
  EXPECT_TRUE(unknown.reason.starts_with("server no-such-host.invalid:1: the name has no address")) << unknown.reason;
}

TEST(Health, ATrainerIsJudgedByTheAgeOfItsFile) {
  TempFolder folder;
  auto const file = folder / "progress";
  auto const now = std::chrono::system_clock::now();
  auto const missing = trainer_health(file, seconds(60), now);
  EXPECT_FALSE(missing.alive);
  EXPECT_EQ(missing.reason,
            concat("trainer: there is no progress file '", file.string(), "': it has not been started yet"));
  write_file(file, "step=7 phase=train\n");
  EXPECT_TRUE(trainer_health(file, seconds(60), now).alive);
  EXPECT_TRUE(trainer_health(file, seconds(60), now - seconds(5)).alive) << "a clock that was set back";
  auto const old = trainer_health(file, seconds(60), now + seconds(100));
  EXPECT_FALSE(old.alive);
  EXPECT_TRUE(old.reason.starts_with("trainer has not moved for ")) << old.reason;
  EXPECT_TRUE(old.reason.ends_with(" s (60 s are allowed), step=7 phase=train")) << old.reason;
}

// A Paddle program writes no progress: killing it for that would be the probe's own fault.
TEST(Health, ATrainerThatNeverTellsIsLeftAlone) {
  TempFolder folder;
  write_file(folder / "progress", concat("phase=", phase_of_silence, '\n'));
  auto const health =
      trainer_health(folder / "progress", seconds(60), std::chrono::system_clock::now() + seconds(9999));
  EXPECT_TRUE(health.alive);
  EXPECT_EQ(health.reason, "trainer runs and has told no progress");
}
