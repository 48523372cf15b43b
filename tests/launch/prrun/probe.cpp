// SPDX-License-Identifier: Apache-2.0
// prrun probe beside a server and beside trainers.
#include <prdist/launch/ports.hpp>
#include <thread>

#include "../support.hpp"

using launch_test::Prrun;
using launch_test::run_prrun;
using launch_test::TempFolder;
using launch_test::write_file;
using prdist::concat;

namespace {

Prrun::Variables server_pod(prdist::Endpoint const& server) {
  return {{"TRAINING_ROLE", "PSERVER"},
          {"PADDLE_PSERVERS_IP_PORT_LIST", concat("ctr-0.ctr:", server.port, ",ctr-1.ctr:1")},
          {"PADDLE_TRAINERS_NUM", "1"},
          {"PADDLE_PSERVER_ID", "0"},
          {"POD_IP", server.host}};
}

Prrun::Variables trainer_pod(TempFolder const& folder) {
  return {{"PADDLE_PSERVERS_NUM", "1"},
          {"PADDLE_PSERVERS_IP_PORT_LIST", "ctr-0.ctr:1"},
          {"PADDLE_TRAINERS_NUM", "1"},
          {"JOB_COMPLETION_INDEX", "1"},
          {"PADDLE_PORT", "1"},
          {"POD_IP", "127.0.0.1"},
          {"TMPDIR", folder.path().string()}};
}

}  // namespace

TEST(PrrunProbe, AServerIsAskedOnItsOwnPort) {
  auto const port = prdist::bind_loopback().value();
  auto const dead = run_prrun({"probe"}, server_pod(port.endpoint));
  EXPECT_EQ(dead.code(), 1);
  EXPECT_EQ(dead.out, concat("server ", to_string(port.endpoint), " cannot be reached: Connection refused\n"));
  EXPECT_EQ(dead.error, "");
  prdist::start_listening(port).value();
  std::thread server([&] {
    prdist::Descriptor const peer(::accept(port.socket.get(), nullptr, nullptr));
    char text[512];
    EXPECT_GT(::recv(peer.get(), text, sizeof text, 0), 0);
    std::string_view const answer = "HTTP/1.1 200 OK\r\n\r\n";
    ::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  });
  auto const alive = run_prrun({"probe"}, server_pod(port.endpoint));
  server.join();
  EXPECT_EQ(alive.code(), 0);
  EXPECT_EQ(alive.out, concat("server ", to_string(port.endpoint), " serves\n"));
}

TEST(PrrunProbe, AHungServerIsNotWaitedForLong) {
  auto const port = prdist::bind_loopback().value();
  prdist::start_listening(port).value();
  auto const finished = run_prrun({"probe", "--timeout", "0.1"}, server_pod(port.endpoint));
  EXPECT_EQ(finished.code(), 1);
  EXPECT_TRUE(finished.out.ends_with("takes connections and does not answer in time\n")) << finished.out;
}

TEST(PrrunProbe, ATrainersFileIsLookedAt) {
  TempFolder folder;
  auto const early = run_prrun({"probe"}, trainer_pod(folder));
  EXPECT_EQ(early.code(), 1);
  EXPECT_TRUE(early.out.starts_with("trainer: there is no progress file '")) << early.out;
  std::filesystem::create_directories(folder / "prdist");
  auto const file = folder / "prdist/progress";
  write_file(file, "step=3\n");
  EXPECT_EQ(run_prrun({"probe"}, trainer_pod(folder)).code(), 0);
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  auto const hung = run_prrun({"probe"}, trainer_pod(folder));
  EXPECT_EQ(hung.code(), 1);
  EXPECT_TRUE(hung.out.starts_with("trainer has not moved for 36")) << hung.out;
  EXPECT_EQ(run_prrun({"probe", "--max-age", "7200"}, trainer_pod(folder)).code(), 0);
}

TEST(PrrunProbe, FindsTheFileThatPrrunK8sMade) {
  TempFolder folder;
  launch_test::Mailbox mailbox(folder / "mail");
  auto variables = trainer_pod(folder);
  variables["JOB_PATH"] = folder.path().string();
  Prrun pod(folder, {"k8s", "--", "sh", "-c", "echo up >>mail; exec sleep 1000"}, variables);
  EXPECT_EQ(mailbox.next(), "up");
  auto const finished = run_prrun({"probe"}, trainer_pod(folder));
  EXPECT_EQ(finished.code(), 0) << finished.out;
  EXPECT_EQ(finished.out, "trainer runs and has told no progress\n");
  pod.signal(SIGTERM);
  EXPECT_EQ(pod.finish().code(), 143);
}

// The v2 document's pod is both, and the one that is not alive is named.
TEST(PrrunProbe, APodThatIsBothIsAskedTwice) {
  TempFolder folder;
  auto const port = prdist::bind_loopback().value();
  std::filesystem::create_directories(folder / "prdist");
  write_file(folder / "prdist/progress", "step=3\n");
  auto const finished = run_prrun({"probe"}, {{"JOB_NAME", "job"},
                                              {"CONF_PADDLE_GRADIENT_NUM", "3"},
                                              {"CONF_PADDLE_PORT", std::to_string(port.endpoint.port)},
                                              {"TMPDIR", folder.path().string()}});
  EXPECT_EQ(finished.code(), 1);
  EXPECT_EQ(finished.out, concat("server ", to_string(port.endpoint), " cannot be reached: Connection refused\n"));
}

TEST(PrrunProbe, AnEnvironmentThatDoesNotTellIsNotAlive) {
  auto const finished = run_prrun({"probe"});
  EXPECT_EQ(finished.code(), 1);
  EXPECT_TRUE(finished.out.starts_with("prdist[config.missing] k8s: PADDLE_TRAINERS_NUM is not set")) << finished.out;
  EXPECT_EQ(run_prrun({"probe", "please"}).code(), 64);
}

// The kubelet asks every pod every few seconds. The bound is for a loaded machine under a sanitizer; it takes some 5
// ms.
TEST(PrrunProbe, IsQuick) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "prdist");
  write_file(folder / "prdist/progress", "step=3\n");
  double best = 1e9;
  for (int i = 0; i < 5; ++i) best = std::min(best, run_prrun({"probe"}, trainer_pod(folder)).seconds);
  EXPECT_LT(best, 0.5);
}
