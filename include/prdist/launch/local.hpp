// SPDX-License-Identifier: Apache-2.0
// A job on this machine, or this machine's share of one: ports, logs, environments, processes, supervision and report,
// put together.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/logs.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/ports.hpp>
#include <prdist/launch/process.hpp>
#include <prdist/launch/report.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/supervisor.hpp>
#include <prdist/launch/view.hpp>

namespace prdist {

struct LocalJob {
  std::filesystem::path program;  ///< as find_program() gives it; every member runs it
  std::vector<std::string> arguments;
  std::size_t servers = 1;
  std::size_t trainers = 1;
  std::string job_id = "default";
  std::filesystem::path log_dir = "log";
  EndingLimits limits;
  bool quiet = false;
  bool hand_over_sockets = true;  ///< false releases every port just before the members start (ports.hpp)
};

/// A plan and the sockets that hold the ports of this node's members.
struct LocalPlan {
  LaunchPlan plan;
  std::map<std::size_t, BoundPort> servers;  ///< by the server's index
  std::vector<BoundPort> others;  ///< of trainers and gloo: bound for the job, so that nobody else takes them
};

[[nodiscard]] inline Result<LocalPlan> plan_local(LocalJob const& job) {
  LocalPlan local;
  local.plan.job_id = job.job_id;
  local.plan.log_dir = job.log_dir;
  std::random_device random;
  for (int i = 0; i < 6; ++i) local.plan.pod_name += static_cast<char>('a' + random() % 26);
  for (std::size_t i = 0; i < job.servers + job.trainers + 1; ++i) {
    auto port = bind_loopback();
    if (!port) return port.error();
    bool const server = i < job.servers;
    if (server) local.plan.servers.push_back(port->endpoint);
    if (!server && i < job.servers + job.trainers) local.plan.trainers.push_back(port->endpoint);
    if (i == job.servers + job.trainers) local.plan.gloo = port->endpoint;
    if (server) local.servers.emplace(i, std::move(*port));
    if (!server) local.others.push_back(std::move(*port));
  }
  return local;
}

namespace detail {

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
  auto const inherited = current_environment();
  std::vector<MemberReport> started;
  for (auto const& member : members_here(local.plan)) {
    auto const path = log_path(local.plan, member);
    auto const log = open_log(path);
    if (!log) return log.error();
    std::error_code ignored;
    std::filesystem::remove(progress_path(local.plan, member), ignored);  // the last run's would be shown as this one's
    std::optional<int> socket;
    auto const port = member.role == JobRole::server ? local.servers.find(member.index) : local.servers.end();
    if (port != local.servers.end()) socket = port->second.socket.get();
    auto const pid =
        spawn({job.program, job.arguments, environment_with(inherited, variables_of(local.plan, member, socket)),
               log->get(), socket.value_or(-1)});
    if (!pid) return pid.error();
    started.push_back({member, *pid, {}, 0, false, path});
    // The server alone keeps its socket: a copy here would go on taking connections after its death.
    if (socket) port->second.socket.reset();
  }
  return started;
}

}  // namespace detail

/// Called between two steps of the supervisor: who knows of other nodes tells it what happened there.
using Between = std::function<void(Supervisor&)>;

/// Runs this node's members of a plan to their end and reports; an error means that they did not start. Owns all
/// children of the process and its ending signals, so it is called once, by a process with one thread (run_guarded)
/// that has called hold_signals() and adopt_orphans().
[[nodiscard]] inline Result<JobReport> run_planned(LocalJob const& job, LocalPlan local, sigset_t const& held,
                                                   Console& console, Between const& between = {}) {
  auto const claim = claim_log_dir(job.log_dir);
  if (!claim) return claim.error();
  JobView view(local.plan, console, job.quiet);
  view.ready();
  auto members = detail::start_members(job, local);
  if (!members) {
    kill_children(EndingRules::kill_patience);
    return members.error();
  }
  view.running();
  Supervisor supervisor(std::move(*members), job.limits, held);
  do {
    if (between) between(supervisor);
    view.refresh(supervisor);
  } while (supervisor.step(std::chrono::milliseconds(supervisor.rules().ending() ? 20 : 100)));
  auto report = supervisor.report();
  report.job_id = job.job_id;
  report.pod_name = local.plan.pod_name;
  view.ended(report);
  return report;
}

/// Runs a whole job on this machine, as run_planned() does.
[[nodiscard]] inline Result<JobReport> run_local(LocalJob const& job, Console& console) {
  auto const held = hold_signals();
  adopt_orphans();
  auto local = plan_local(job);
  if (!local) return local.error();
  return run_planned(job, std::move(*local), held, console);
}

}  // namespace prdist
