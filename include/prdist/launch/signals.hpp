// SPDX-License-Identifier: Apache-2.0
// The signals a launcher answers, read as data instead of interrupting it: no handler, no lock, no thread.
#pragma once

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <vector>

#include <prdist/core/descriptor.hpp>

namespace prdist {

/// Those that ask a job to end.
inline constexpr std::array<int, 4> ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// Holds SIGCHLD and the ending signals back from this thread, for a SignalSource to read, and returns their set.
/// What was ignored at the start stays so: nohup and background jobs of a shell mean it. SIGTERM is always heard.
inline sigset_t hold_signals() {
  sigset_t held;
  ::sigemptyset(&held);
  ::sigaddset(&held, SIGCHLD);
  for (int const signal : ending_signals) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN || signal == SIGTERM) ::sigaddset(&held, signal);
  }
  // An ignored SIGCHLD would let the kernel reap children and lose their codes.
  ::signal(SIGCHLD, SIG_DFL);
  ::pthread_sigmask(SIG_BLOCK, &held, nullptr);
  return held;
}

/// Reads signals that hold_signals() has held back in this process.
class SignalSource {
 public:
  explicit SignalSource(sigset_t const& held) : fd_(::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK)) {}

  /// Waits for at most `timeout` and returns the signals that came, in the order the kernel gives them.
  [[nodiscard]] std::vector<int> wait(std::chrono::milliseconds timeout) {
    pollfd entry{fd_.get(), POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(timeout.count()));
    std::vector<int> signals;
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) signals.push_back(static_cast<int>(info.ssi_signo));
    return signals;
  }

 private:
  Descriptor fd_;
};

}  // namespace prdist
