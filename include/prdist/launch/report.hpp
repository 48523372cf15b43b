// SPDX-License-Identifier: Apache-2.0
// What a job came to: who ended how, what failed first, and the text people read.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/memory_limit.hpp>
#include <prdist/core/stop_signal.hpp>
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
  std::string host{};     ///< that it ran on; empty for this machine
  bool too_late = false;  ///< killed, because it had not ended when the grace of a job that was asked to stop was over
};

/// A node of a job on several, as far as another one knows.
struct NodeReport {
  std::size_t rank = 0;
  std::string name;
  std::string host;
  std::string state;  ///< running, trained, ended, left, lost, or failed for the first failure of the job
  int code = 0;       ///< of that failure
};

struct JobReport {
  std::string job_id;
  std::string pod_name;
  Outcome outcome = Outcome::succeeded;
  int exit_code = 0;
  double seconds = 0;
  std::vector<MemberReport> members;         ///< by rank
  std::optional<std::size_t> first_failure;  ///< a rank
  bool stopped_in_order = false;             ///< its first is no failure: a member that was asked to stop, and saved
  std::string failed_elsewhere{};            ///< the cause, when it is a failure on another node
  unsigned restarts = 0;                     ///< of the whole job, before this run of it
  std::vector<MemberReport> fallen{};        ///< trainers that fell while the job went on, each time
  std::vector<NodeReport> nodes{};           ///< by rank, of a job on several
  bool launcher_killed = false;              ///< what stopped the job is that the process people see was killed
  std::optional<Ending> launcher{};          ///< likewise, where it is known how a process of the launcher ended
  int signal = 0;                            ///< that interrupted the job
  std::chrono::milliseconds grace{0};        ///< that members had between SIGTERM and SIGKILL
  bool leftovers_too_late = false;           ///< what members had started was killed as a member that is too late
};

namespace detail {

/// What is known of a SIGKILL, which tells nothing itself; empty for another ending. `here`: on this machine.
[[nodiscard]] inline std::string killed_because(Ending const& ending, bool here = true) {
  if (!was_killed(ending)) return {};
  if (!ending.out_of_memory) return " (if nobody sent it, the machine ran out of memory: dmesg shows it)";
  auto const limit = here ? memory_limit() : 0;
  auto const of = limit == 0 ? std::string() : concat(" of ", limit >> 20, " MiB");
  return concat(" (the system killed it because the memory", of, " ran out: give the job more, or start fewer here)");
}

[[nodiscard]] inline std::string seconds_text(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", seconds);
  return text;
}

/// "30 s" or "0.5 s".
[[nodiscard]] inline std::string grace_text(std::chrono::milliseconds grace) {
  auto const count = grace.count();
  return count % 1000 == 0 ? concat(count / 1000, " s") : concat(static_cast<double>(count) / 1000, " s");
}

/// Of a job that a signal interrupted: the member whose code says that it could not do so in order.
[[nodiscard]] inline std::string who_could_not_save(JobReport const& report) {
  for (auto const& each : report.members) {
    if (report.exit_code > 128 || each.ending != Ending{report.exit_code, 0, false}) continue;
    return concat(", and ", to_string(each.member), " could not save: exit code ", report.exit_code, ", see ",
                  each.log.string());
  }
  return {};
}

/// Of a job that was asked to stop: who had to be killed for it, and how to mend that. Empty when nobody had.
[[nodiscard]] inline std::string who_was_too_late(JobReport const& report) {
  constexpr std::size_t most = 8;
  std::vector<std::string> names;
  for (auto const& each : report.members) {
    if (each.too_late) names.push_back(to_string(each.member));
  }
  auto const many = names.size();
  if (many > most) names.resize(most - 1);
  if (names.size() < many) names.push_back(concat(many - names.size(), " more"));
  if (report.leftovers_too_late) names.emplace_back("what members had started");
  if (names.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " and ";
    text += names[i];
  }
  bool const one = names.size() == 1;
  return concat(", and ", text, one ? " was" : " were", " killed after ", grace_text(report.grace),
                " of --grace: what ", one ? "it was" : "they were", " saving is lost, raise --grace");
}

}  // namespace detail

/// The member that a signal has reached, as its own log says; none where no log does.
[[nodiscard]] inline std::optional<std::size_t> asked_member(JobReport const& report) {
  for (std::size_t rank = 0; rank < report.members.size(); ++rank) {
    auto const& each = report.members[rank];
    auto const says = [](auto const& line) { return line.find(concat(asked_to_stop, "SIG")) != std::string::npos; };
    // One that the launcher has stopped later says the same.
    bool const by_itself = each.ending == Ending{128 + SIGTERM, 0, false} && !each.stopped;
    if (by_itself && std::ranges::any_of(last_lines(each.log, 100), says)) return rank;
  }
  return std::nullopt;
}

