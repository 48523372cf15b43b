#include <prdist/launch/rendezvous/master.hpp>

#include <gtest/gtest.h>

using namespace prdist;

// Paddle strips the letters of "etcd://" from both ends of the name: etcd-svc becomes -svc.
TEST(Master, NoLetterOfANameGetsLost) {
  EXPECT_EQ(parse_master("etcd://etcd-svc:2379").value(), (Master{Master::Kind::etcd, {"etcd-svc", 2379}}));
  EXPECT_EQ(parse_master("etcd://dct:2379").value(), (Master{Master::Kind::etcd, {"dct", 2379}}));
  EXPECT_EQ(to_string(parse_master("etcd://etcd-svc:2379/").value()), "etcd://etcd-svc:2379");
}

TEST(Master, AnSIsTls) {
  EXPECT_EQ(parse_master("etcds://etcd-svc:2379").value(), (Master{Master::Kind::etcd, {"etcd-svc", 2379}, true}));
  EXPECT_EQ(to_string(parse_master("etcds://[::1]:2379").value()), "etcds://[::1]:2379");
  EXPECT_FALSE(parse_master("etcd://etcd-svc:2379")->tls);
}

TEST(Master, WithoutASchemeItIsTheFirstNode) {
  EXPECT_EQ(parse_master("10.0.0.4:36000").value(), (Master{Master::Kind::first_node, {"10.0.0.4", 36000}}));
}

TEST(Master, HttpIsHowPaddleSpellsTheFirstNode) {
  for (auto const* text : {"http://10.0.0.4:36000", "http://10.0.0.4:36000/"}) {
    EXPECT_EQ(parse_master(text).value(), (Master{Master::Kind::first_node, {"10.0.0.4", 36000}})) << text;
  }
  EXPECT_EQ(to_string(parse_master("http://node-0:36000").value()), "node-0:36000");
}

TEST(Master, IPv6StandsInBrackets) {
  EXPECT_EQ(parse_master("[2001:db8::4]:36000")->endpoint, (Endpoint{"2001:db8::4", 36000}));
  EXPECT_EQ(to_string(parse_master("etcd://[::1]:2379").value()), "etcd://[::1]:2379");
}

TEST(Master, WhatIsWrongIsNamed) {
  std::string const way = ": write host:port, for example 10.0.0.4:36000, or etcd://host:2379, with TLS etcds://";
  for (auto const& [text, what] : std::initializer_list<std::pair<std::string, std::string>>{
           {"etcd://etcd-svc", "has no port"},
           {"10.0.0.4", "has no port"},
           {"10.0.0.4:0", "has no port between 1 and 65535"},
           {"10.0.0.4:99999", "has no port between 1 and 65535"},
           {":36000", "has no host"},
           {"2001:db8::4:36000", "looks like IPv6 without brackets"},
           {"https://10.0.0.4:36000", "asks for TLS, which the first node's store does not speak"},
           {"http://10.0.0.4", "has no port"},
           {"http://10.0.0.4:36000/v3", "has no port between 1 and 65535"},
           {"tcp://10.0.0.4:36000", "has a scheme that is neither etcd:// nor http://"},
           {"://10.0.0.4:36000", "has a scheme that is neither etcd:// nor http://"},
           {"etcd://a:2379,b:2379", "names several: one is enough"},
           {"a b:80", "has a character no host name has"}}) {
    auto const master = parse_master(text);
    ASSERT_FALSE(master) << text;
    EXPECT_EQ(master.error().message(), "launcher: --master '" + text + "' " + what + way);
  }
  for (auto const* const text : {"etcd://me:secret@10.0.0.4:2379", "etcd://me:sec@ret@10.0.0.4:2379"}) {
    EXPECT_EQ(parse_master(text).error().message(),
              "launcher: --master '***@10.0.0.4:2379' has a user: etcd is asked with certificates or openly, not with "
              "passwords" +
                  way)
        << "this is printed";
  }
}
