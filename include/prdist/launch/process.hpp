// SPDX-License-Identifier: Apache-2.0
// Starts a process that cannot outlive its starter: it leads a process group of its own, so that it and what it
// starts can be signalled together, and the kernel kills it when the thread that started it goes.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

struct SpawnRequest {
  std::string program;  ///< a path; PATH is not searched (find_program)
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< NAME=value
  int output = STDERR_FILENO;            ///< takes stdout and stderr
  int handed_over = -1;                  ///< one more descriptor the program keeps, under its own number
  int input = -1;                        ///< standard input; empty when there is none
  int errors = -1;                       ///< takes stderr instead of `output`
};

namespace detail {

[[nodiscard]] inline std::vector<char*> pointers_to(std::vector<std::string> const& texts) {
  std::vector<char*> pointers;
  for (auto const& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// The child's side of spawn(). Only async-signal-safe calls: the starter may have threads, whose locks stay held.
[[noreturn]] inline void become(SpawnRequest const& request, char** arguments, char** environment, pid_t starter,
                                int complaint) noexcept {
  auto const give_up = [&] {
    int const error = errno;
    [[maybe_unused]] auto const written = ::write(complaint, &error, sizeof error);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != starter) ::_exit(127);  // it went before the line above took hold
  // The launcher ignores these two for its own console, and ignoring is inherited.
  for (int const signal : {SIGPIPE, SIGTTOU}) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // A background group that reads the terminal would be stopped, so there is nothing to read.
  int const input = request.input >= 0 ? request.input : ::open("/dev/null", O_RDONLY);
  if (input < 0 || ::dup2(input, STDIN_FILENO) < 0) give_up();
  if (input != STDIN_FILENO) ::close(input);
  int const errors = request.errors >= 0 ? request.errors : request.output;
  if (::dup2(request.output, STDOUT_FILENO) < 0 || ::dup2(errors, STDERR_FILENO) < 0) give_up();
  if (request.handed_over >= 0 && ::fcntl(request.handed_over, F_SETFD, 0) != 0) give_up();
  ::execve(request.program.c_str(), arguments, environment);
  give_up();
  ::_exit(127);
}

}  // namespace detail

/// Starts the program and returns its pid, which is also its process group, once it runs.
/// Descriptors that are not close-on-exec are inherited. Descriptors 0, 1 and 2 must be open in the caller. The caller
/// reaps the process, and the calling thread must live as long as it.
[[nodiscard]] inline Result<pid_t> spawn(SpawnRequest const& request) {
  auto const failed = [&](std::string_view what, std::string_view next) {
    return Error(Errc::internal, "launcher: cannot start '", request.program, "', ", what, ": ",
                 std::generic_category().message(errno), next);
  };
  std::vector<std::string> arguments{request.program};
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  auto const argument_pointers = detail::pointers_to(arguments);
  auto const environment_pointers = detail::pointers_to(request.environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("no pipe", ". Raise ulimit -n");
  Descriptor complaint(ends[0]);
  Descriptor child_end(ends[1]);
  auto const starter = ::getpid();
  auto const pid = ::fork();
  if (pid < 0) return failed("no process", ". Raise ulimit -u, or start fewer");
  if (pid == 0) {
    detail::become(request, const_cast<char**>(argument_pointers.data()),
                   const_cast<char**>(environment_pointers.data()), starter, child_end.get());
  }
  ::setpgid(pid, pid);  // whoever comes first: the group exists when spawn() returns
  child_end.reset();
  // The pipe closes unread when exec succeeds.
  int error = 0;
  ssize_t count = 0;
  while ((count = ::read(complaint.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (count != sizeof error) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  auto const hint = error == ENOEXEC  ? ". A script needs a first line such as #!/bin/sh"
                    : error == ENOENT ? ". Either it went away or the interpreter in its #! line does not exist"
                    : error == E2BIG  ? ". Arguments and environment are too long together"
                                      : ". Check its permissions and those of its folder";
  return Error(Errc::config_invalid, "launcher: cannot run '", request.program,
               "': ", std::generic_category().message(error), hint);
}

}  // namespace prdist
