#include <prdist/launch/ports.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <set>
#include <string>
#include <vector>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

namespace {

sockaddr_in address_of(Endpoint const& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
  return address;
}

/// 0, or the errno of connecting.
int connect_to(Endpoint const& endpoint) {
  Descriptor const socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto const address = address_of(endpoint);
  return ::connect(socket.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0 ? 0 : errno;
}

/// 0, or the errno of binding and listening, as a foreign server would.
int serve_on(Endpoint const& endpoint, bool reuse, Descriptor& socket) {
  socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int const flag = reuse ? 1 : 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &flag, sizeof flag);
  auto const address = address_of(endpoint);
  bool const bound = ::bind(socket.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
  return bound && ::listen(socket.get(), 4) == 0 ? 0 : errno;
}

}  // namespace

TEST(Ports, AreOwnedFromTheMomentTheyAreChosen) {
  std::vector<BoundPort> ports;
  std::set<std::uint16_t> numbers;
  for (int i = 0; i < 32; ++i) {
    ports.push_back(bind_loopback().value());
    EXPECT_TRUE(numbers.insert(ports.back().endpoint.port).second);
    EXPECT_EQ(ports.back().endpoint.host, "127.0.0.1");
  }
  Descriptor other;
  EXPECT_EQ(serve_on(ports.front().endpoint, false, other), EADDRINUSE);
}

TEST(Ports, BoundRefuseConnectionsAndListeningQueueThem) {
  auto const port = bind_loopback().value();
  EXPECT_EQ(connect_to(port.endpoint), ECONNREFUSED);
  ASSERT_TRUE(start_listening(port));
  EXPECT_EQ(connect_to(port.endpoint), 0);
}

// What makes a foreign server work without a flag.
TEST(Ports, BoundOnesCanBeTakenByAServerThatSetsReuseaddr) {
  auto const port = bind_loopback().value();
  Descriptor server;
  ASSERT_EQ(serve_on(port.endpoint, true, server), 0);
  EXPECT_EQ(connect_to(port.endpoint), 0);
}

TEST(Ports, AreNotInheritedByAccident) {
  auto const port = bind_loopback().value();
  EXPECT_EQ(::fcntl(port.socket.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Ports, ListeningOnAClosedSocketSaysWhere) {
  BoundPort const port{Descriptor(), {"127.0.0.1", 4711}};
  auto const failed = start_listening(port);
  ASSERT_FALSE(failed);
  EXPECT_STREQ(failed.error().what(),
               "prdist[transport.failed] launcher: listening on 127.0.0.1:4711 failed: Bad file descriptor");
}

TEST(Ports, RunningOutOfDescriptorsIsSaidWithTheWayOut) {
  auto const code = launch_test::in_child([] {
    rlimit const none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    auto const port = bind_loopback();
    std::string_view const text = port ? "" : port.error().what();
    auto const holds = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
    return holds("Too many open files") && holds("ulimit -n") ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(Ports, ProgramsThatAdoptTheSocketAreKnownByTheirFile) {
  TempFolder folder;
  launch_test::write_file(folder / "adopts", std::string(10'000, '\0') + "x PRDIST_LISTEN_FD" + '\0');
  launch_test::write_file(folder / "foreign", "#!/bin/sh\nexec server --port $PADDLE_PORT # PRDIST_LISTEN_F\n");
  launch_test::write_file(folder / "empty", "");
  EXPECT_TRUE(names_listen_fd(folder / "adopts"));
  EXPECT_FALSE(names_listen_fd(folder / "foreign"));
  EXPECT_FALSE(names_listen_fd(folder / "empty"));
  EXPECT_FALSE(names_listen_fd(folder / "missing"));
  EXPECT_FALSE(names_listen_fd(folder.path()));
  EXPECT_TRUE(names_listen_fd(PROBE_PATH));
  EXPECT_FALSE(names_listen_fd(FOREIGN_PATH));
}

TEST(Ports, AnEndpointsOwnAddressIsBound) {
  auto const free_port = bind_loopback().value().endpoint.port;
  auto const port = bind_endpoint({"127.0.0.1", free_port}).value();
  start_listening(port).value();
  EXPECT_EQ(connect_to({"127.0.0.1", free_port}), 0);
  EXPECT_EQ(connect_to({"127.0.0.2", free_port}), ECONNREFUSED) << "no other address is open";
}

TEST(Ports, ANameIsBoundOnAllAddresses) {
  auto const free_port = bind_loopback().value().endpoint.port;
  auto const port = bind_endpoint({"ctr-0.ctr", free_port}).value();
  start_listening(port).value();
  EXPECT_EQ(connect_to({"127.0.0.1", free_port}), 0);
  EXPECT_EQ(connect_to({"127.0.0.2", free_port}), 0);
}

TEST(Ports, AnEndpointThatCannotBeBoundIsNamed) {
  auto const taken = bind_loopback().value();
  start_listening(taken).value();
  auto const busy = bind_endpoint(taken.endpoint);
  ASSERT_FALSE(busy);
  EXPECT_EQ(std::string(busy.error().what()),
            concat("prdist[transport.in_use] launcher: ", to_string(taken.endpoint),
                   " cannot be bound: Address already in use. Choose another port, or check that the address is this "
                   "machine's"));
  auto const foreign = bind_endpoint({"192.0.2.1", 7164});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code(), Errc::config_invalid) << foreign.error().what();
}

TEST(Ports, OfAHostMayBeAnyThatIsFree) {
  auto const port = bind_endpoint({"127.0.0.2", 0}).value();
  EXPECT_EQ(port.endpoint.host, "127.0.0.2");
  ASSERT_TRUE(start_listening(port));
  EXPECT_EQ(connect_to(port.endpoint), 0);
  if (auto const v6 = bind_endpoint({"::1", 0})) {
    EXPECT_NE(v6->endpoint.port, 0);
  }
}
