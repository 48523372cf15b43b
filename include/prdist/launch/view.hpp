// SPDX-License-Identifier: Apache-2.0
// What a person sees of a running job: Paddle's LAUNCH lines, trainer 0's log as it grows, how far all are, and at the
// end the report.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/board.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/early_servers.hpp>
#include <prdist/launch/log_tail.hpp>
#include <prdist/launch/plan.hpp>
#include <prdist/launch/progress.hpp>
#include <prdist/launch/report.hpp>
#include <prdist/launch/summary.hpp>
#include <prdist/launch/supervisor.hpp>

namespace prdist {

/// "LAUNCH INFO 2022-05-18 11:53:09,783 text", the form people know from paddle.distributed.launch.
[[nodiscard]] inline std::string launch_line(std::string_view level, std::string_view text,
                                             std::chrono::system_clock::time_point now) {
  auto const seconds = std::chrono::system_clock::to_time_t(now);
  auto const millis = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char stamp[64];
  auto const size = std::strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ",%03d ", static_cast<int>(millis));
  return concat("LAUNCH ", level, ' ', std::string_view(stamp, size), std::string_view(fraction), text);
}

/// What happens to what is left of a job that is being ended, and how long that may take; `asked` to stop, it saves.
[[nodiscard]] inline std::string ending_steps(std::chrono::milliseconds grace, bool asked) {
  return concat("SIGTERM to all that is left, ", asked ? "which has up to " : "SIGKILL after ",
                detail::grace_text(grace), asked ? " (--grace) for a last checkpoint" : " (--grace)",
                "; Ctrl-C kills it at once");
}

/// What people read at the end: the table, and of a job that did not succeed the end of a log and the cause.
inline void show_report(Console& console, JobReport const& report) {
  if (!report.members.empty()) console.error_lines(table_of(report));
  console.error_lines(failing_log(report));
  if (report.outcome == Outcome::succeeded) return;
  console.error(launch_line("ERROR", cause_of(report), std::chrono::system_clock::now()));
}

class JobView {
 public:
  using Clock = std::chrono::steady_clock;

  /// A quiet view shows nothing but the report of a job that did not succeed; one without infos no LAUNCH INFO lines.
  JobView(LaunchPlan plan, Console& console, bool quiet, bool infos = true)
      : plan_(std::move(plan)),
        console_(console),
        quiet_(quiet),
        infos_(infos && !quiet),
        replicas_(members_here(plan_).size()) {}

  /// Before the members start.
  void ready() {
    auto const nodes = node_count(plan_);
    auto const least = plan_.least_nodes != 0 ? plan_.least_nodes : nodes;
    auto const most = plan_.most_nodes != 0 ? plan_.most_nodes : nodes;
    info(concat("Job: ", plan_.job_id, ", mode ", name_of(plan_.mode), ", replicas ", nodes, '[', least, ':', most,
                "], elastic ", least != most ? "True" : "False"));
    info(concat("Run Pod: ", plan_.pod_name, ", replicas ", replicas_, ", status ready"));
  }

  /// Once they run. Their logs exist.
  void running() {
    info(concat("Watching Pod: ", plan_.pod_name, ", replicas ", replicas_, ", status running"));
    info(concat("Servers ", plan_.servers.size(), ", trainers ", plan_.trainers.size(), ", logs in ",
                plan_.log_dir.string()));
    if (!quiet_ && runs_here({JobRole::trainer, 0})) tail_.emplace(log_path(plan_, {JobRole::trainer, 0}));
  }

  /// Between two steps of the supervisor.
  void refresh(Supervisor const& supervisor) {
    if (quiet_) return;
    if (tail_ && !console_.congested())
      tail_->poll([&](std::string_view line) { console_.out(concat(trainer_prefix, line)); });
    if (supervisor.rules().ending() && !std::exchange(told_of_ending_, true)) {
      info(ending_note(supervisor.report()));
      shown_ = {};
    }
    auto const now = Clock::now();
    auto const& rules = supervisor.rules();
    for (auto const& line :
         early_servers_.look(supervisor.members(), rules.has_trainers_elsewhere(), rules.limits().server_grace, now)) {
      console_.error(launch_line("WARNING", line, std::chrono::system_clock::now()));
    }
    auto const interval = console_.terminal() ? std::chrono::milliseconds(250) : std::chrono::milliseconds(5000);
    if (now - shown_ < interval) return;
    shown_ = now;
    auto const progress = progress_of(supervisor.members(), supervisor.elapsed().count());
    if (console_.terminal()) {
      console_.status(concat(progress, progress.empty() ? "" : " | ", states_of(supervisor), board_of(supervisor)));
    } else {
      show_progress(progress);
    }
    console_.flush({});
  }

