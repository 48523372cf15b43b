// SPDX-License-Identifier: Apache-2.0
// For the case that all processes of a launcher are killed at once. What they started carries a mark in its
// environment, and one more process waits for their end: in a session of its own, no descendant of theirs and not
// called as they are. It kills what has the mark. What was started with a cleaned environment, has written over its own
// (setproctitle, perl's $0) or belongs to another user (sudo), unless the launcher is root's, escapes it.
#pragma once

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/shown_command_line.hpp>

namespace prdist {

/// The marks of all launchers that a process is below, with a comma between them.
inline constexpr char const* job_mark_variable = "PRDIST_JOB_MARK";

namespace detail {

/// Whether the process shows this mark. One of another user shows it to root alone, and one that has written its title
/// over its environment to nobody.
[[nodiscard]] inline bool carries_mark(std::filesystem::path const& process, std::string_view mark) {
  std::ifstream file(process / "environ", std::ios::binary);
  auto const start = concat(job_mark_variable, '=');
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(start)) return entry.find(mark) != std::string::npos;
  }
  return false;
}

/// One look through the system; whether anything with the mark was there, and has been sent SIGKILL.
[[nodiscard]] inline bool kill_marked_once(std::string_view mark) {
  bool found = false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    pid_t pid = 0;
    if (!parse_number(entry->path().filename().native(), pid) || pid == ::getpid()) continue;
    // Held before it is looked at, so that a number which changes its owner in between hits nobody else.
    Descriptor const handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!handle || !carries_mark(entry->path(), mark)) continue;
    found = true;
    ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
  }
  return found;
}

/// Kills what carries the mark until two looks in a row find nothing; a process that is just becoming another one has
/// no environment for a moment.
inline void kill_marked(std::string_view mark, std::chrono::milliseconds patience) {
  auto const deadline = std::chrono::steady_clock::now() + patience;
  for (int clean = 0; clean < 2 && std::chrono::steady_clock::now() < deadline;) {
    clean = kill_marked_once(mark) ? 0 : clean + 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace detail

class Sweeper {
 public:
  /// Starts it, and marks what this process starts from now on. To be called before adopt_orphans(), of which it would
  /// become a child, and with one thread. When all processes that hold a copy of this are gone without dismiss(), what
  /// has the mark is killed and `swept` called, in that other process. Where it cannot be started there is none.
  template <class Swept>
  explicit Sweeper(Swept&& swept) {
    auto const mark = new_mark();
    auto const* const above = std::getenv(job_mark_variable);
    ::setenv(job_mark_variable, (above == nullptr ? mark : concat(above, ',', mark)).c_str(), 1);
    int ends[2];
    // A socket, because writing to a pipe that nobody reads is SIGPIPE: where no process can be started, nobody does.
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    Descriptor const read_end(ends[0]);
    alive_.reset(ends[1]);
    auto const child = ::fork();
    if (child == 0) {
      // A grandchild whose parent has gone is nobody's descendant here.
      ::setsid();
      if (::fork() != 0) std::_Exit(0);
      alive_.reset();
      // By a name and a command line of its own, it is not among those that are killed by theirs.
      ::prctl(PR_SET_NAME, "job-sweeper");
      ShownCommandLine().show("job-sweeper");
      char dismissed = 0;
      ssize_t got = 0;
      while ((got = ::read(read_end.get(), &dismissed, 1)) < 0 && errno == EINTR) {
      }
      if (got == 0) {
        detail::kill_marked(mark, std::chrono::seconds(5));
        swept();
      }
      std::_Exit(0);
    }
    while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ~Sweeper() { dismiss(); }
  Sweeper(Sweeper const&) = delete;
  Sweeper& operator=(Sweeper const&) = delete;

  /// Nothing is left to sweep: it ends.
  void dismiss() noexcept {
    if (!alive_) return;
    [[maybe_unused]] auto const written = ::send(alive_.get(), "", 1, MSG_NOSIGNAL);
    alive_.reset();
  }

 private:
  [[nodiscard]] static std::string new_mark() {
    std::random_device random;
    return concat(::getpid(), '-', std::uint64_t{random()} << 32U | random());
  }

  Descriptor alive_;
};

}  // namespace prdist
