// SPDX-License-Identifier: Apache-2.0
// A real etcd that shows a certificate and wants one, with every way in which that goes wrong.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "etcd.hpp"
#include "etcd_store.hpp"

using namespace prdist;
using launch_test::Certificates;
using launch_test::Etcd;
using launch_test::has;
using launch_test::Prrun;
using prrun::EtcdStore;
using prrun::TlsFiles;
using Words = std::vector<std::string>;

namespace {

class EtcdTls : public testing::Test {
 protected:
  void SetUp() override {
    if (!launch_test::etcd_is_there()) GTEST_SKIP() << "etcd is not installed (Debian: etcd-server)";
  }

  static std::string path(std::string const& name) { return Certificates::shared().path(name); }

  static Error refusal(Master const& master, TlsFiles const& files) {
    auto const answer = EtcdStore(master, launch_test::patience, files).list("/");
    return answer ? Error(Errc::internal, "it was let in") : answer.error();
  }

  /// Words of an error that only the certificates' owner can mend.
  static void expect_refused(Error const& error, Master const& master, std::string const& why) {
    EXPECT_EQ(error.code(), Errc::config_invalid) << error.what();
    auto const text = std::string(error.message());
    EXPECT_TRUE(text.starts_with(concat("store: ", to_string(master), " cannot be asked: https: "))) << text;
    EXPECT_TRUE(text.find(why) != std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("; they are given with --etcd_cacert, --etcd_cert and --etcd_key")) << text;
  }
};

}  // namespace

TEST_F(EtcdTls, IsAskedAsOneWithoutTls) {
  Etcd const etcd("server.crt");
  EtcdStore store(etcd.master(), launch_test::patience, etcd.files());
  EXPECT_TRUE(store.put_if("/prdist/a", "one", 0, 0).value());
  EXPECT_FALSE(store.put_if("/prdist/a", "two", 0, 0).value());
  EXPECT_EQ(store.list("/prdist/").value().at(0).value, "one");
  auto const lease = store.grant(std::chrono::seconds(60)).value();
  EXPECT_TRUE(store.keep_alive(lease).value());
  EXPECT_TRUE(store.revoke(lease));
}

TEST_F(EtcdTls, AnAuthorityThatIsNotTrustedIsRefused) {
  Etcd const etcd("server.crt");
  auto files = etcd.files();
  files.ca = path("other.crt");
  auto const text = concat("the certificate of ", to_string(etcd.master().endpoint), " is not trusted, ");
  expect_refused(refusal(etcd.master(), files), etcd.master(), text);
  expect_refused(refusal(etcd.master(), files), etcd.master(), concat(": check '", files.ca, "'"));
  files.ca.clear();
  expect_refused(refusal(etcd.master(), files), etcd.master(), ": check the system's authorities");
}

TEST_F(EtcdTls, ACertificateOfAnotherHostIsRefused) {
  Etcd const etcd("elsewhere.crt");
  expect_refused(refusal(etcd.master(), etcd.files()), etcd.master(), " is not trusted, ");
}

TEST_F(EtcdTls, AClientThatEtcdDoesNotKnowReadsSo) {
  Etcd const etcd("server.crt");
  auto files = etcd.files();
  auto const refuses = concat(to_string(etcd.master().endpoint), " refuses this client, ");
  files.certificate = path("stranger.crt");
  auto const stranger = refusal(etcd.master(), files);
  expect_refused(stranger, etcd.master(), refuses);
  expect_refused(stranger, etcd.master(), concat(": check '", files.certificate, "'"));
  auto const nobody = refusal(etcd.master(), {files.ca, {}, {}});
  expect_refused(nobody, etcd.master(), refuses);
  expect_refused(nobody, etcd.master(), ": it may want a certificate");
}

