#include <prdist/core/endpoint.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "../support/thrown.hpp"

using namespace prdist;
using test::holds;

TEST(Endpoint, ReadsHostAndPort) {
  auto const endpoint = parse_endpoint("10.89.176.11:36000");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "10.89.176.11");
  EXPECT_EQ(endpoint->port, 36000);
  EXPECT_EQ(parse_endpoint("pserver-0.train.svc:1")->port, 1);
  EXPECT_EQ(parse_endpoint("h:65535")->port, 65535);
}

TEST(Endpoint, ReadsIpv6InBrackets) {
  auto const endpoint = parse_endpoint("[fe80::1]:7164");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "fe80::1");
  EXPECT_EQ(endpoint->port, 7164);
}

TEST(Endpoint, TextReadsBackAsTheSameEndpoint) {
  for (auto const* text : {"10.0.0.4:36000", "[::1]:80", "localhost:65535", "[2001:db8::7]:1"}) {
    auto const endpoint = parse_endpoint(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(to_string(*endpoint), text);
  }
}

TEST(Endpoint, ErrorNamesTheTextWhatIsWrongAndTheWayOut) {
  struct Case {
    char const* text;
    char const* what;
  };
  for (auto const& [text, what] : {
           Case{"", "has no port"},
           Case{"10.0.0.4", "has no port"},
           Case{":80", "has no host"},
           Case{"[]:80", "has no host"},
           Case{"::1:80", "looks like IPv6 without brackets"},
           Case{"[::1:80", "looks like IPv6 without brackets"},
           Case{"http://10.0.0.4:80", "has a character no host name has"},
           Case{"host\n:80", "has a character no host name has"},
           Case{"[a]]:80", "has a character no host name has"},
           Case{"host/path:80", "has a character no host name has"},
           Case{"me@host:80", "has a character no host name has"},
           Case{" host:80", "has a character no host name has"},
           Case{"a,b:80", "has a character no host name has"},
           Case{"host:", "has no port between 1 and 65535"},
           Case{"host:0", "has no port between 1 and 65535"},
           Case{"host:65536", "has no port between 1 and 65535"},
           Case{"host:-1", "has no port between 1 and 65535"},
           Case{"host:+80", "has no port between 1 and 65535"},
           Case{"host:80 ", "has no port between 1 and 65535"},
           Case{"host:http", "has no port between 1 and 65535"},
           Case{"host:99999999999999999999", "has no port between 1 and 65535"},
       }) {
    auto const endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error().code(), Errc::config_invalid) << text;
    EXPECT_EQ(endpoint.error().what(),
              concat("prdist[config.invalid] '", text, "' ", what, ": write host:port, for example 10.0.0.4:36000"));
  }
}

TEST(Endpoint, ComparesByHostThenPort) {
  std::set<Endpoint> const all{{"b", 1}, {"a", 2}, {"a", 1}, {"a", 2}};
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(to_string(*all.begin()), "a:1");
  EXPECT_EQ(to_string(*all.rbegin()), "b:1");
}
