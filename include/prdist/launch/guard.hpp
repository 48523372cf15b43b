// SPDX-License-Identifier: Apache-2.0
// Runs the launcher's work two processes below the one people see. All three adopt orphans, so whichever of them are
// killed, one that is left finds what the job has started, also in sessions of its own, ends it and reports:
//
//   killed                  who ends the job
//   the one people see      the worker, which gets SIGTERM, in order
//   the guard between       the worker likewise; the one people see waits for it
//   the worker              the guard: its members fall with the worker, what they started falls to the guard
//   the worker and another  whoever is left, as the guard does
//   both but the worker     the worker, in order
//   all three at once       members fall with the worker; what they started, a process apart (sweeper.hpp)
//
// Signals are passed on to the worker, and wake one that was stopped. One that does not end after the second is killed.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/console.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/ledger.hpp>
#include <prdist/launch/shown_command_line.hpp>
#include <prdist/launch/signal_echo.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/sweeper.hpp>

namespace prdist {

namespace detail {

/// A program started with a closed standard descriptor would get a log file or socket in its place.
inline void open_standard_descriptors() noexcept {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
  }
}

/// On standard error, if that takes it: whoever guards must not wait for a terminal.
inline void say(std::string_view text) {
  OutputQueue out(STDERR_FILENO);
  out.put(concat(text, '\n'));
  out.flush(std::chrono::milliseconds(500));
}

/// The child's first steps; its parent's death is SIGTERM to it.
inline void stand_below(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) std::_Exit(143);
  // Ctrl-C goes to the terminal's foreground group: there it reaches the visible process alone, which passes it on
  // once. Two would mean "kill at once". And who kills that group kills one of three.
  ::setpgid(0, 0);
  ::signal(SIGTTOU, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
}

/// How long a worker may take to end after a second signal. One in order has killed its members after five seconds, and
/// then tells other nodes and writes its report.
inline constexpr std::chrono::milliseconds second_signal_patience{20'000};

/// A guard over one child, until the worker has ended.
class Guard {
 public:
  using Clock = std::chrono::steady_clock;

  /// With a `starter` the death of that process is SIGTERM to the job.
  Guard(pid_t child, sigset_t const& held, JobLedger& ledger, std::chrono::milliseconds patience,
        std::optional<pid_t> starter)
      : watched_(child), parent_(::getppid()), starter_(starter), patience_(patience), signals_(held), ledger_(ledger) {
    // The guard between has time to end what its worker leaves, and to report it.
    if (ledger_.visible() == ::getpid()) patience_ += 3 * kill_patience;
  }

  /// Returns the exit code. `report` is told of a job that nobody else has reported.
  template <class Report>
  [[nodiscard]] int run(Report&& report) {
    while (!ended()) {
      for (int const signal : signals_.wait(std::chrono::milliseconds(deadline_ ? 100 : 1000))) {
        if (signal == SIGCHLD) continue;
        // The death of the one above is a signal too, and the worker is told why it comes.
        if (ledger_.visible() == parent_ && ::getppid() != parent_) ledger_.lost_guard(0);
        ::kill(watched_, signal);
        ::kill(watched_, SIGCONT);
        if (!echo_.heard(signal, Clock::now()) && ++signals_heard_ == 2) deadline_ = Clock::now() + patience_;
      }
      if (starter_ && ::getppid() != *starter_) {
        starter_.reset();
        say("launcher: what had started it has gone: the job is ended");
        ::kill(watched_, SIGTERM);
      }
      int status = 0;
      for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) reaped_[pid] = ending_of(status);
      if (deadline_ && Clock::now() >= *deadline_) put_down();
    }
    auto const ending = reaped_.at(watched_);
    bool const swept = kill_children(kill_patience, [&](pid_t pid, int status) { reaped_[pid] = ending_of(status); });
    if (auto job = ledger_.read()) {
      job->launcher = ending;
      job->exit_code = exit_code(ending);
      complete(*job, reaped_);
      report(*job);
      ledger_.close();
    } else if (ending.signal != 0) {
      say(Error(Errc::internal, "launcher: its supervising process was killed by ", signal_name(ending.signal),
                swept ? ": every process of the job has been ended" : ": look for left processes with ps")
              .what());
    }
    return exit_code(lost_ && !ending.ok() ? *lost_ : ending);
  }

 private:
  static constexpr std::chrono::milliseconds kill_patience{5'000};

  /// Two signals have not ended it. What survives SIGKILL is stuck in the kernel, and waiting longer helps nobody.
  void put_down() {
    if (reaped_.contains(watched_)) return;
    deadline_ = Clock::now() + kill_patience;
    if (std::exchange(put_down_, watched_) == watched_) {
      reaped_[watched_] = Ending{0, SIGKILL, false};
      return;
    }
    ::kill(watched_, SIGKILL);
    say(Error(Errc::job_deadline, "launcher: its supervising process has not ended within ",
              seconds_text(std::chrono::duration<double>(patience_).count()),
              " s after a second signal: it was killed, and the job is ended with it")
            .what());
  }

  /// Whether the worker has; a guard between that was killed leaves its place, and the worker, to this one.
  [[nodiscard]] bool ended() {
    auto const found = reaped_.find(watched_);
    if (found == reaped_.end()) return false;
    auto const worker = ledger_.supervisor();
    if (found->second.signal == 0 || worker == 0 || worker == watched_) return true;
    int status = 0;
    auto const state = reaped_.contains(worker) ? worker : ::waitpid(worker, &status, WNOHANG);
    if (state < 0) return true;  // the guard had reaped it
    if (state > 0) reaped_.try_emplace(worker, ending_of(status));
    lost_ = found->second;
    ledger_.lost_guard(lost_->signal);
    watched_ = worker;
    return state > 0;
  }

  pid_t watched_;
  pid_t parent_;
  std::optional<pid_t> starter_;
  std::chrono::milliseconds patience_;
  SignalSource signals_;
  JobLedger& ledger_;
  // More generous than the worker's, which may hear two of them closer together than this does: one that does not kill
  // at once must not be put down for it.
  SignalEcho echo_{2 * SignalEcho::usual};
  unsigned signals_heard_ = 0;
  std::optional<Clock::time_point> deadline_;  ///< since the second
  pid_t put_down_ = 0;
  std::map<pid_t, Ending> reaped_;
  std::optional<Ending> lost_;  ///< of the guard between
};

/// The report of a job whose launcher is gone altogether, by the sweeper.
template <class Report>
void report_swept(JobLedger& ledger, Report& report) {
  ::signal(SIGPIPE, SIG_IGN);
  auto job = ledger.read();
  if (!job) return;
  job->launcher = Ending{0, SIGKILL, false};
  job->exit_code = exit_code(*job->launcher);
  // Nobody has seen how members ended, but the kernel kills them with the worker.
  std::map<pid_t, Ending> killed;
  for (auto const& each : job->members) killed[each.pid] = *job->launcher;
  complete(*job, killed);
  report(*job);
  ledger.close();
}

/// Runs `work` in a child, and guards it.
template <class Work, class Report>
[[nodiscard]] int guard(Work const& work, sigset_t const& held, JobLedger& ledger, Report& report,
                        std::chrono::milliseconds patience, std::optional<pid_t> starter = std::nullopt) {
  std::fflush(nullptr);
  auto const parent = ::getpid();
  auto const child = ::fork();
  if (child < 0) {
    say(Error(Errc::internal, "launcher: no process could be started: ", std::generic_category().message(errno),
              ". Raise ulimit -u")
            .what());
    return exit_code(Errc::internal);
  }
  if (child == 0) {
    stand_below(parent);
    std::exit(work());
  }
  ::signal(SIGPIPE, SIG_IGN);  // a reader that has gone must not keep a report from its file
  return Guard(child, held, ledger, patience, starter).run(report);
}

}  // namespace detail

/// Runs `work` (returning an exit code) under guard and returns the code to exit with. To be called by a process with
/// one thread and no children; takes SIGCHLD and the ending signals, which reach `work` held back (signals.hpp). When
/// the worker is gone and the ledger has a job that was not reported, `report` is called with it, in one of the guards:
/// a JobReport whose `launcher` says how the worker ended. When all are killed at once, the sweeper does that. A worker
/// that has not ended `patience` after a second signal is killed. With `starter`, this process' parent, the job is
/// ended when that one is gone.
template <class Work, class Report>
[[nodiscard]] int run_guarded(JobLedger& ledger, Work&& work, Report&& report,
                              std::chrono::milliseconds patience = detail::second_signal_patience,
                              std::optional<pid_t> starter = std::nullopt) {
  detail::open_standard_descriptors();
  auto const held = hold_signals();
  Sweeper sweeper([&] { detail::report_swept(ledger, report); });
  adopt_orphans();
  ledger.seen_as(::getpid());
  char name[16] = "";
  ::prctl(PR_GET_NAME, name);
  ShownCommandLine line;
  auto const worker = [&] {
    ::prctl(PR_SET_NAME, name);
    line.restore();
    ledger.supervised_by(::getpid());
    try {
      auto const code = work();
      ledger.close();
      return code;
    } catch (std::exception const& error) {
      detail::say(error.what());
    }
    return exit_code(Errc::internal);
  };
  auto const between = [&] {
    // By a name and a command line of its own it survives who kills all that is called as the program.
    ::prctl(PR_SET_NAME, "prdist-guard");
    line.show("prdist-guard");
    return detail::guard(worker, held, ledger, report, patience);
  };
  return detail::guard(between, held, ledger, report, patience, starter);
}

/// As above, for work that has no job to report.
template <class Work>
[[nodiscard]] int run_guarded(Work&& work) {
  JobLedger ledger;
  return run_guarded(ledger, std::forward<Work>(work), [](JobReport const&) {});
}

/// In the worker: whether the job was stopped because a guard was killed.
class GuardWatch {
 public:
  explicit GuardWatch(JobLedger const* ledger) : ledger_(ledger), parent_(::getppid()) {}

  /// Says so in the report of a job that has ended. May wait a second for the guard that is left to say by what.
  void explain(JobReport& report) const {
    if (report.outcome != Outcome::interrupted) return;
    bool const orphan = ::getppid() != parent_;
    if (orphan && ledger_ != nullptr && ::getppid() == ledger_->visible()) {
      for (int i = 0; i < 200 && !ledger_->guard_is_lost(); ++i) ::poll(nullptr, 0, 5);
    }
    report.launcher_killed = orphan || (ledger_ != nullptr && ledger_->guard_is_lost());
    if (!report.launcher_killed) return;
    int const signal = ledger_ != nullptr ? ledger_->signal_of_lost_guard() : 0;
    if (signal != 0) report.launcher = Ending{0, signal, false};
    // The SIGTERM here was the kernel's. A launcher holds back all signals that can be held, so it was SIGKILL.
    if (report.exit_code > 128) report.exit_code = 128 + (signal != 0 ? signal : SIGKILL);
  }

 private:
  JobLedger const* ledger_;
  pid_t parent_;
};

}  // namespace prdist
