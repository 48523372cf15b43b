// The HTTP face of Beast's port.
#include <prdist/transport/beast.hpp>

#include <gtest/gtest.h>

#include "../support/any_transport.hpp"
#include "../support/raw_socket.hpp"
#include "../support/recorder.hpp"

namespace prdist::test {
namespace {

class BeastServer : public ::testing::Test {
 protected:
  Beast beast{SocketOptions{}};
  std::shared_ptr<Recorder> sink = std::make_shared<Recorder>();
  std::unique_ptr<Listener> listener =
      beast
          .listen({.endpoint = {"127.0.0.1", 0},
                   .pages =
                       [](std::string_view path, std::function<void(Page)> answer) {
                         if (path == "/late") {
                           std::thread([answer = std::move(answer)] { answer({200, R"({"late":true})"}); }).detach();
                         } else if (path == "/healthz") {
                           answer({200, R"({"status":"ok"})"});
                         } else {
                           answer({404, "{}"});
                         }
                       }},
                  [this](auto const&) { return sink; })
          .value();

  std::string ask(std::string_view request) {
    RawSocket raw(listener->endpoint());
    raw.say(request);
    return raw.hear();
  }
};

TEST_F(BeastServer, AnswersPeopleInJson) {
  auto const answer = ask("GET /healthz?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Type: application/json"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n{\"status\":\"ok\"}\n")) << answer;
}

TEST_F(BeastServer, APageMayAnswerFromAnotherThread) {
  EXPECT_NE(ask("GET /late HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").find("late"), std::string::npos);
}

TEST_F(BeastServer, HeadHasNoBody) {
  auto const answer = ask("HEAD /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST_F(BeastServer, KeepsTheConnectionForTheNextQuestion) {
  RawSocket raw(listener->endpoint());
  raw.say("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  auto const answers = raw.hear();
  EXPECT_NE(answers.find("200 OK"), std::string::npos) << answers;
  EXPECT_NE(answers.find("404 Not Found"), std::string::npos) << answers;
}

TEST_F(BeastServer, OtherVerbsAreNotAllowed) {
  EXPECT_TRUE(ask("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("HTTP/1.1 405 "));
}

TEST_F(BeastServer, NoiseIsABadRequest) {
  EXPECT_TRUE(ask("\x01\x02\x03 what is this\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

TEST_F(BeastServer, AHeaderWithoutEndIsRefused) {
  auto const answer = ask("GET / HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n");
  EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 400 ")) << answer.substr(0, 100);
}

TEST_F(BeastServer, ABodyIsRefused) {
  auto const answer = ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 4")) << answer.substr(0, 100);
}

TEST_F(BeastServer, UpgradesToFramesOnTheSameSocket) {
  RawSocket raw(listener->endpoint());
  raw.say("GET /v1/frames HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: prdist/1\r\n\r\n");
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) head += raw.hear(1);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
  Header header;
  header.request = 77;
  raw.say(ConstBytes(encode(header)));
  ASSERT_TRUE(sink->wait_for_frames(1));
  EXPECT_EQ(sink->frames()[0].header.request, 77U);
}

TEST_F(BeastServer, AServerThatDoesNotUpgradeIsNamed) {
  Tcp other;
  auto const silent = other.listen(anywhere(), [this](auto const&) { return sink; }).value();
  auto const failed = beast.connect(silent->endpoint(), std::make_shared<Recorder>(), std::chrono::milliseconds(500));
  ASSERT_FALSE(failed);
  EXPECT_NE(std::string(failed.error().what()).find(to_string(silent->endpoint())), std::string::npos);
}

TEST_F(BeastServer, APeerThatSaysNothingGetsNoAnswerInBoundedTime) {
  auto const [endpoint, descriptor] = listening_socket();  // accepts by the kernel, never answers
  auto const failed = beast.connect(endpoint, std::make_shared<Recorder>(), std::chrono::milliseconds(200));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Errc::transport_no_answer);
  ::close(descriptor);
}

}  // namespace
}  // namespace prdist::test
