// SPDX-License-Identifier: Apache-2.0
// Runs one node's share of a job: its members with their environments, their logs in files and on the console, and the
// rules by which they end. The other nodes are run by others; what they share is at most the output folder.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/early_servers.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/guard.hpp>
#include <prdist/launch/health.hpp>
#include <prdist/launch/ledger.hpp>
#include <prdist/launch/log_tail.hpp>
#include <prdist/launch/logs.hpp>
#include <prdist/launch/node_plan.hpp>
#include <prdist/launch/ports.hpp>
#include <prdist/launch/process.hpp>
#include <prdist/launch/progress.hpp>
#include <prdist/launch/report.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/supervisor.hpp>
#include <prdist/launch/view.hpp>
#include <prdist/launch/workspace.hpp>

namespace prdist {

struct NodeJob {
  NodePlan plan;
  std::filesystem::path program;  ///< as find_program() gives it; every member runs it
  std::vector<std::string> arguments;
  std::filesystem::path output;    ///< holds node_N/{server,train}.log; may be shared with the other nodes
  std::filesystem::path progress;  ///< the file of the trainer that runs here
  EndingLimits limits;
  bool quiet = false;           ///< show what the members write and nothing else
  JobLedger* ledger = nullptr;  ///< for the guards of this process (guard.hpp), where it has any
};

[[nodiscard]] inline std::filesystem::path log_path(NodeJob const& job, JobMember const& member) {
  return node_folder(job.output, member.index) / (member.role == JobRole::server ? "server.log" : "train.log");
}

/// Where a trainer's node says that it has finished, for servers on other nodes that share the output folder.
[[nodiscard]] inline std::filesystem::path finished_path(std::filesystem::path const& output, std::size_t trainer) {
  return node_folder(output, trainer) / "train.finished";
}

/// One sentence on a failure, with the last line that the failing member wrote; empty after success.
[[nodiscard]] inline std::string last_words(JobReport const& report) {
  auto text = cause_of(report);
  if (text.empty() || !report.first_failure) return text;
  auto const lines = last_lines(report.members.at(*report.first_failure).log, 1);
  return lines.empty() ? text : concat(text, " | ", lines.back());
}

/// As cause_of(), for a console that many such launchers write to: a cause that names no member has them in front.
[[nodiscard]] inline std::string cause_of_share(JobReport const& report) {
  auto text = cause_of(report);
  if (report.outcome != Outcome::interrupted) return text;
  std::string names;
  for (auto const& each : report.members) names += (names.empty() ? "" : ", ") + to_string(each.member);
  return names.empty() ? text : concat(names, ": ", text);
}

namespace detail {

class NodeRun {
 public:
  NodeRun(NodeJob const& job, Console& console) : job_(job), console_(console) {}

  [[nodiscard]] Result<std::vector<MemberReport>> start() {
    std::vector<MemberReport> started;
    auto const inherited = current_environment();
    for (auto const& member : job_.plan.members) {
      auto const path = log_path(job_, member);
      std::error_code error;
      std::filesystem::create_directories(path.parent_path(), error);
      auto const log = open_log(path);
      if (!log) return log.error();
      if (member.role == JobRole::server) begun_ = modified(path);
      if (member.role == JobRole::trainer) prepare_trainer(member);
      // A program that asks for its socket gets it listening: its own name may not be known to the name service yet.
      std::optional<BoundPort> port;
      if (member.role == JobRole::server && names_listen_fd(job_.program)) {
        auto opened = bind_endpoint(job_.plan.servers.at(member.index));
        if (!opened) return opened.error();
        if (auto const listening = start_listening(*opened); !listening) return listening.error();
        port = std::move(*opened);
      }
      auto variables = variables_of(job_.plan, member, job_.progress);
      if (port) variables.push_back({std::string(listen_fd_variable), concat(port->socket.get())});
      auto const pid = spawn({job_.program, job_.arguments, environment_with(inherited, variables), log->get(),
                              port ? port->socket.get() : -1});
      if (!pid) return pid.error();
      started.push_back({member, *pid, {}, 0, false, path});
      if (job_.ledger != nullptr) job_.ledger->joined(started.back());
      tails_.emplace_back(path);
      info(concat("Job: ", job_.plan.job_name, ", ", to_string(member), " of ",
                  member.role == JobRole::server ? job_.plan.servers.size() : job_.plan.trainers, ", pid ", *pid,
                  ", log ", path.string()));
    }
    return started;
  }

