// SPDX-License-Identifier: Apache-2.0
#include "job_report.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/regular_file.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/guard.hpp>
#include <prdist/launch/report_json.hpp>
#include <prdist/launch/termination_log.hpp>
#include <prdist/launch/view.hpp>

namespace prrun {

using namespace prdist;

namespace {

/// How long whoever reads a report through a pipe may leave it full.
constexpr std::chrono::seconds reader_patience{10};

/// Names of what this process has open already, where a rename would put a file in the place of the name.
bool names_descriptor(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

/// Whether a report can go to what is there. A FIFO's reader would have to come twice, at the start and at the end.
bool takes_report(std::string_view path, mode_t mode) {
  return S_ISREG(mode) || S_ISCHR(mode) || (S_ISFIFO(mode) && names_descriptor(path));
}

bool write_all(Descriptor const& file, std::string_view text) {
  auto const deadline = std::chrono::steady_clock::now() + reader_patience;
  while (!text.empty()) {
    auto const written = ::write(file.get(), text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd entry{file.get(), POLLOUT, 0};
    ::poll(&entry, 1, static_cast<int>(left.count()));
  }
  return true;
}

/// Replaces the report as a whole. An empty text takes an old one away and finds out whether a new one can be written.
/// Waits for nobody who might open the other end.
Result<void> write_json(std::string const& path, std::string_view text) {
  auto const unwritable = [&](std::string_view why) {
    return Error(Errc::config_invalid, "launcher: the report '", path, "' cannot be written", why,
                 ": give another file with --json");
  };
  struct stat status {};
  bool const there = ::stat(path.c_str(), &status) == 0;
  if (there && !takes_report(path, status.st_mode)) return unwritable(concat(", it is ", kind_of_file(status.st_mode)));
  // A pipe or a device is written to; putting a file in its place would take it from everybody.
  bool const in_place = there && (!S_ISREG(status.st_mode) || names_descriptor(path));
  auto const next = in_place ? path : path + ".tmp";
  Descriptor file(::open(
      next.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (in_place ? O_APPEND : O_CREAT | O_TRUNC), 0666));
  bool const ours = !in_place && file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  bool fine = (in_place || ours) && file && write_all(file, text);
  if (file && ::close(file.release()) != 0) fine = false;
  if (in_place) return fine ? Result<void>() : unwritable("");
  std::error_code error;
  if (fine && !text.empty()) std::filesystem::rename(next, path, error);
  if (ours && (text.empty() || !fine)) std::filesystem::remove(next, error);
  if (fine && text.empty()) std::filesystem::remove(path, error);
  return fine && !error ? Result<void>() : unwritable("");
}

/// The work, in the process that supervises.
int supervise(JobFlags const& flags, JobRun const& run) {
  Console console;
  flags.job.ledger->begin(flags.job.job_id);
  auto const say = [&](std::string_view level, std::string_view text) {
    console.error(launch_line(level, text, std::chrono::system_clock::now()));
  };
  if (!flags.job.quiet && flags.job.infos) {
    for (auto const& line : configuration_lines(flags.configuration)) say("INFO", line);
  }
  if (!flags.job.quiet) {
    for (auto const& line : flags.warnings) say("WARNING", line);
  }
  auto const report = run(console);
  if (!report) {
    console.error_lines(report.error().what());
    return exit_code(report.error().code());
  }
  if (flags.json.empty()) return report->exit_code;
  auto const written = write_json(flags.json, boost::json::serialize(to_json(*report)) + '\n');
  if (written) return report->exit_code;
  console.error(written.error().what());
  return report->exit_code != 0 ? report->exit_code : exit_code(written.error().code());
}

/// The report of a run that was killed, in a process that is left.
void report_killed(JobFlags const& flags, JobReport const& report) {
  Result<void> written;
  if (!flags.json.empty()) written = write_json(flags.json, boost::json::serialize(to_json(report)) + '\n');
  Console console;
  if (console.terminal()) console.error({});  // below the status that nobody rewrites any more
  show_report(console, report);
  if (!written) console.error(written.error().what());
}

}  // namespace

void prepare_report(JobFlags const& flags) {
  if (!flags.json.empty() && !flags.dry_run) write_json(flags.json, "").value();
}

int run_and_report(JobFlags& flags, JobRun const& run) {
  JobLedger ledger;
  flags.job.ledger = &ledger;
  auto const code = run_guarded(
      ledger, [&] { return supervise(flags, run); }, [&](JobReport const& report) { report_killed(flags, report); });
  flags.job.ledger = nullptr;
  return code;
}

int run_share(std::function<int(JobLedger&)> const& run, std::optional<pid_t> starter) {
  JobLedger ledger;
  return run_guarded(
      ledger, [&] { return run(ledger); },
      [](JobReport const& report) {
        write_termination_log(termination_log_path(process_environment), cause_of(report), current_environment());
        Console console;
        show_report(console, report);
      },
      detail::second_signal_patience, starter);
}

}  // namespace prrun
