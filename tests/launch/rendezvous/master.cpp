#include <prdist/launch/rendezvous/master.hpp>

#include <gtest/gtest.h>

using namespace prdist;

// Paddle strips the letters of "etcd://" from both ends of the name: etcd-svc becomes -svc.
TEST(Master, NoLetterOfANameGetsLost) {
  EXPECT_EQ(parse_master("etcd://etcd-svc:2379").value(), (Master{Master::Kind::etcd, {"etcd-svc", 2379}}));
  EXPECT_EQ(parse_master("etcd://dct:2379").value(), (Master{Master::Kind::etcd, {"dct", 2379}}));
  EXPECT_EQ(to_string(parse_master("etcd://etcd-svc:2379/").value()), "etcd://etcd-svc:2379");
}

TEST(Master, WithoutASchemeItIsTheFirstNode) {
  EXPECT_EQ(parse_master("10.0.0.4:36000").value(), (Master{Master::Kind::first_node, {"10.0.0.4", 36000}}));
}

TEST(Master, IPv6StandsInBrackets) {
  EXPECT_EQ(parse_master("[2001:db8::4]:36000")->endpoint, (Endpoint{"2001:db8::4", 36000}));
  EXPECT_EQ(to_string(parse_master("etcd://[::1]:2379").value()), "etcd://[::1]:2379");
}

TEST(Master, WhatIsWrongIsNamed) {
  std::string const way = ": write host:port, for example 10.0.0.4:36000, or etcd://host:2379";
  for (auto const& [text, what] : std::initializer_list<std::pair<std::string, std::string>>{
           {"etcd://etcd-svc", "has no port"},
           {"10.0.0.4", "has no port"},
           {"10.0.0.4:0", "has no port between 1 and 65535"},
           {"10.0.0.4:99999", "has no port between 1 and 65535"},
           {":36000", "has no host"},
           {"2001:db8::4:36000", "looks like IPv6 without brackets"},
           {"http://10.0.0.4:36000", "has a scheme that is not etcd://"},
           {"://10.0.0.4:36000", "has a scheme that is not etcd://"},
           {"etcd://me:secret@10.0.0.4:2379", "has a user: etcd with passwords is not supported"},
           {"etcd://a:2379,b:2379", "names several: one is enough"},
           {"a b:80", "has a character no host name has"}}) {
    auto const master = parse_master(text);
    ASSERT_FALSE(master) << text;
    EXPECT_EQ(master.error().message(), "launcher: --master '" + text + "' " + what + way);
  }
}
