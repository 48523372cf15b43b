// SPDX-License-Identifier: Apache-2.0
// A whole job on this machine: ports, logs, environments, processes, supervision and report, put together.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
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

/// A plan and the sockets that hold its ports.
struct LocalPlan {
  LaunchPlan plan;
  std::vector<BoundPort> servers;
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
    (server ? local.servers : local.others).push_back(std::move(*port));
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
    for (auto const& port : local.servers) {
      if (auto const listening = start_listening(port); !listening) return listening.error();
    }
  }
  auto const inherited = current_environment();
  std::vector<MemberReport> started;
  for (auto const& member : members_of(local.plan)) {
    auto const path = log_path(local.plan, member);
    auto const log = open_log(path);
    if (!log) return log.error();
    std::error_code ignored;
    std::filesystem::remove(progress_path(local.plan, member), ignored);  // the last run's would be shown as this one's
    std::optional<int> socket;
    if (member.role == JobRole::server && !local.servers.empty()) socket = local.servers[member.index].socket.get();
    auto const pid =
        spawn({job.program, job.arguments, environment_with(inherited, variables_of(local.plan, member, socket)),
               log->get(), socket.value_or(-1)});
    if (!pid) return pid.error();
    started.push_back({member, *pid, {}, 0, false, path});
    // The server alone keeps its socket: a copy here would go on taking connections after its death.
    if (socket) local.servers[member.index].socket.reset();
  }
  return started;
}

}  // namespace detail

/// Runs the job to its end and reports; an error means that it did not start. Owns all children of the process and
/// its ending signals, so it is called once, by a process with one thread (run_guarded).
[[nodiscard]] inline Result<JobReport> run_local(LocalJob const& job, Console& console) {
  auto const held = hold_signals();
  adopt_orphans();
  auto local = plan_local(job);
  if (!local) return local.error();
  auto const claim = claim_log_dir(job.log_dir);
  if (!claim) return claim.error();
  JobView view(local->plan, console, job.quiet);
  view.ready();
  auto members = detail::start_members(job, *local);
  if (!members) {
    kill_children(EndingRules::kill_patience);
    return members.error();
  }
  view.running();
  Supervisor supervisor(std::move(*members), job.limits, held);
  do {
    view.refresh(supervisor);
  } while (supervisor.step(std::chrono::milliseconds(supervisor.rules().ending() ? 20 : 100)));
  auto report = supervisor.report();
  report.job_id = job.job_id;
  report.pod_name = local->plan.pod_name;
  view.ended(report);
  return report;
}

}  // namespace prdist
