// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of the launcher's socket: its server binds POD_IP:PADDLE_PORT itself, with SO_REUSEADDR
// or, given "plain", without. Its trainer tries until the server answers.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char**) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (std::string(std::getenv("TRAINING_ROLE")) == "PSERVER") {
    int const fd = ::socket(AF_INET, SOCK_STREAM, 0);
    int const reuse = argc > 1 ? 0 : 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    address.sin_port = htons(static_cast<unsigned short>(std::atoi(std::getenv("PADDLE_PORT"))));
    if (::bind(fd, generic, sizeof address) != 0 || ::listen(fd, 16) != 0) return std::perror("bind"), 9;
    int const peer = ::accept(fd, nullptr, nullptr);
    return ::write(peer, "hello", 5) == 5 ? 0 : 6;
  }
  std::string const server = std::getenv("PADDLE_PSERVERS_IP_PORT_LIST");
  address.sin_port = htons(static_cast<unsigned short>(std::atoi(server.substr(server.rfind(':') + 1).c_str())));
  for (int tries = 0; tries < 2000; ++tries) {
    int const fd = ::socket(AF_INET, SOCK_STREAM, 0);
    char text[16]{};
    bool const greeted = ::connect(fd, generic, sizeof address) == 0 && ::read(fd, text, sizeof text - 1) > 0;
    ::close(fd);
    if (greeted) return std::puts(text), 0;
    ::poll(nullptr, 0, 5);
  }
  return 8;
}
