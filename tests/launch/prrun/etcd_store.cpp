// SPDX-License-Identifier: Apache-2.0
// The store over HTTP: the same expectations of a real etcd and of the server that a first node runs.
#include "etcd_store.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base64.hpp"
#include "etcd.hpp"
#include "responder.hpp"
#include "store_server.hpp"

using namespace prdist;
using launch_test::Etcd;
using prrun::EtcdStore;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

class HttpStore : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "etcd") {
      if (!launch_test::etcd_is_there()) GTEST_SKIP() << "etcd is not installed (Debian: etcd-server)";
      etcd_.emplace();
      master_ = etcd_->master();
    } else {
      auto port = bind_loopback().value();
      ASSERT_TRUE(start_listening(port));
      master_.endpoint = port.endpoint;
      server_.emplace(std::move(port.socket));
    }
  }

  std::optional<Etcd> etcd_;
  std::optional<prrun::StoreServer> server_;
  Master master_;
};

std::string name_of_kind(testing::TestParamInfo<std::string> const& info) {
  return info.param;
}

}  // namespace

TEST_P(HttpStore, ComparesAndSwaps) {
  EtcdStore store(master_);
  EXPECT_EQ(store.list("/prdist/").value().size(), 0U);
  EXPECT_TRUE(store.put_if("/prdist/a", "one", 0, 0).value());
  EXPECT_FALSE(store.put_if("/prdist/a", "two", 0, 0).value());
  auto const version = store.list("/prdist/").value().at(0).version;
  EXPECT_TRUE(store.put_if("/prdist/a", "two", version, 0).value());
  EXPECT_FALSE(store.put_if("/prdist/a", "three", version, 0).value());
  ASSERT_TRUE(store.put_if("/prdist/b", "", 0, 0).value());
  ASSERT_TRUE(store.put_if("/prdisu", "", 0, 0).value());
  auto const entries = store.list("/prdist/").value();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].key, "/prdist/a");
  EXPECT_EQ(entries[0].value, "two");
  EXPECT_GT(entries[0].version, version);
  EXPECT_EQ(entries[1].value, "");
}

TEST_P(HttpStore, AnyBytesAreAValue) {
  EtcdStore store(master_);
  std::string value;
  for (int i = 0; i < 70'000; ++i) value += static_cast<char>(i * 7);
  ASSERT_TRUE(store.put_if("/a", value, 0, 0).value());
  EXPECT_EQ(store.list("/a").value().at(0).value, value);
}

TEST_P(HttpStore, LeasesAreKeptGivenBackAndEnd) {
  EtcdStore store(master_);
  auto const lease = store.grant(seconds(60)).value();
  EXPECT_NE(lease, 0U);
  EXPECT_TRUE(store.keep_alive(lease).value());
  ASSERT_TRUE(store.put_if("/mine", "", 0, lease).value());
  ASSERT_TRUE(store.put_if("/stays", "", 0, 0).value());
  EXPECT_TRUE(store.revoke(lease));
  EXPECT_TRUE(store.revoke(lease)) << "twice is no harm";
  EXPECT_FALSE(store.keep_alive(lease).value());
  EXPECT_EQ(store.list("/").value().size(), 1U);
  auto const late = store.put_if("/mine", "", 0, lease);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Errc::job_stale) << late.error().what();
  // One that nobody keeps ends by the store's own clock.
  auto const short_one = store.grant(seconds(1)).value();
  ASSERT_TRUE(store.put_if("/short", "", 0, short_one).value());
  auto const deadline = std::chrono::steady_clock::now() + launch_test::patience;
  while (store.list("/short").value().size() == 1 && std::chrono::steady_clock::now() < deadline)
    ::poll(nullptr, 0, 20);
  EXPECT_EQ(store.list("/short").value().size(), 0U);
}

