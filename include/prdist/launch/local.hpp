// SPDX-License-Identifier: Apache-2.0
// A job on this machine, or this machine's share of one: ports, logs, environments, processes, supervision and report,
// put together.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/guard.hpp>
#include <prdist/launch/listed_wait.hpp>
#include <prdist/launch/local_plan.hpp>
#include <prdist/launch/logs.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/ports.hpp>
#include <prdist/launch/process.hpp>
#include <prdist/launch/report.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/supervisor.hpp>
#include <prdist/launch/tries.hpp>
#include <prdist/launch/view.hpp>

namespace prdist {

namespace detail {

/// The log of the run before is kept as FILE.prev; that of a member that fell in this run is gone on with.
[[nodiscard]] inline Result<MemberReport> start_member(LocalJob const& job, LaunchPlan const& plan,
                                                       JobMember const& member, std::optional<int> socket, bool again) {
  auto const path = log_path(plan, member);
  auto log = again ? continued_log(path) : open_log(path, job.keep_logs);
  if (!log) return log.error();
  std::error_code ignored;
  std::filesystem::remove(progress_path(plan, member), ignored);  // the last run's would be shown as this one's
  auto const pid =
      spawn({job.program, job.arguments, environment_with(current_environment(), variables_of(plan, member, socket)),
             log->get(), socket.value_or(-1)});
  if (!pid) return pid.error();
  return MemberReport{member, *pid, {}, 0, false, path};
}

/// Starts every member, servers first. What was started before a failure is the caller's to end.
[[nodiscard]] inline Result<std::vector<MemberReport>> start_members(LocalJob const& job, LocalPlan& local) {
  if (!job.hand_over_sockets) {
    local.servers.clear();
    local.others.clear();
  } else if (names_listen_fd(job.program)) {
    for (auto const& [index, port] : local.servers) {
      if (auto const listening = start_listening(port); !listening) return listening.error();
    }
  }
  std::vector<MemberReport> started;
  for (auto const& member : members_here(local.plan)) {
    std::optional<int> socket;
    auto const port = member.role == JobRole::server ? local.servers.find(member.index) : local.servers.end();
    if (port != local.servers.end()) socket = port->second.socket.get();
    auto begun = start_member(job, local.plan, member, socket, false);
    if (!begun) return begun.error();
    started.push_back(std::move(*begun));
    if (job.ledger != nullptr) job.ledger->joined(started.back());
    // The server alone keeps its socket: a copy here would go on taking connections after its death.
    if (socket) port->second.socket.reset();
  }
  return started;
}

}  // namespace detail

/// A running job, for who looks at it between two steps of its supervisor.
struct LocalRun {
  Supervisor& supervisor;
  std::function<Result<void>(std::size_t)> start_again;  ///< a trainer that has fallen, by its rank; its log goes on
  std::function<JobReport()> report;                     ///< as it would be if the job ended now
};

/// Who knows of other nodes tells the supervisor what happened there, and decides what becomes of a trainer that has
/// fallen.
using Between = std::function<void(LocalRun const&)>;

/// Runs this node's members of a plan to their end and reports; an error means that they did not start. Owns all
/// children of the process and its ending signals, so it is called once, by a process with one thread (run_guarded)
/// that has called hold_signals() and adopt_orphans().
[[nodiscard]] inline Result<JobReport> run_planned(LocalJob const& job, LocalPlan local, sigset_t const& held,
                                                   Console& console, Between const& between = {}) {
  GuardWatch const guards(job.ledger);
  bool const shared = runs_in_part(local.plan) || local.plan.most_nodes > 1;
  auto const claim = claim_log_dir(job.log_dir, shared);
  if (!claim) return claim.error();
  // Nodes of one job have different logs; where one is written to, another job does.
  for (auto const& member : members_here(local.plan)) {
    auto const log = log_path(local.plan, member);
    if (!shared || !log_is_in_use(log)) continue;
    return Error(Errc::config_contradiction, "launcher: the log '", printable(log.native()),
                 "' is written by another job: give another folder with --log_dir");
  }
  if (!shared && job.restarts == 0) retire_first_tries(job.log_dir, job.keep_logs);
  if (!shared) retire_logs(job.log_dir, job.keep_logs);
  JobView view(local.plan, console, job.quiet, job.infos);
  view.ready();
  if (job.ledger != nullptr) job.ledger->begin(job.job_id, local.plan.pod_name, job.restarts);
  auto members = detail::start_members(job, local);
  if (!members) {
    kill_children(EndingRules::kill_patience);
    return members.error();
  }
  view.running();
  Supervisor supervisor(std::move(*members), job.limits, held, job.ledger);
  auto const trainers_here = std::ranges::count(members_here(local.plan), JobRole::trainer, &JobMember::role);
  supervisor.trainers_elsewhere(static_cast<std::size_t>(trainers_here) < local.plan.trainers.size());
  auto const start_again = [&](std::size_t rank) -> Result<void> {
    auto begun = detail::start_member(job, local.plan, supervisor.members().at(rank).member, {}, true);
    if (!begun) return begun.error();
    supervisor.started_again(rank, begun->pid);
    return {};
  };
  auto const report_now = [&] {
    auto report = supervisor.report();
    report.job_id = job.job_id;
    report.pod_name = local.plan.pod_name;
    guards.explain(report);
    return report;
  };
  LocalRun const run{supervisor, start_again, report_now};
  do {
    if (between) between(run);
    view.refresh(supervisor);
  } while (supervisor.step(std::chrono::milliseconds(supervisor.rules().ending() ? 20 : 100)));
  auto report = report_now();
  view.ended(report);
  return report;
}

namespace detail {

/// Waits for so long, or until a signal asks this process to end, which it returns.
[[nodiscard]] inline std::optional<int> pause_for(std::chrono::milliseconds time, sigset_t const& held,
                                                  Console& console) {
  SignalSource signals(held);
  auto const end = std::chrono::steady_clock::now() + time;
  for (;;) {
    console.flush({});
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    for (int const signal : signals.wait(left)) {
      if (signal != SIGCHLD) return signal;
    }
  }
}

}  // namespace detail

/// Runs a job on this machine, or this machine's members of one whose endpoints are listed, as run_planned() does. A
/// whole job that fails in a way that may pass is started again, all of it, up to job.max_restart times.
[[nodiscard]] inline Result<JobReport> run_local(LocalJob const& job, Console& console) {
  auto const held = hold_signals();
  adopt_orphans();
  auto const say = [&](std::string_view level, std::string_view text) {
    if (!job.quiet) console.error(launch_line(level, text, std::chrono::system_clock::now()));
  };
  GuardWatch const guards(job.ledger);
  auto const start = std::chrono::steady_clock::now();
  auto attempt = job;
  RestartPauses pauses(job.restart_delay);
  std::string first_cause;
  for (unsigned restarts = 0;; ++restarts) {
    auto local = plan_local(job);
    if (!local) return local.error();
    if (runs_in_part(local->plan) && std::exchange(attempt.max_restart, 0U) > 0) {
      say("WARNING", "max_restart is not used: the other nodes of the lists would not know of a restart");
    }
    attempt.restarts = restarts;
    ListedWait wait(local->plan, job.listed_patience, [&](std::string_view level, std::string_view text) {
      if (job.infos) say(level, text);
    });
    // A server of prdist ends by itself when all trainers have.
    bool const waits = runs_in_part(local->plan) && !names_listen_fd(job.program);
    auto report = run_planned(attempt, std::move(*local), held, console, [&](LocalRun const& run) {
      if (waits) wait.look(run.supervisor, std::chrono::steady_clock::now());
    });
    if (!report) return report;
    auto const ran = report->seconds;
    auto const passed = [&] { return std::chrono::steady_clock::now() - start; };
    auto const whole = [&] { return std::chrono::duration<double>(passed()).count(); };
    report->restarts = restarts;
    report->seconds = whole();
    bool const again =
        report->outcome == Outcome::failed && restarts < attempt.max_restart && may_try_again(report->exit_code);
    if (!again) {
      bool const failed = report->outcome != Outcome::succeeded;
      if (restarts > 0 && job.infos) say("INFO", concat("Restarts ", restarts, " of ", job.max_restart));
      if (restarts > 0 && failed) say("WARNING", concat("The first try failed so: ", first_cause));
      return report;
    }
    auto cause = cause_of(*report);
    if (job.keep_logs) cause += concat(", from now on *", restarts == 0 ? first_try : ".prev");
    if (restarts == 0) first_cause = cause;
    auto claim = claim_log_dir(job.log_dir);  // nobody else's while it waits
    if (claim && restarts == 0 && job.keep_logs) keep_first_try(report->members);
    auto pause = pauses.after(std::chrono::duration<double>(ran));
    say("WARNING", concat("Restart ", restarts + 1, " of ", job.max_restart, " of the whole job ", pause_text(pause),
                          ": ", cause));
    if (job.limits.timeout) {
      auto const left = *job.limits.timeout - std::chrono::duration_cast<std::chrono::milliseconds>(passed());
      pause = std::min(pause, std::max(left, std::chrono::milliseconds(0)));
    }
    auto const signal = detail::pause_for(pause, held, console);
    if (claim) claim->reset();  // the next try's
    if (job.limits.timeout) {
      auto const left = *job.limits.timeout - std::chrono::duration_cast<std::chrono::milliseconds>(passed());
      attempt.limits.timeout = std::max(left, std::chrono::milliseconds(0));
    }
    bool const out_of_time = attempt.limits.timeout && attempt.limits.timeout->count() == 0;
    if (!signal && !out_of_time) continue;
    report->outcome = signal ? Outcome::interrupted : Outcome::timed_out;
    report->signal = signal.value_or(0);
    report->exit_code = signal ? 128 + *signal : 124;
    report->seconds = whole();
    guards.explain(*report);
    say("ERROR", cause_of(*report));
    return report;
  }
}

}  // namespace prdist
