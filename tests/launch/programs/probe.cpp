// SPDX-License-Identifier: Apache-2.0
// A program that adopts the socket prrun hands over, as a server of prdist does. Server: says whether connections were
// queued from its first moment on, then greets every trainer. Trainer: connects once, without trying again, and says
// what it was greeted with. Given "leave" and a file, each writes a line there, the server its pid and port; the server
// ends well at SIGUSR1 and the trainer waits to be ended.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <prdist/core/endpoint.hpp>
#include <prdist/launch/progress.hpp>

namespace {

int serve() {
  auto const* const number = std::getenv("PRDIST_LISTEN_FD");
  if (number == nullptr) return std::puts("no socket"), 3;
  int const fd = std::atoi(number);
  int listening = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0) return std::perror("socket"), 4;
  sockaddr_in address{};
  size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  std::printf("listening=%d port=%d\n", listening, ntohs(address.sin_port));
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::listen(fd, SOMAXCONN);
  for (int left = std::atoi(std::getenv("PADDLE_TRAINERS_NUM")); left > 0; --left) {
    int const peer = ::accept(fd, nullptr, nullptr);
    if (peer < 0) return std::perror("accept"), 5;
    auto const text = std::string("hello from server ") + std::getenv("PADDLE_PSERVER_ID");
    if (::write(peer, text.data(), text.size()) < 0) return 6;
    ::close(peer);
  }
  return 0;
}

int train() {
  std::string list = std::getenv("PADDLE_PSERVERS_IP_PORT_LIST");
  for (std::size_t begin = 0; begin < list.size();) {
    auto const end = std::min(list.find(',', begin), list.size());
    auto const endpoint = prdist::parse_endpoint(list.substr(begin, end - begin)).value();
    begin = end + 1;
    int const fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return std::perror("connect"), 7;
    char text[64]{};
    if (::read(fd, text, sizeof text - 1) <= 0) return std::perror("read"), 8;
    std::puts(text);
    ::close(fd);
  }
  prdist::Progress progress;
  progress.examples = progress.total = 1000;
  progress.loss = 0.25;
  progress.phase = "done";
  prdist::write_progress(progress, std::chrono::steady_clock::now());
  return 0;
}

int wait_to_leave(bool server, char const* file) {
  sigset_t leave;
  ::sigemptyset(&leave);
  ::sigaddset(&leave, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &leave, nullptr);
  auto const word = server ? std::to_string(::getpid()) + ' ' + std::getenv("PADDLE_PORT") : "trainer";
  std::ofstream(file) << word + '\n';
  int signal = 0;
  return ::sigwait(&leave, &signal);
}

}  // namespace

int main(int argc, char** argv) {
  auto const* const role = std::getenv("TRAINING_ROLE");
  if (role == nullptr) return 2;
  if (argc == 3) return wait_to_leave(std::string(role) == "PSERVER", argv[2]);
  return std::string(role) == "PSERVER" ? serve() : train();
}
