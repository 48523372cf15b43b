// SPDX-License-Identifier: Apache-2.0
#include "job_report.hpp"

#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <prdist/core/environment.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/guard.hpp>
#include <prdist/launch/report_json.hpp>
#include <prdist/launch/termination_log.hpp>
#include <prdist/launch/view.hpp>

namespace prrun {

using namespace prdist;

namespace {

/// Replaces the report as a whole. An empty text takes an old one away and finds out whether a new one can be written.
Result<void> write_json(std::string const& path, std::string_view text) {
  std::error_code error;
  // A pipe or a device is written to; putting a file in its place would take it from everybody.
  auto const kind = std::filesystem::status(path, error).type();
  bool const in_place = kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found;
  auto const next = in_place ? path : path + ".tmp";
  std::ofstream file(next, in_place ? std::ios::app : std::ios::trunc);
  file << text;
  file.close();
  bool const fine = file && kind != std::filesystem::file_type::directory;
  if (in_place && fine) return {};
  error.clear();
  if (fine && !text.empty()) std::filesystem::rename(next, path, error);
  if (!in_place && (text.empty() || !fine)) std::filesystem::remove(next, error);
  if (fine && text.empty()) std::filesystem::remove(path, error);
  if (fine && !error) return {};
  return Error(Errc::config_invalid, "launcher: the report '", path,
               "' cannot be written: give another file with --json");
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

int run_share(std::function<int(JobLedger&)> const& run) {
  JobLedger ledger;
  return run_guarded(
      ledger, [&] { return run(ledger); },
      [](JobReport const& report) {
        write_termination_log(termination_log_path(process_environment), cause_of(report), current_environment());
        Console console;
        show_report(console, report);
      });
}

}  // namespace prrun
