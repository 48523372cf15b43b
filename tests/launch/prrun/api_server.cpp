// SPDX-License-Identifier: Apache-2.0
// Listing pods over HTTPS, with every way in which it goes wrong.
#include "api_server.hpp"

#include <prdist/launch/environment.hpp>

#include "../tls_server.hpp"

using namespace prdist;
using launch_test::environment_of;
using launch_test::error_of;
using launch_test::has;
using launch_test::ServiceAccount;
using launch_test::TlsServer;

namespace {

prrun::ApiServer at(TlsServer const& server, ServiceAccount const& account) {
  return {"127.0.0.1", server.port(), "team-a", account.path(), launch_test::patience};
}

constexpr auto one_pod = R"({"items":[{"metadata":{"name":"ctr-0"},"status":{"phase":"Running","podIP":"10.0.0.1"}}]})";

/// The error of a list that the server answers in this way.
std::string refusal(TlsServer::Answer const& answer) {
  TlsServer server([&](std::string const&) { return answer; });
  ServiceAccount const account;
  auto const pods = prrun::list_pods(at(server, account), "job-name=ctr");
  return pods ? std::string() : std::string(pods.error().what());
}

}  // namespace

TEST(ApiServer, ListsPodsWithTokenAndLabels) {
  TlsServer server([](std::string const&) { return TlsServer::Answer{200, one_pod}; });
  ServiceAccount const account;
  auto const pods = prrun::list_pods(at(server, account), "job-name=ctr,a in (b)");
  ASSERT_TRUE(pods) << pods.error().what();
  ASSERT_EQ(pods->size(), 1U);
  EXPECT_EQ(pods->at(0).name, "ctr-0");
  auto const requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_TRUE(requests[0].starts_with(
      "GET /api/v1/namespaces/team-a/pods?labelSelector=job-name%3Dctr%2Ca%20in%20%28b%29 HTTP/1.1\r\n"))
      << requests[0];
  EXPECT_TRUE(has(requests[0], "\r\nAuthorization: Bearer token-of-the-test\r\n")) << requests[0];
}

// start_paddle.py and PaddleRec's tools do not look at the certificate at all.
TEST(ApiServer, ACertificateOfAnotherAuthorityIsRefused) {
  TlsServer server([](std::string const&) { return TlsServer::Answer{200, one_pod}; });
  ServiceAccount const account("other.crt");
  auto const pods = prrun::list_pods(at(server, account), "job-name=ctr");
  ASSERT_FALSE(pods);
  std::string const text = pods.error().what();
  EXPECT_TRUE(text.starts_with(
      concat("prdist[config.invalid] https: the certificate of 127.0.0.1:", server.port(), " is not trusted, ")))
      << text;
  EXPECT_TRUE(text.ends_with("ca.crt'")) << text;
  EXPECT_TRUE(server.requests().empty()) << "the token was sent to a stranger";
}

TEST(ApiServer, ACertificateForAnotherHostIsRefused) {
  TlsServer server([](std::string const&) { return TlsServer::Answer{200, one_pod}; }, "elsewhere.crt");
  ServiceAccount const account;
  auto const pods = prrun::list_pods(at(server, account), "job-name=ctr");
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().code(), Errc::config_invalid) << pods.error().what();
  EXPECT_TRUE(server.requests().empty());
}

TEST(ApiServer, AnExpiredTokenIsNamed) {
  auto const text = refusal({401, R"({"kind":"Status","message":"Unauthorized","code":401})"});
  EXPECT_TRUE(has(text, "prdist[config.invalid] k8s: the apiserver at 127.0.0.1:")) << text;
  EXPECT_TRUE(has(text, " answers 401 to the token in '")) << text;
  EXPECT_TRUE(has(text,
                  "/token' and says: Unauthorized: it has expired or is another cluster's; let Kubernetes mount "
                  "the service account anew"))
      << text;
  EXPECT_FALSE(has(text, "token-of-the-test")) << "a secret in a message";
}

TEST(ApiServer, MissingRightsNameTheRole) {
  auto const text =
      refusal({403, R"({"kind":"Status","message":"pods is forbidden: User \"system:serviceaccount:team-a:)"
                    R"(default\" cannot list resource \"pods\"","code":403})"});
  EXPECT_TRUE(has(text,
                  "answers 403 and says: pods is forbidden: User \"system:serviceaccount:team-a:default\" cannot "
                  "list resource \"pods\": the service account needs a Role with the verb list on pods in namespace "
                  "team-a; prgen writes one with discovery: pods"))
      << text;
}

TEST(ApiServer, AWrongNamespaceIsNamed) {
  EXPECT_TRUE(has(refusal({404, "{}"}), "answers 404: check JOB_NAMESPACE='team-a'"));
}

TEST(ApiServer, WhatMayPassIsTemporary) {
  EXPECT_TRUE(refusal({503, "busy"}).starts_with("prdist[transport.failed] ")) << refusal({503, "busy"});
  EXPECT_TRUE(refusal({429, ""}).starts_with("prdist[transport.failed] "));
  auto const cut = refusal({200, std::string(one_pod), true});
  EXPECT_TRUE(cut.starts_with("prdist[transport.closed] https: reading from 127.0.0.1:")) << cut;
}

TEST(ApiServer, GarbageIsNoListOfPods) {
  EXPECT_TRUE(refusal({200, "<html>welcome to the proxy</html>"})
                  .starts_with("prdist[config.invalid] k8s: the apiserver's answer is no list of pods, it is no JSON"));
}

