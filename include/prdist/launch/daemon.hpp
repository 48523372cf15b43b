// SPDX-License-Identifier: Apache-2.0
// A program that goes on in the background, and still says at its start what is wrong: the caller hears whether the
// daemon serves, or why not and with which exit code, before it returns.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

/// What became of a daemon's start: its process id, or an exit code and the reason.
struct DaemonStart {
  pid_t pid = 0;
  int exit_code = 0;
  std::string error{};
};

/// Opens `path` for what a process writes, behind what is there. @throws Error config.invalid
[[nodiscard]] inline Descriptor open_daemon_log(std::filesystem::path const& path) {
  // A FIFO would wait for who reads it, for ever.
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644));
  if (!file) {
    throw Error(Errc::config_invalid, "log '", path.string(),
                "' cannot be written: ", errno == ENXIO ? "nobody reads it" : std::generic_category().message(errno),
                ": name a file in a folder that is there");
  }
  ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
  return file;
}

/// Standard output and error of this process go to `file` from now on.
inline void write_to(Descriptor const& file) {
  std::fflush(nullptr);
  ::dup2(file.get(), STDOUT_FILENO);
  ::dup2(file.get(), STDERR_FILENO);
}

namespace detail {

/// One line to whoever waits for the daemon's start.
inline void tell_starter(int fd, std::string const& line) {
  for (std::size_t at = 0; at < line.size();) {
    auto const wrote = ::write(fd, line.data() + at, line.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // nobody waits any more
    at += static_cast<std::size_t>(wrote);
  }
}

/// Closes all descriptors but the standard ones and these two: a socket, a pipe or a lock of whoever started the daemon
/// would stay open for as long as it runs.
inline void close_inherited(int first, int second) {
  unsigned next = STDERR_FILENO + 1;
  for (int const kept : {std::min(first, second), std::max(first, second)}) {
    if (kept < 0) continue;
    auto const number = static_cast<unsigned>(kept);
    if (number > next) ::close_range(next, number - 1, 0);
    next = std::max(next, number + 1);
  }
  ::close_range(next, ~0U, 0);
}

/// The daemon itself. Never returns: what it leaves behind is its exit code.
template <class Body>
[[noreturn]] void run_daemon(Descriptor const& log_file, Descriptor told, Body& body) {
  if (Descriptor const nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC)); nothing) {
    ::dup2(nothing.get(), STDIN_FILENO);
  }
  write_to(log_file);
  close_inherited(log_file.get(), told.get());
  int code = 0;
  auto const fail = [&](int with, std::string_view why) {
    code = with;
    log(Level::error, why);
    if (told) tell_starter(told.get(), concat(with, ' ', why));
  };
  try {
    code = body([&] {
      tell_starter(told.get(), "0");
      told.reset();
    });
  } catch (Error const& error) {
    fail(exit_code(error.code()), error.what());
  } catch (std::exception const& error) {
    fail(exit_code(Errc::internal), concat("unexpected: ", error.what()));
  }
  told.reset();
  std::fflush(nullptr);
  ::_exit(code);
}

/// What comes through `fd` until it is closed or the time is up; false then.
[[nodiscard]] inline bool read_all(int fd, std::chrono::milliseconds patience, std::string& text) {
  auto const until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd entry{fd, POLLIN, 0};
    auto const ready = ::poll(&entry, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char part[512];
    auto const got = ::read(fd, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(part, static_cast<std::size_t>(got));
  }
}

}  // namespace detail

/// Runs `body(ready)` in a process of its own, in a session of its own, with its output in `log_path`; returns to the
/// caller when body has called ready(), or has ended, or `patience` has passed. What body throws before that is the
/// caller's to hear. Body gets no descriptor of the caller but the standard ones. The calling process must have one
/// thread. @throws Error config.invalid when the log cannot be written, internal.error
template <class Body>
[[nodiscard]] DaemonStart start_daemon(std::filesystem::path const& log_path, std::chrono::milliseconds patience,
                                       Body body) {
  auto const failed = [](char const* what) {
    return Error(Errc::internal, "the daemon cannot be started: ", what, ": ", std::generic_category().message(errno));
  };
  auto const log_file = open_daemon_log(log_path);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe");
  Descriptor hears(ends[0]), tells(ends[1]);
  if (::pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe");
  Descriptor hears_pid(ends[0]), tells_pid(ends[1]);
  std::fflush(nullptr);
  auto const child = ::fork();
  if (child < 0) throw failed("fork");
  if (child == 0) {
    // A session without a terminal; and not its leader, so that it never gets one.
    ::setsid();
    auto const daemon = ::fork();
    if (daemon != 0) {
      if (daemon > 0) detail::tell_starter(tells_pid.get(), concat(daemon));
      ::_exit(daemon > 0 ? 0 : 1);
    }
    hears.reset();
    hears_pid.reset();
    tells_pid.reset();
    detail::run_daemon(log_file, std::move(tells), body);
  }
  tells.reset();
  tells_pid.reset();
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  DaemonStart start;
  std::string number;
  if (!detail::read_all(hears_pid.get(), patience, number) || !parse_number(number, start.pid)) throw failed("fork");
  std::string told;
  bool const ended = detail::read_all(hears.get(), patience, told);
  if (told == "0") return start;
  auto const space = told.find(' ');
  if (ended && space != std::string::npos && parse_number(std::string_view(told).substr(0, space), start.exit_code)) {
    start.error = told.substr(space + 1);
  } else {
    start.exit_code = prdist::exit_code(Errc::internal);
    start.error = concat("the daemon, process ", start.pid, ended ? ", has ended" : ", is not ready in time",
                         " and has not said why: see its log ", log_path.string());
  }
  return start;
}

}  // namespace prdist
