// SPDX-License-Identifier: Apache-2.0
// Finds what a job left behind. A process that called setsid() has left its group, but not the tree: with
// adopt_orphans() it becomes our child when its parent goes, and there it can be found and ended.
#pragma once

#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <prdist/core/text.hpp>

namespace prdist {

/// From now on orphaned descendants become children of this process instead of init's.
inline void adopt_orphans() noexcept {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/// Children of this process that still run, by own start or by adoption. A child's number stays its own until we
/// reap it, so signalling these can hit nobody else.
[[nodiscard]] inline std::vector<pid_t> living_children() {
  std::vector<pid_t> children;
  std::error_code error;
  // The kernel's own list of children (task/*/children) is optional at build time; the stat files always exist.
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    pid_t pid = 0;
    if (!parse_number(entry->path().filename().native(), pid)) continue;
    std::ifstream file(entry->path() / "stat");
    std::string line;
    std::getline(file, line);
    // pid (name) state parent ...; the name may hold anything, the last bracket ends it.
    auto const bracket = line.rfind(") ");
    if (bracket == std::string::npos || bracket + 4 >= line.size() || line[bracket + 2] == 'Z') continue;
    auto const rest = std::string_view(line).substr(bracket + 4);
    pid_t parent = 0;
    if (parse_number(rest.substr(0, rest.find(' ')), parent) && parent == ::getpid()) children.push_back(pid);
  }
  return children;
}

/// Kills every child, then what becomes a child by that, until none is left or `patience` is over; reaps them all and
/// tells `reaped(pid, status)` of each. False when something would not die.
template <class Reaped>
bool kill_children(std::chrono::milliseconds patience, Reaped&& reaped) {
  auto const deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) reaped(pid, status);
    auto const children = living_children();
    if (children.empty()) return true;
    for (auto const pid : children) ::kill(pid, SIGKILL);
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

inline bool kill_children(std::chrono::milliseconds patience) {
  return kill_children(patience, [](pid_t, int) {});
}

}  // namespace prdist