TEST(ApiServer, ASilentServerIsNotWaitedForLong) {
  TlsServer server([](std::string const&) { return TlsServer::Answer{200, "", false, true}; });
  ServiceAccount const account;
  auto access = at(server, account);
  access.patience = std::chrono::milliseconds(300);
  auto const pods = prrun::list_pods(access, "job-name=ctr");
  ASSERT_FALSE(pods);
  EXPECT_EQ(std::string(pods.error().what()),
            concat("prdist[transport.no_answer] https: 127.0.0.1:", server.port(), " has not answered within 300 ms"));
}

TEST(ApiServer, NobodyThereIsTemporary) {
  std::string port;
  {
    TlsServer server([](std::string const&) { return TlsServer::Answer{}; });
    port = server.port();
  }
  ServiceAccount const account;
  auto const pods = prrun::list_pods({"127.0.0.1", port, "team-a", account.path(), launch_test::patience}, "x=y");
  ASSERT_FALSE(pods);
  EXPECT_EQ(std::string(pods.error().what()),
            concat("prdist[transport.refused] https: connecting to 127.0.0.1:", port, " failed: Connection refused"));
}

TEST(ApiServer, FilesOfTheAccountAreNamed) {
  launch_test::TempFolder empty;
  prrun::ApiServer server{"127.0.0.1", "1", "team-a", empty.path(), launch_test::patience};
  EXPECT_EQ(std::string(prrun::list_pods(server, "x=y").error().what()),
            concat("prdist[config.missing] k8s: '", (empty / "token").string(),
                   "' holds no token: the pod needs automountServiceAccountToken: true"));
  launch_test::write_file(empty / "token", "t");
  std::string const text = prrun::list_pods(server, "x=y").error().what();
  EXPECT_TRUE(has(text, concat("prdist[config.invalid] https: the certificates in '", (empty / "ca.crt").string(),
                               "' cannot be used, ")))
      << text;
  server.port = "https";
  EXPECT_EQ(prrun::list_pods(server, "x=y").error().message(), "k8s: KUBERNETES_SERVICE_PORT='https' is no port");
  launch_test::write_file(empty / "token", "line\nInjected: header");
  EXPECT_TRUE(has(prrun::list_pods(server, "x=y").error().what(), "holds no token"));
}

TEST(ApiServer, IsFoundByTheEnvironmentOfAPod) {
  ServiceAccount const account;
  auto const server = prrun::api_server_from_env(environment_of({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                                                                 {"KUBERNETES_SERVICE_PORT_HTTPS", "6443"},
                                                                 {"https_proxy", "http://proxy:3128"},
                                                                 {"PRDIST_SERVICE_ACCOUNT", account.path().string()}}));
  EXPECT_EQ(server.host, "10.96.0.1");
  EXPECT_EQ(server.port, "6443");
  EXPECT_EQ(server.name_space, "team-a");
  EXPECT_EQ(server.account, account.path());
  auto const named = prrun::api_server_from_env(
      environment_of({{"KUBERNETES_SERVICE_HOST", "h"}, {"JOB_NAMESPACE", "n"}, {"KUBERNETES_SERVICE_PORT", "443"}}));
  EXPECT_EQ(named.name_space, "n");
  EXPECT_EQ(named.account, "/var/run/secrets/kubernetes.io/serviceaccount");
}

TEST(ApiServer, OutsideOfAPodItIsMissed) {
  EXPECT_EQ(
      error_of([] { return prrun::api_server_from_env(environment_of({})); }),
      "prdist[config.missing] k8s: pods have to be listed, but KUBERNETES_SERVICE_HOST is not set: this is no pod; "
      "set PADDLE_PSERVERS_IP_PORT_LIST and the ids, as docs/launch_contract.md shows");
  EXPECT_EQ(error_of([] {
              return prrun::api_server_from_env(
                  environment_of({{"KUBERNETES_SERVICE_HOST", "h"}, {"JOB_NAMESPACE", "a/../b"}}));
            }),
            "prdist[config.invalid] k8s: JOB_NAMESPACE='a/../b': a namespace of lower case letters, digits and '-' is "
            "expected");
}

// A token of a real cluster's default account: its pods are listed, or the refusal is the one for missing rights.
TEST(ApiServer, ARealClusterUnderstands) {
  if (std::getenv("KUBECONFIG") == nullptr) GTEST_SKIP() << "KUBECONFIG is not set: no cluster to ask";
  launch_test::TempFolder folder;
  auto const script = R"(set -e; cd "$0"
kubectl config view --raw --minify --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' |
  base64 -d >ca.crt
kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}' >server
kubectl -n default create token default >token)";
  auto const pid = spawn({"/bin/sh", {"-c", script, folder.path().string()}, current_environment(), STDERR_FILENO, -1});
  ASSERT_EQ(launch_test::reap(pid.value()), Ending{}) << "kubectl could not tell";
  auto url = launch_test::read_file(folder / "server");
  ASSERT_TRUE(url.starts_with("https://")) << url;
  auto const colon = url.rfind(':');
  bool const has_port = colon > 6;
  auto const pods =
      prrun::list_pods({url.substr(8, has_port ? colon - 8 : colon), has_port ? url.substr(colon + 1) : "443",
                        "default", folder.path(), launch_test::patience},
                       "job-name=no-such-job");
  EXPECT_TRUE(pods || has(pods.error().what(), " answers 403 and says: ")) << pods.error().what();
}
