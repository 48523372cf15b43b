// SPDX-License-Identifier: Apache-2.0
// What a job came to: who ended how, what failed first, and the text people read.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/logs.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/printable.hpp>
#include <prdist/launch/rules.hpp>

namespace prdist {

struct MemberReport {
  JobMember member;
  pid_t pid = 0;
  std::optional<Ending> ending;  ///< none for a process that survived SIGKILL
  double seconds = 0;            ///< that it ran
  bool stopped = false;          ///< ended because the launcher ended it
  std::filesystem::path log;
  std::string host{};  ///< that it ran on; empty for this machine
};

struct JobReport {
  std::string job_id;
  std::string pod_name;
  Outcome outcome = Outcome::succeeded;
  int exit_code = 0;
  double seconds = 0;
  std::vector<MemberReport> members;         ///< by rank
  std::optional<std::size_t> first_failure;  ///< a rank
  std::string failed_elsewhere{};            ///< the cause, when it is a failure on another node
  unsigned restarts = 0;                     ///< of the whole job, before this run of it
  std::vector<MemberReport> fallen{};        ///< trainers that fell while the job went on, each time
  bool launcher_killed = false;              ///< what stopped the job is that the process people see was killed
  std::optional<Ending> launcher{};          ///< likewise, where it is known how a process of the launcher ended
};

namespace detail {

inline constexpr std::string_view out_of_memory = " (if nobody sent it, the machine ran out of memory: dmesg shows it)";

[[nodiscard]] inline std::string seconds_text(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", seconds);
  return text;
}

}  // namespace detail

/// Rank, role, host, pid, ending, seconds and log of each member, a line each, below a heading; the host only where
/// one is named.
[[nodiscard]] inline std::string table_of(JobReport const& report) {
  // A job on one machine needs no column for it.
  bool const hosts = std::ranges::any_of(report.members, [](auto const& each) { return !each.host.empty(); });
  std::vector<std::vector<std::string>> rows{{"rank", "role", "pid", "ended", "seconds", "log"}};
  if (hosts) rows.front().insert(rows.front().begin() + 2, "host");
  for (std::size_t rank = 0; rank < report.members.size(); ++rank) {
    auto const& each = report.members[rank];
    auto ended = each.ending ? to_string(*each.ending) : std::string(each.host.empty() ? "still there" : "unknown");
    if (each.stopped && each.ending) ended += ", stopped";
    if (report.first_failure == rank) ended += "  <- first failure";
    rows.push_back({concat(rank), to_string(each.member), concat(each.pid), ended, detail::seconds_text(each.seconds),
                    printable(each.log.native())});
    if (hosts) rows.back().insert(rows.back().begin() + 2, printable(each.host));
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (auto const& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) text += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    text += row.back() + '\n';
  }
  return text;
}

/// One sentence on why the job ended, with the next step; empty after success.
[[nodiscard]] inline std::string cause_of(JobReport const& report) {
  auto const after = concat(" after ", detail::seconds_text(report.seconds), " s");
  switch (report.outcome) {
    case Outcome::succeeded: return {};
    case Outcome::interrupted:
      if (report.launcher && report.launcher->signal != 0) {
        return concat("the launcher was killed by ", signal_name(report.launcher->signal), after,
                      report.launcher->signal == SIGKILL ? detail::out_of_memory : "");
      }
      if (report.launcher) return concat("the launcher ended with exit code ", report.launcher->code, after);
      if (report.launcher_killed) return concat("the job was stopped because prrun itself was killed", after);
      return concat("the job was stopped by ", signal_name(report.exit_code - 128), after);
    case Outcome::timed_out: {
      std::string stopped;
      for (auto const& each : report.members) {
        if (each.stopped) stopped += (stopped.empty() ? "" : ", ") + to_string(each.member);
      }
      return concat("the job passed its time limit", after, " (still running: ", stopped,
                    "): raise --timeout, or see their logs");
    }
    case Outcome::failed: break;
  }
  if (!report.first_failure) return report.failed_elsewhere;
  auto const& first = report.members.at(*report.first_failure);
  auto const ending = first.ending.value_or(Ending{});
  auto const how = ending.signal != 0 ? concat("was killed by ", signal_name(ending.signal))
                                      : concat("ended with exit code ", ending.code);
  auto const where = first.host.empty() ? std::string() : concat(" on ", first.host);
  return concat(to_string(first.member), where, ' ', how, " after ", detail::seconds_text(first.seconds), " s: see ",
                first.log.string(), ending.signal == SIGKILL ? detail::out_of_memory : "");
}

/// The end of the first failing member's log, each line behind "  | "; empty when nothing failed. Where the launcher
/// itself was killed it is the first trainer's, which shows how far the job was. When the log says that an address is
/// in use, a sentence on the flag that helps.
[[nodiscard]] inline std::string failing_log(JobReport const& report, std::size_t count = 10) {
  auto shown = report.first_failure;
  if (!shown && report.launcher) {
    auto const is_trainer = [](auto const& each) { return each.member.role == JobRole::trainer && each.host.empty(); };
    auto const first = std::ranges::find_if(report.members, is_trainer);
    if (first != report.members.end()) shown = static_cast<std::size_t>(first - report.members.begin());
  }
  if (!shown) return {};
  auto const& log = report.members.at(*shown).log;
  auto const lines = last_lines(log, count);
  auto const name = printable(log.native());
  if (lines.empty()) return concat(name, " is empty\n");
  auto text = concat("last lines of ", name, ":\n");
  bool in_use = false;
  for (auto const& line : lines) {
    text += concat("  | ", line, '\n');
    in_use = in_use || line.find("ddress already in use") != std::string::npos;
  }
  if (in_use && report.members.at(*shown).member.role == JobRole::server) {
    text += "a server that binds PADDLE_PORT itself without SO_REUSEADDR needs --no-listen-fd\n";
  }
  return text;
}

}  // namespace prdist