TEST_P(HttpStore, OneOfManyWinsEachSwap) {
  constexpr int threads = 4;
  constexpr int rounds = 5;
  EtcdStore(master_).put_if("/count", "0", 0, 0).value();
  std::vector<std::thread> counting;
  for (int t = 0; t < threads; ++t) {
    counting.emplace_back([&] {
      EtcdStore store(master_, milliseconds(20'000));
      for (int done = 0; done < rounds;) {
        auto const entry = store.list("/count").value().at(0);
        if (store.put_if("/count", concat(std::stoi(entry.value) + 1), entry.version, 0).value()) ++done;
      }
    });
  }
  for (auto& each : counting) each.join();
  EXPECT_EQ(EtcdStore(master_).list("/count").value().at(0).value, concat(threads * rounds));
}

INSTANTIATE_TEST_SUITE_P(Store, HttpStore, testing::Values("first_node", "etcd"), name_of_kind);

TEST(EtcdStoreErrors, NobodyThereAndSomebodyElseThereAreTwoThings) {
  auto const port = bind_loopback().value();
  EtcdStore refused({Master::Kind::etcd, port.endpoint});
  auto const nobody = refused.list("/");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code(), Errc::transport_refused);
  EXPECT_EQ(nobody.error().message(),
            concat("store: etcd://", to_string(port.endpoint), " cannot be asked: http: connecting to ",
                   to_string(port.endpoint), " failed: Connection refused"));
  // It listens and says nothing.
  ASSERT_TRUE(start_listening(port));
  EtcdStore silent({Master::Kind::first_node, port.endpoint}, milliseconds(50));
  EXPECT_EQ(silent.grant(seconds(1)).error().code(), Errc::transport_no_answer);
  // It speaks, but another language.
  std::thread stranger([&] {
    int const peer = ::accept(port.socket.get(), nullptr, nullptr);
    int const again = ::accept(port.socket.get(), nullptr, nullptr);
    EXPECT_GT(::write(again, "SSH-2.0-OpenSSH_9.2\r\n\r\n", 23), 0);
    ::close(peer);
    ::shutdown(again, SHUT_WR);
    char byte = 0;
    while (::read(again, &byte, 1) > 0) {
    }
    ::close(again);
  });
  EtcdStore wrong({Master::Kind::first_node, port.endpoint}, milliseconds(10'000));
  auto const other = wrong.list("/");
  stranger.join();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Errc::wire_not_prdist) << other.error().what();
  EXPECT_TRUE(std::string(other.error().what()).ends_with(": check --master, another program may have that port"))
      << other.error().what();
}

// What python3 -m http.server answers, and others that are no etcd: waiting does not mend it.
TEST(EtcdStoreErrors, AnotherProgramsAnswersAreFinalAndEtcdsOwnMayPass) {
  struct Case {
    int status;
    std::string body;
    Errc code;
    std::string told;
  };
  for (auto const& [status, body, code, told] : {
           Case{501, "<!DOCTYPE HTML>\n<html>\n<p>Unsupported method</p>\n</html>\n", Errc::wire_not_prdist,
                "status 501, <!DOCTYPE HTML>"},
           Case{404, "\n404 page not found\n", Errc::wire_not_prdist, "status 404, 404 page not found"},
           Case{500, "\x1b[2JTraceback", Errc::wire_not_prdist, R"(status 500, \x1b[2JTraceback)"},
           Case{500, "[]", Errc::wire_not_prdist, "status 500, []"},
           Case{200, "<html>\n</html>\n", Errc::wire_not_prdist, ""},
           Case{500, R"({"error":"etcdserver: mvcc: closed","code":13})", Errc::transport_failed,
                "answers 500, etcdserver: mvcc: closed"},
           Case{503, R"({"error":"x","code":14,"message":"etcdserver: no leader"})", Errc::transport_failed,
                "answers 503, etcdserver: no leader"},
           Case{502, "<html>\n<center>nginx</center>\n", Errc::transport_failed, "answers 502, <html>"},
           Case{429, "", Errc::transport_failed, "answers 429, "},
       }) {
    launch_test::Responder const responder(status, body);
    EtcdStore store({Master::Kind::etcd, responder.endpoint()}, milliseconds(10'000));
    auto const answer = store.list("/");
    ASSERT_FALSE(answer) << status << body;
    std::string const text = answer.error().what();
    EXPECT_EQ(answer.error().code(), code) << text;
    EXPECT_NE(text.find(told), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    bool const final = code == Errc::wire_not_prdist;
    EXPECT_EQ(text.ends_with(": check --master, another program may have that port"), final) << text;
  }
}

TEST(StoreServer, RefusesWhatItDoesNotUnderstand) {
  prrun::SharedKeys shared;
  using prrun::answer_to;
  EXPECT_EQ(answer_to(shared, "/v3/kv/range", "no json", {}).status, 400);
  EXPECT_EQ(answer_to(shared, "/v3/kv/range", "[]", {}).status, 400);
  EXPECT_EQ(answer_to(shared, "/v3/kv/range", R"({"key":"!"})", {}).status, 400);
  EXPECT_EQ(answer_to(shared, "/v3/kv/range", R"({"key":"YQ==","range_end":"eg=="})", {}).status, 400)
      << "a range that is not a prefix";
  EXPECT_EQ(answer_to(shared, "/v3/kv/txn", R"({"compare":[],"success":[]})", {}).status, 400);
  EXPECT_EQ(answer_to(shared, "/v3/lease/grant", R"({"TTL":"0"})", {}).status, 400);
  EXPECT_EQ(answer_to(shared, "/v3/kv/deleterange", R"({"key":"YQ=="})", {}).status, 404) << "nobody deletes";
  EXPECT_EQ(answer_to(shared, "/v3/kv/range", R"({"key":"YQ==","range_end":"Yg=="})", {}).body,
            R"({"header":{},"kvs":[]})");
}

TEST(Base64, IsReadAsItIsWritten) {
  for (auto const& [bytes, text] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xff\xfe", "//4="}}) {
    EXPECT_EQ(prrun::to_base64(bytes), text);
    EXPECT_EQ(prrun::from_base64(text), bytes);
  }
  for (auto const* wrong : {"Z", "Zg", "Zg=", "Z===", "Zm9*"}) EXPECT_FALSE(prrun::from_base64(wrong)) << wrong;
}
