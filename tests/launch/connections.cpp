#include <prdist/launch/connections.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <sstream>

#include <prdist/core/descriptor.hpp>
#include <prdist/launch/ports.hpp>

using namespace prdist;

TEST(Connections, AreCountedByTheServersPort) {
  std::istringstream table(
      "  sl  local_address rem_address   st tx_queue rx_queue\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n"
      "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000\n"
      "   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000\n"
      "   3: 0100007F:1F91 0100007F:C351 06 00000000:00000000\n"
      "nonsense\n");
  EXPECT_EQ(count_connections(table, {8080, 8081}), 1U) << "neither a listener, nor the other end, nor one that closes";
}

TEST(Connections, OfThisMachineComeAndGo) {
  auto port = bind_loopback().value();
  ASSERT_TRUE(start_listening(port));
  std::set<std::uint16_t> const ports{port.endpoint.port};
  EXPECT_EQ(open_connections(ports), 0U);
  Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port.endpoint.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address), 0);
  EXPECT_EQ(open_connections(ports), 1U);
  client.reset();
  EXPECT_EQ(open_connections(ports), 0U) << "it waits to be closed here, too";
}
