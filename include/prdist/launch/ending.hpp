// SPDX-License-Identifier: Apache-2.0
// How a process ended, in the words of a shell: an exit code, or a signal by name.
#pragma once

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <string>

#include <prdist/core/text.hpp>

namespace prdist {

/// "SIGKILL"; "signal 40" for one without a name.
[[nodiscard]] inline std::string signal_name(int signal) {
  char const* const name = ::sigabbrev_np(signal);
  return name != nullptr ? concat("SIG", name) : concat("signal ", signal);
}

struct Ending {
  int code = 0;    ///< meaningful when signal is 0
  int signal = 0;  ///< what killed the process, or 0
  bool core_dumped = false;
  bool out_of_memory = false;  ///< the system killed it, because memory ran out

  [[nodiscard]] bool ok() const noexcept { return code == 0 && signal == 0; }

  friend bool operator==(Ending const&, Ending const&) = default;
};

/// From the status that waitpid() gives for a process that is gone.
[[nodiscard]] inline Ending ending_of(int status) noexcept {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status), WCOREDUMP(status) != 0};
  return {WEXITSTATUS(status), 0, false};
}

/// From what waitid() tells of a process that is gone.
[[nodiscard]] inline Ending ending_of(siginfo_t const& info) noexcept {
  if (info.si_code == CLD_EXITED) return {info.si_status, 0, false};
  return {0, info.si_status, info.si_code == CLD_DUMPED};
}

/// The code a shell would show: its own, or 128 + the signal.
[[nodiscard]] inline int exit_code(Ending const& ending) noexcept {
  return ending.signal != 0 ? 128 + ending.signal : ending.code;
}

/// By SIGKILL, itself or below a shell that says so by its code.
[[nodiscard]] inline bool was_killed(Ending const& ending) noexcept {
  return exit_code(ending) == 128 + SIGKILL;
}

/// Whether trying again may help a job that failed with this code (docs/launch_contract.md): not when its command line
/// or configuration is wrong, or its time is over.
[[nodiscard]] constexpr bool may_try_again(int code) noexcept {
  return code != 0 && code != 64 && code != 78 && code != 124;
}

/// "exit 7", "SIGSEGV, core dumped" or "SIGKILL, out of memory".
[[nodiscard]] inline std::string to_string(Ending const& ending) {
  return concat(ending.signal == 0 ? concat("exit ", ending.code) : signal_name(ending.signal),
                ending.core_dumped ? ", core dumped" : "", ending.out_of_memory ? ", out of memory" : "");
}

}  // namespace prdist