TEST_F(EtcdTls, FilesThatCannotBeUsedAreNamed) {
  // Nobody is asked before they are read.
  Master const master{Master::Kind::etcd, {"127.0.0.1", 1}, true};
  TlsFiles const files{path("ca.crt"), path("client.crt"), path("client.key")};
  auto const cannot = [](std::string const& what, std::string const& name) {
    return concat(what, " in '", path(name), "' cannot be used, ");
  };
  expect_refused(refusal(master, {path("none"), {}, {}}), master, cannot("the certificates", "none"));
  expect_refused(refusal(master, {files.ca, path("client.key"), files.key}), master,
                 cannot("the certificate", "client.key"));
  expect_refused(refusal(master, {files.ca, files.certificate, path("server.key")}), master,
                 cannot("the key", "server.key"));
  expect_refused(refusal(master, {files.ca, files.certificate, path("locked.key")}), master,
                 cannot("the key", "locked.key"));
}

// Both close without a word.
TEST_F(EtcdTls, OneWithAndOneWithoutTlsAreTwoThings) {
  Etcd const open;
  auto with = open.master();
  with.tls = true;
  auto const in_tls = refusal(with, {});
  EXPECT_EQ(in_tls.code(), Errc::transport_closed) << in_tls.what();
  EXPECT_TRUE(has(std::string(in_tls.message()), concat("https: speaking TLS with ", to_string(with.endpoint))))
      << in_tls.what();
  EXPECT_TRUE(std::string(in_tls.message()).ends_with(" (one without TLS is etcd://)")) << in_tls.what();
  Etcd const closed("server.crt");
  auto without = closed.master();
  without.tls = false;
  auto const plain = refusal(without, {});
  EXPECT_EQ(plain.code(), Errc::transport_closed) << plain.what();
  EXPECT_TRUE(std::string(plain.message()).ends_with(" (one with TLS is etcds://)")) << plain.what();
}

TEST(EtcdTlsErrors, WhoAnswersWithoutTlsIsNoEtcd) {
  auto const port = bind_loopback().value();
  ASSERT_TRUE(start_listening(port));
  std::thread stranger([&] {
    Descriptor const peer(::accept(port.socket.get(), nullptr, nullptr));
    EXPECT_GT(::write(peer.get(), "HTTP/1.1 400 Bad Request\r\n\r\n", 28), 0);
    ::shutdown(peer.get(), SHUT_WR);
    char byte = 0;
    while (::read(peer.get(), &byte, 1) > 0) {
    }
  });
  EtcdStore store({Master::Kind::etcd, port.endpoint, true}, launch_test::patience);
  auto const answer = store.list("/");
  stranger.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Errc::wire_not_prdist) << answer.error().what();
  std::string const text = answer.error().what();
  EXPECT_TRUE(has(text, concat("https: ", to_string(port.endpoint), " answers, but not with TLS"))) << text;
  EXPECT_TRUE(text.ends_with(": check --master, another program may have that port")) << text;
}

// By flags on the one node, by etcdctl's variables on the other.
TEST_F(EtcdTls, NodesMeetThere) {
  Etcd const etcd("server.crt");
  auto const files = etcd.files();
  Words const job{"--nnodes", "2", "--master", to_string(etcd.master()), "--server_grace", "0.1"};
  auto with_flags = job;
  for (auto const& word : {std::string("--etcd_cacert"), files.ca, std::string("--etcd-cert"), files.certificate,
                           std::string("--etcd_key"), files.key, std::string("true")}) {
    with_flags.push_back(word);
  }
  auto with_variables = job;
  with_variables.push_back("true");
  Prrun first(with_flags);
  Prrun second(with_variables,
               {{"ETCDCTL_CACERT", files.ca}, {"ETCDCTL_CERT", files.certificate}, {"ETCDCTL_KEY", files.key}});
  auto const one = first.finish();
  auto const two = second.finish();
  EXPECT_EQ(one.code(), 0) << one.error;
  EXPECT_EQ(two.code(), 0) << two.error;
  EXPECT_TRUE(has(one.error, concat(" of job default on ", to_string(etcd.master())))) << one.error;
  // What waiting does not mend is not waited for.
  auto const wrong = launch_test::run_prrun(
      {"--nnodes", "2", "--master", to_string(etcd.master()), "--etcd_cacert", path("other.crt"), "true"});
  EXPECT_EQ(wrong.code(), 78) << wrong.error;
  EXPECT_TRUE(has(wrong.error, " is not trusted, ")) << wrong.error;
}
