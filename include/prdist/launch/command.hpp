// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end: text in, both streams out, all of it bounded in time and size. Words reach the
// program as they are, no shell reads them, and what must not stand in a process list goes over standard input.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/process.hpp>

namespace prdist {

struct CommandRequest {
  std::string program;  ///< a path; PATH is not searched (find_program)
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< NAME=value
  std::string input{};                   ///< what it reads from standard input
  std::chrono::milliseconds patience{30'000};
  std::size_t most = std::size_t{64} << 20;  ///< bytes of each stream
};

struct CommandResult {
  Ending ending;
  std::string out;
  std::string errors;

  /// The code a shell would show.
  [[nodiscard]] int code() const { return exit_code(ending); }
};

namespace detail {

/// Appends what the descriptor has; closes it at its end. False when there was nothing to read.
inline bool drain(Descriptor& from, std::string& text) {
  char chunk[16'384];
  auto const size = ::read(from.get(), chunk, sizeof chunk);
  if (size > 0) text.append(chunk, static_cast<std::size_t>(size));
  if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) from.reset();
  return size > 0;
}

/// Sends what fits of `rest`; closes the descriptor when all is sent or nobody reads any more.
inline void feed(Descriptor& into, std::string_view& rest) {
  auto const sent = rest.empty() ? 0 : ::send(into.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
  if (rest.empty() || (sent < 0 && errno != EINTR && errno != EAGAIN)) into.reset();
}

}  // namespace detail

/// Blocks until the program has ended, and kills it and its process group when `patience` passes. Fails only when it
/// cannot run (config.invalid), does not end in time (job.deadline) or writes more than is wanted (wire.too_large); how
/// it ended is in the result. What it left running may keep its streams: they are not waited for.
[[nodiscard]] inline Result<CommandResult> run_command(CommandRequest const& request) {
  int input[2];
  int out[2];
  int errors[2];
  auto const no_descriptors = [&] {
    return Error(Errc::internal, "launcher: no pipe to '", request.program, "': raise ulimit -n");
  };
  // A socket, whose writer is told by an error code and not by a signal that nobody reads.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0) return no_descriptors();
  Descriptor our_input(input[0]);
  Descriptor their_input(input[1]);
  if (::pipe2(out, O_CLOEXEC) != 0) return no_descriptors();
  Descriptor our_out(out[0]);
  Descriptor their_out(out[1]);
  if (::pipe2(errors, O_CLOEXEC) != 0) return no_descriptors();
  Descriptor our_errors(errors[0]);
  Descriptor their_errors(errors[1]);
  for (int const fd : {our_out.get(), our_errors.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);

  auto const pid = spawn({request.program, request.arguments, request.environment, their_out.get(), -1,
                          their_input.get(), their_errors.get()});
  if (!pid) return pid.error();
  their_input.reset();
  their_out.reset();
  their_errors.reset();
  Descriptor const process(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));

  CommandResult result;
  std::string_view rest = request.input;
  auto const deadline = std::chrono::steady_clock::now() + request.patience;
  bool ended = false;
  bool too_much = false;
  while (!ended && !too_much) {
    auto const left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    std::array<pollfd, 4> entries{pollfd{process.get(), POLLIN, 0}, pollfd{our_out.get(), POLLIN, 0},
                                  pollfd{our_errors.get(), POLLIN, 0}, pollfd{our_input.get(), POLLOUT, 0}};
    if (::poll(entries.data(), entries.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) break;
    if (entries[3].revents != 0) detail::feed(our_input, rest);
    if (entries[1].revents != 0) detail::drain(our_out, result.out);
    if (entries[2].revents != 0) detail::drain(our_errors, result.errors);
    ended = entries[0].revents != 0;
    too_much = std::max(result.out.size(), result.errors.size()) > request.most;
  }
  if (!ended) ::kill(-*pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (too_much) {
    return Error(Errc::wire_too_large, "launcher: '", request.program, "' wrote more than ", request.most,
                 " bytes: see what it does when it is called by hand");
  }
  if (!ended) {
    return Error(Errc::job_deadline, "launcher: '", request.program, "' did not end within ",
                 std::chrono::duration<double>(request.patience).count(), " s: see what it waits for by hand");
  }
  while (our_out && result.out.size() <= request.most && detail::drain(our_out, result.out)) {
  }
  while (our_errors && result.errors.size() <= request.most && detail::drain(our_errors, result.errors)) {
  }
  result.ending = ending_of(status);
  return result;
}

}  // namespace prdist
