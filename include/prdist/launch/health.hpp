// SPDX-License-Identifier: Apache-2.0
// Whether a member is alive, as a probe asks it: a server over HTTP on its own port, a trainer by the age of its
// progress file. Both answer within the time they are given.
#pragma once

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/endpoint.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/progress.hpp>

namespace prdist {

/// One line for people who ask why a pod was restarted.
struct Health {
  bool alive = false;
  std::string reason;
};

/// What a launcher writes into the progress file before the program does: that the program has not told anything yet.
inline constexpr std::string_view phase_of_silence = "started";

namespace detail {

class HealthCall {
 public:
  using Clock = std::chrono::steady_clock;

  HealthCall(Endpoint const& server, std::chrono::milliseconds patience)
      : name_(to_string(server)), deadline_(Clock::now() + patience) {}

  [[nodiscard]] Health ask(Endpoint const& server) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    auto const port = concat(server.port);
    if (int const error = ::getaddrinfo(server.host.c_str(), port.c_str(), &hints, &found); error != 0) {
      return {false, concat("server ", name_, ": the name has no address, ", ::gai_strerror(error))};
    }
    std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const addresses(found, &::freeaddrinfo);
    Health last{false, concat("server ", name_, ": no address")};
    for (auto const* each = addresses.get(); each != nullptr; each = each->ai_next) {
      last = ask_at(*each);
      if (last.alive) break;
    }
    return last;
  }

 private:
  [[nodiscard]] bool ready(int fd, short event) const {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    pollfd entry{fd, event, 0};
    return ::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(0, left.count()))) > 0;
  }

  [[nodiscard]] Health no(std::string_view what) const { return {false, concat("server ", name_, ' ', what)}; }

  [[nodiscard]] Health ask_at(addrinfo const& address) const {
    Descriptor const socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return no("cannot be asked: no socket");
    if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS) {
      return no(concat("cannot be reached: ", std::generic_category().message(errno)));
    }
    if (!ready(socket.get(), POLLOUT)) return no("does not take the connection in time");
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return no(concat("cannot be reached: ", std::generic_category().message(error)));
    auto const request = concat("GET /healthz HTTP/1.1\r\nHost: ", name_, "\r\nConnection: close\r\n\r\n");
    if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
      return no("closed the connection");
    }
    std::string answer;
    while (answer.size() < 12) {
      if (!ready(socket.get(), POLLIN)) return no("takes connections and does not answer in time");
      char text[512];
      auto const got = ::recv(socket.get(), text, sizeof text, 0);
      if (got <= 0) break;
      answer.append(text, static_cast<std::size_t>(got));
    }
    return judged(answer);
  }

  /// A server that is not ours may speak no HTTP, or know no such page: it lives all the same.
  [[nodiscard]] Health judged(std::string_view answer) const {
    int status = 0;
    if (!answer.starts_with("HTTP/1.") || answer.size() < 12 || !parse_number(answer.substr(9, 3), status)) {
      return {true, concat("server ", name_, " takes connections (it speaks no HTTP)")};
    }
    if (status == 200) return {true, concat("server ", name_, " serves")};
    if (status == 404) return {true, concat("server ", name_, " answers (it knows no /healthz)")};
    return no(concat("answers ", status, " to /healthz"));
  }

  std::string name_;
  Clock::time_point deadline_;
};

}  // namespace detail

/// Asks GET /healthz. Blocks for at most `patience`, beyond which only a slow name service can take it.
[[nodiscard]] inline Health server_health(Endpoint const& server, std::chrono::milliseconds patience) {
  return detail::HealthCall(server, patience).ask(server);
}

/// A trainer lives while its file was replaced within `most_age`. One that has told nothing at all is left alone: there
/// is nothing to judge it by.
[[nodiscard]] inline Health trainer_health(std::filesystem::path const& progress, std::chrono::seconds most_age,
                                           std::chrono::system_clock::time_point now) {
  struct stat status {};
  auto const last = read_progress(progress);
  if (!last || ::stat(progress.c_str(), &status) != 0) {
    return {false, concat("trainer: there is no progress file '", progress.string(), "': it has not been started yet")};
  }
  if (last->phase == phase_of_silence) return {true, "trainer runs and has told no progress"};
  auto const written = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  auto const age = std::chrono::duration_cast<std::chrono::seconds>(now - written);
  if (age <= most_age)
    return {true, concat("trainer moved ", std::max<std::int64_t>(0, age.count()), " s ago, ", to_string(*last))};
  return {false, concat("trainer has not moved for ", age.count(), " s (", most_age.count(), " s are allowed), ",
                        to_string(*last))};
}

}  // namespace prdist