  /// Between two steps of the supervisor.
  void refresh(Supervisor& supervisor) {
    show([](LogTail& tail, auto const& line) { tail.poll(line); });
    for (auto const& each : supervisor.members()) {
      bool const done = each.member.role == JobRole::trainer && each.ending && each.ending->ok() && !each.stopped;
      if (done && !std::exchange(marked_, true)) {
        std::ofstream(finished_path(job_.output, each.member.index)) << job_.plan.mark << '\n';
      }
    }
    auto const& rules = supervisor.rules();
    if (rules.ending() && rules.outcome() == Outcome::interrupted && !std::exchange(told_of_ending_, true)) {
      info(concat(signal_name(rules.signal()), ": ", ending_steps(rules.limits().grace, true)));
    }
    auto const now = std::chrono::steady_clock::now();
    for (auto const& line : early_servers_.look(supervisor.members(), false, rules.limits().server_grace, now)) {
      if (!job_.quiet) console_.error(launch_line("WARNING", line, std::chrono::system_clock::now()));
    }
    if (!begun_ || now - looked_ < std::chrono::milliseconds(500)) return;
    looked_ = now;
    supervisor.trainers_elsewhere(!all_finished());
  }

  void ended(JobReport const& report) {
    show([](LogTail& tail, auto const& line) { tail.finish(line); });
    if (report.outcome != Outcome::succeeded) {
      console_.error(launch_line("ERROR", cause_of_share(report), std::chrono::system_clock::now()));
    }
    info(concat("Exit code ", report.exit_code));
  }

 private:
  using Time = std::pair<std::time_t, long>;

  static std::optional<Time> modified(std::filesystem::path const& path) {
    struct stat status {};
    // Only a file is opened to be read: a pipe in a folder that others write to would be waited for.
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return Time(status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }

  void prepare_trainer(JobMember const& member) const {
    std::error_code ignored;
    std::filesystem::remove(finished_path(job_.output, member.index), ignored);
    std::filesystem::create_directories(std::filesystem::absolute(job_.progress).parent_path(), ignored);
    Progress silence;
    silence.phase = phase_of_silence;
    ProgressWriter(job_.progress.string()).write(silence, {});
  }

  /// Whether every trainer has left its mark in this run: by a name that is known, else after the server here began.
  [[nodiscard]] bool all_finished() const {
    for (std::size_t trainer = 0; trainer < job_.plan.trainers; ++trainer) {
      auto const path = finished_path(job_.output, trainer);
      auto const time = modified(path);
      std::string mark;
      std::ifstream file(path);
      if (!time || !std::getline(file, mark)) return false;
      bool const known = std::ranges::find(job_.plan.marks, mark) != job_.plan.marks.end();
      if (!known && *time < *begun_) return false;
    }
    return true;
  }

  template <class Take>
  void show(Take&& take) {
    std::size_t i = 0;
    for (auto& tail : tails_) {
      auto const prefix = tails_.size() == 1 ? std::string() : concat('[', to_string(job_.plan.members.at(i)), "] ");
      ++i;
      if (console_.congested()) continue;
      take(tail, [&](std::string_view line) { console_.out(concat(prefix, line)); });
    }
    console_.flush({});
  }

  void info(std::string_view text) {
    if (!job_.quiet) console_.error(launch_line("INFO", text, std::chrono::system_clock::now()));
  }

  NodeJob const& job_;
  Console& console_;
  std::list<LogTail> tails_;
  EarlyServers early_servers_;
  std::optional<Time> begun_;  ///< of the server here, by the clock of the output folder
  std::chrono::steady_clock::time_point looked_{};
  bool marked_ = false;
  bool told_of_ending_ = false;
};

}  // namespace detail

/// Runs the members to their end and reports; an error means that they did not start. A server here whose program
/// never ends by itself is ended when every trainer of the job has finished, as far as the output folder shows it.
/// Owns all children of the process and its ending signals, as run_local() does.
[[nodiscard]] inline Result<JobReport> run_node(NodeJob const& job, Console& console) {
  auto const held = hold_signals();
  adopt_orphans();
  GuardWatch const guards(job.ledger);
  detail::NodeRun node(job, console);
  if (job.ledger != nullptr) job.ledger->begin(job.plan.job_name);
  auto members = node.start();
  if (!members) {
    kill_children(EndingRules::kill_patience);
    return members.error();
  }
  Supervisor supervisor(std::move(*members), job.limits, held, job.ledger);
  auto const is_server = [](JobMember const& member) { return member.role == JobRole::server; };
  supervisor.trainers_elsewhere(std::ranges::any_of(job.plan.members, is_server));
  do {
    node.refresh(supervisor);
  } while (supervisor.step(std::chrono::milliseconds(supervisor.rules().ending() ? 20 : 50)));
  auto report = supervisor.report();
  report.job_id = job.plan.job_name;
  guards.explain(report);
  node.refresh(supervisor);
  node.ended(report);
  return report;
}

}  // namespace prdist