/// Paddle's line about the end of a job. One that was asked to stop, and did, has not failed.
[[nodiscard]] inline std::string_view pod_line(JobReport const& report) {
  if (report.outcome == Outcome::succeeded) return "Pod completed";
  bool const asked = report.outcome == Outcome::interrupted || report.stopped_in_order;
  bool const saved = report.exit_code > 128 && detail::who_was_too_late(report).empty();
  return asked && saved && !report.launcher_killed ? "Pod stopped" : "Pod failed";
}

/// Rank, role, host, pid, ending, seconds and log of each member, a line each, below a heading; the host only where
/// one is named.
[[nodiscard]] inline std::string table_of(JobReport const& report) {
  // A job on one machine needs no column for it.
  auto const asked = report.stopped_in_order ? asked_member(report) : std::nullopt;
  bool const hosts = std::ranges::any_of(report.members, [](auto const& each) { return !each.host.empty(); });
  std::vector<std::vector<std::string>> rows{{"rank", "role", "pid", "ended", "seconds", "log"}};
  if (hosts) rows.front().insert(rows.front().begin() + 2, "host");
  for (std::size_t rank = 0; rank < report.members.size(); ++rank) {
    auto const& each = report.members[rank];
    auto ended = each.ending ? to_string(*each.ending) : std::string(each.host.empty() ? "still there" : "unknown");
    if (each.stopped && each.ending) ended += ", stopped";
    if (asked == rank) ended += "  <- asked to stop";
    if (report.first_failure == rank && !report.stopped_in_order) ended += "  <- first failure";
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
  auto const lost = report.exit_code == 128 + SIGKILL ? detail::who_was_too_late(report) : std::string();
  switch (report.outcome) {
    case Outcome::succeeded: return {};
    case Outcome::interrupted:
      if (report.launcher && report.launcher->signal != 0) {
        return concat("the launcher was killed by ", signal_name(report.launcher->signal), after,
                      detail::killed_because(*report.launcher));
      }
      if (report.launcher) return concat("the launcher ended with exit code ", report.launcher->code, after);
      if (report.launcher_killed) return concat("the job was stopped because prrun itself was killed", after, lost);
      return concat("the job was stopped by ", signal_name(report.signal), after, detail::who_could_not_save(report),
                    lost);
    case Outcome::timed_out: {
      if (report.first_failure) {
        return concat("the job passed its time limit", after, ", waiting for its next try: raise --timeout");
      }
      if (report.members.empty()) {
        return concat("the job passed its time limit", after, ", before all its nodes had come: raise --timeout");
      }
      std::string stopped;
      for (auto const& each : report.members) {
        if (each.stopped) stopped += (stopped.empty() ? "" : ", ") + to_string(each.member);
      }
      return concat("the job passed its time limit", after, " (still running: ", stopped,
                    "): raise --timeout, or see their logs");
    }
    case Outcome::failed: break;
  }
  if (!report.first_failure) return concat(report.failed_elsewhere, lost);
  if (report.stopped_in_order) {
    auto const asked = asked_member(report);
    auto const& shown = report.members.at(asked.value_or(*report.first_failure));
    auto const on = asked && !shown.host.empty() ? concat(" on ", shown.host) : std::string();
    auto const who = concat(asked ? to_string(shown.member) + on : "a process of the job", " was asked to stop");
    if (!lost.empty()) return concat(who, after, lost, "; see ", shown.log.string());
    return concat(who, ", and the job has ended in order with exit code ", report.exit_code, after, ": see ",
                  shown.log.string());
  }
  auto const& first = report.members.at(*report.first_failure);
  auto const ending = first.ending.value_or(Ending{});
  auto const how = ending.signal != 0 ? concat("was killed by ", signal_name(ending.signal))
                                      : concat("ended with exit code ", ending.code);
  auto const where = first.host.empty() ? std::string() : concat(" on ", first.host);
  return concat(to_string(first.member), where, ' ', how, " after ", detail::seconds_text(first.seconds), " s: see ",
                first.log.string(), detail::killed_because(ending, first.host.empty()));
}

/// The end of the first failing member's log, each line behind "  | "; empty when nothing failed. Where the job was
/// asked to stop it is the log of the one that was; where the launcher itself was killed the first trainer's, which
/// shows how far the job was. When the log says that an address is in use, a sentence on the flag that helps.
[[nodiscard]] inline std::string failing_log(JobReport const& report, std::size_t count = 10) {
  auto shown = report.first_failure;
  if (report.stopped_in_order) shown = asked_member(report).value_or(*shown);
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
