// SPDX-License-Identifier: Apache-2.0
// Runs the launcher's work in a child of the process people see, so that neither can be killed without the other
// ending the job: when the visible process is killed, the worker gets SIGTERM from the kernel and ends the job in
// order; when the worker is killed, its orphans fall to the visible process, which kills them.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/signals.hpp>

namespace prdist {

namespace detail {

/// A program started with a closed standard descriptor would get a log file or socket in its place.
inline void open_standard_descriptors() noexcept {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
  }
}

inline void say(std::string_view text) {
  auto const line = concat(text, '\n');
  [[maybe_unused]] auto const written = ::write(STDERR_FILENO, line.data(), line.size());
}

template <class Work>
[[noreturn]] void work_in_child(Work&& work, pid_t visible) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != visible) std::_Exit(143);
  // Ctrl-C goes to the terminal's foreground group: there it reaches the visible process alone, which passes it on
  // once. Two would mean "kill at once".
  ::setpgid(0, 0);
  ::signal(SIGTTOU, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
  int code = prdist::exit_code(Errc::internal);
  try {
    code = std::forward<Work>(work)();
  } catch (std::exception const& error) {
    say(error.what());
  }
  std::exit(code);
}

}  // namespace detail

/// Runs `work` (returning an exit code) under guard and returns the code to exit with. To be called by a process with
/// one thread and no children; takes SIGCHLD and the ending signals, which reach `work` held back (signals.hpp).
template <class Work>
[[nodiscard]] int run_guarded(Work&& work) {
  detail::open_standard_descriptors();
  auto const held = hold_signals();
  adopt_orphans();
  std::fflush(nullptr);
  auto const visible = ::getpid();
  auto const worker = ::fork();
  if (worker < 0) {
    detail::say(Error(Errc::internal, "launcher: no process could be started: ", std::generic_category().message(errno),
                      ". Raise ulimit -u")
                    .what());
    return exit_code(Errc::internal);
  }
  if (worker == 0) detail::work_in_child(std::forward<Work>(work), visible);
  SignalSource signals(held);
  for (;;) {
    for (int const signal : signals.wait(std::chrono::milliseconds(1000))) {
      if (signal != SIGCHLD) ::kill(worker, signal);
    }
    std::optional<Ending> ending;
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid == worker) ending = ending_of(status);
    }
    if (!ending) continue;
    bool const swept = kill_children(std::chrono::seconds(5));
    if (ending->signal != 0) {
      detail::say(Error(Errc::internal, "launcher: its supervising process was killed by ", signal_name(ending->signal),
                        swept ? ": every process of the job has been ended" : ": look for left processes with ps")
                      .what());
    }
    return exit_code(*ending);
  }
}

}  // namespace prdist