  /// After the last step.
  void ended(JobReport const& report) {
    console_.status({});
    bool const success = report.outcome == Outcome::succeeded;
    if (tail_) tail_->finish([&](std::string_view line) { console_.out(concat(trainer_prefix, line)); });
    show_progress(progress_of(report.members, report.seconds));
    info(pod_line(report));
    if (!quiet_ || !success) show_report(console_, report);
    info(concat("Exit code ", report.exit_code));
  }

 private:
  void info(std::string_view text) {
    if (infos_) console_.error(launch_line("INFO", text, std::chrono::system_clock::now()));
  }

  void show_progress(std::string const& progress) {
    if (progress.empty() || progress == last_progress_) return;
    info(concat("Progress: ", progress));
    last_progress_ = progress;
  }

  [[nodiscard]] static std::string ending_note(JobReport const& report) {
    bool const asked = report.outcome == Outcome::interrupted || report.stopped_in_order;
    auto const rest = ending_steps(report.grace, asked);
    switch (report.outcome) {
      case Outcome::succeeded: return concat("Trainers completed, but not all processes ended: ", rest);
      case Outcome::failed:
        if (!report.first_failure) return concat(report.failed_elsewhere, ": ", rest);
        if (report.stopped_in_order) return concat("The job was asked to stop: ", rest);
        return concat(to_string(report.members.at(*report.first_failure).member), " failed: ", rest);
      case Outcome::interrupted: return concat(signal_name(report.signal), ": ", rest);
      case Outcome::timed_out: return concat("The time limit has passed: ", rest);
    }
    return {};
  }

  [[nodiscard]] std::string progress_of(std::vector<MemberReport> const& members, double seconds) const {
    std::vector<TrainerProgress> trainers;
    for (auto const& each : members) {
      if (each.member.role != JobRole::trainer) continue;
      trainers.push_back({read_progress(progress_path(plan_, each.member)), !each.ending});
    }
    return summary_of(trainers, std::chrono::duration<double>(seconds));
  }

  [[nodiscard]] bool runs_here(JobMember const& member) const {
    auto const here = members_here(plan_);
    return std::ranges::find(here, member) != here.end();
  }

  /// "servers 2/2 up, trainers 1/2 up", of this node.
  [[nodiscard]] std::string states_of(Supervisor const& supervisor) const {
    auto const up = [&](JobRole role) {
      return std::ranges::count_if(supervisor.members(),
                                   [&](auto const& each) { return each.member.role == role && !each.ending; });
    };
    auto const here = members_here(plan_);
    return concat("servers ", up(JobRole::server), '/', std::ranges::count(here, JobRole::server, &JobMember::role),
                  " up, trainers ", up(JobRole::trainer), '/',
                  std::ranges::count(here, JobRole::trainer, &JobMember::role), " up");
  }

  /// Members as lines, each behind a newline; a few lines of the terminal are left to what they write.
  [[nodiscard]] std::string board_of(Supervisor const& supervisor) const {
    constexpr std::size_t left_to_logs = 4;
    std::vector<MemberState> states;
    for (auto const& each : supervisor.members()) {
      bool const ending = supervisor.rules().ending();
      auto state = each.ending ? to_string(*each.ending) : std::string(ending ? "stopping" : "running");
      auto last = each.member.role == JobRole::trainer ? read_progress(progress_path(plan_, each.member))
                                                       : std::optional<Progress>();
      states.push_back({each.member, std::move(state), std::move(last)});
    }
    std::string text;
    auto const rows = console_.rows();
    for (auto const& line : prdist::board_of(states, rows - std::min(rows, left_to_logs + 1))) text += '\n' + line;
    return text;
  }

  static constexpr std::string_view trainer_prefix = "[trainer 0] ";

  LaunchPlan plan_;
  Console& console_;
  bool quiet_;
  bool infos_;
  std::size_t replicas_;
  std::optional<LogTail> tail_;
  EarlyServers early_servers_;
  Clock::time_point shown_{};
  std::string last_progress_;
  bool told_of_ending_ = false;
};

}  // namespace prdist
