#include <prdist/launch/rendezvous/address.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Address, IsTheOneTowardsTheMaster) {
  EXPECT_EQ(own_address(Endpoint{"127.0.0.1", 80}).value(), "127.0.0.1");
  EXPECT_EQ(own_address(Endpoint{"localhost", 80}).value(), host_of(resolve({"localhost", 80}).value()));
}

// On Debian the machine's own name has this address, and Paddle took it for the machine's.
TEST(Address, IsNeverWhatOnlyThisMachineKnows) {
  auto const own = address_outwards();
  EXPECT_NE(own, "127.0.1.1");
  EXPECT_EQ(own_address(std::nullopt).value(), own);
  auto const debian = resolve({"127.0.1.1", 80}).value();
  EXPECT_TRUE(is_name_of_loopback("gpu-17", debian));
  EXPECT_FALSE(is_name_of_loopback("127.0.1.1", debian)) << "who writes it means it";
  EXPECT_FALSE(is_name_of_loopback("localhost", debian));
  EXPECT_FALSE(is_name_of_loopback("gpu-17", resolve({"10.0.0.4", 80}).value()));
  EXPECT_TRUE(is_loopback(resolve({"::1", 80}).value()));
  EXPECT_FALSE(is_loopback(resolve({"2001:db8::4", 80}).value()));
}

TEST(Address, ANameThatNobodyKnowsIsNamed) {
  auto const own = own_address(Endpoint{"no-such-host.invalid", 80});
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code(), Errc::transport_unresolved);
  EXPECT_TRUE(own.error().message().starts_with("launcher: 'no-such-host.invalid' has no address, "))
      << own.error().what();
}

TEST(Address, PortsAreBoundOnIt) {
  auto const first = bind_free_port("127.0.0.2").value();
  auto const second = bind_free_port("127.0.0.2").value();
  EXPECT_EQ(first.endpoint.host, "127.0.0.2");
  EXPECT_NE(first.endpoint.port, 0);
  EXPECT_NE(first.endpoint.port, second.endpoint.port);
  auto const foreign = bind_free_port("192.0.2.1");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code(), Errc::config_invalid);
  EXPECT_TRUE(foreign.error().message().starts_with(
      "launcher: no port of '192.0.2.1' can be bound, is it an address of this machine? Give one with --host."))
      << foreign.error().what();
}

TEST(Address, IPv6Too) {
  auto const port = bind_free_port("::1");
  if (!port) GTEST_SKIP() << "no IPv6 here: " << port.error().what();
  EXPECT_EQ(to_string(port->endpoint), concat("[::1]:", port->endpoint.port));
  EXPECT_NE(port->endpoint.port, 0);
}
