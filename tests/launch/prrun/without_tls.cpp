// SPDX-License-Identifier: Apache-2.0
// A prrun that was built without OpenSSL: this program has https_talk_without_tls.cpp in place of the library's part.
#include <gtest/gtest.h>

#include "api_server.hpp"
#include "etcd_store.hpp"

#include "../support.hpp"

using namespace prdist;

namespace {

constexpr auto says =
    "https: this prrun was built without OpenSSL and cannot ask 127.0.0.1:1: build it with libssl-dev, "
    "or do without TLS (etcd:// masters, manifests with discovery: dns)";

}  // namespace

TEST(WithoutTls, AnEtcdWithTlsIsRefused) {
  prrun::EtcdStore store({Master::Kind::etcd, {"127.0.0.1", 1}, true});
  auto const answer = store.list("/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Errc::config_invalid);
  EXPECT_TRUE(
      std::string(answer.error().message()).starts_with(concat("store: etcds://127.0.0.1:1 cannot be asked: ", says)))
      << answer.error().what();
}

TEST(WithoutTls, PodsAreNotListed) {
  launch_test::TempFolder account;
  launch_test::write_file(account / "token", "t");
  auto const pods = prrun::list_pods({"127.0.0.1", "1", "team-a", account.path(), launch_test::patience}, "x=y");
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().message(), says);
}
