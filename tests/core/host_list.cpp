#include <prdist/core/host_list.hpp>

#include <gtest/gtest.h>

#include "../support/thrown.hpp"

using namespace prdist;
using test::thrown;

namespace {

std::vector<Endpoint> of(std::string_view list, std::uint16_t port = 7164, PortLayout const& ports = {1, 1}) {
  return endpoints_of_hosts("PADDLE_INIT_PSERVERS", list, port, ports);
}

}  // namespace

TEST(HostList, EveryHostHasTheSameFirstPort) {
  EXPECT_EQ(of("127.0.0.1"), (std::vector<Endpoint>{{"127.0.0.1", 7164}}));
  EXPECT_EQ(of("10.0.0.1,ps-1.local,[fd00::1],fd00::2"),
            (std::vector<Endpoint>{{"10.0.0.1", 7164}, {"ps-1.local", 7164}, {"fd00::1", 7164}, {"fd00::2", 7164}}));
}

TEST(HostList, AHostThatStandsThereAgainHasTheNextPorts) {
  EXPECT_EQ(of("a,b,a,a", 100, {2, 1}), (std::vector<Endpoint>{{"a", 100}, {"b", 100}, {"a", 103}, {"a", 106}}));
}

TEST(HostList, WhatIsWrongIsSaid) {
  auto const refused = [](std::string_view list, std::string const& what, std::uint16_t port = 7164) {
    auto const error = thrown([&] { (void)of(list, port); });
    EXPECT_EQ(error.code(), Errc::config_invalid);
    EXPECT_EQ(error.message(), concat("PADDLE_INIT_PSERVERS='", list, "': ", what));
  };
  refused("", "a host is missing: write host,host");
  refused("a,", "a host is missing: write host,host");
  refused("a:7164", "'a:7164' has a port: hosts stand there alone, their first port is given apart");
  refused("[::1]:7164", "'[::1]:7164' has a port: hosts stand there alone, their first port is given apart");
  refused("a, b", "' b' has a character no host name has");
  refused("a,a", "the ports of server 1, 65536 and on, go beyond 65535: begin lower", 65534);
}
