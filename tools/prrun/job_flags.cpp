// SPDX-License-Identifier: Apache-2.0
#include "job_flags.hpp"

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string_view>
#include <system_error>

#include <prdist/core/text.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/report_json.hpp>
#include <prdist/version.hpp>

namespace prrun {

using namespace prdist;

namespace {

/// Replaces the report as a whole. An empty text takes an old one away and finds out whether a new one can be written.
Result<void> write_json(std::string const& path, std::string_view text) {
  auto const next = path + ".tmp";
  std::error_code error;
  std::ofstream file(next);
  file << text;
  file.close();
  bool const fine = file && !std::filesystem::is_directory(path, error);
  error.clear();
  if (fine && !text.empty()) std::filesystem::rename(next, path, error);
  if (text.empty() || !fine) std::filesystem::remove(next, error);
  if (fine && text.empty()) std::filesystem::remove(path, error);
  if (fine && !error) return {};
  return Error(Errc::config_invalid, "launcher: the report '", path,
               "' cannot be written: give another file with --json");
}

}  // namespace

void declare(CLI::App& app, JobFlags& flags) {
  auto const count = within(1, 1024, "a number");
  auto const server_count = within(1, 256, "a number");  // as many as there are shards
  app.add_option(spelled("server_num"), flags.job.servers, "servers, 1 to 256")
      ->check(server_count)
      ->type_name("N")
      ->envname("PADDLE_SERVER_NUM")
      ->capture_default_str();
  app.add_option(concat(spelled("trainer_num"), ',', spelled("worker_num")), flags.job.trainers,
                 "trainers, 1 to 1024; also --worker_num")
      ->check(count)
      ->type_name("N")
      ->envname("PADDLE_TRAINER_NUM")
      ->capture_default_str();
  app.add_option(spelled("log_dir"), flags.job.log_dir, "folder of the logs")
      ->type_name("DIR")
      ->envname("PADDLE_LOG_DIR")
      ->capture_default_str();
  app.add_option(spelled("job_id"), flags.job.job_id, "name of the job: letters, digits, '.', '_' and '-'")
      ->type_name("ID")
      ->envname("PADDLE_JOB_ID")
      ->capture_default_str();
  app.add_option(spelled("server_grace"), flags.server_grace,
                 "seconds that servers have to end by themselves after the trainers")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
  app.add_option(spelled("grace"), flags.grace, "seconds between SIGTERM and SIGKILL")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
  app.add_option(spelled("timeout"), flags.timeout, "seconds that the whole job may take")
      ->check(seconds())
      ->type_name("S");
  app.add_option(spelled("json"), flags.json, "file for the report as JSON")->type_name("FILE");
  app.add_flag(concat("-q,", spelled("quiet")), flags.job.quiet, "show only the report of a failure");
  app.add_flag(spelled("no_listen_fd"), flags.no_listen_fd, "give the ports free just before the program starts");
  app.add_flag(spelled("dry_run"), flags.dry_run, "show what would be started, and start nothing");
  app.set_version_flag("--version", concat("prrun ", version));
}

void check(JobFlags& flags) {
  auto const& id = flags.job.job_id;
  bool const plain =
      id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string::npos;
  if (id.empty() || id.size() > 63 || !plain) {
    throw CLI::ValidationError("--job_id", concat("'", id, "' is not 1 to 63 letters, digits, '.', '_' and '-'"));
  }
  if (flags.job.log_dir.empty()) throw CLI::ValidationError("--log_dir", "is empty");
  flags.job.limits.server_grace = millis(flags.server_grace);
  flags.job.limits.grace = millis(flags.grace);
  if (flags.timeout) flags.job.limits.timeout = millis(*flags.timeout);
  flags.job.hand_over_sockets = !flags.no_listen_fd;
}

void prepare(JobFlags& flags, Words const& command) {
  auto const* const path = std::getenv("PATH");
  flags.job.program = find_program(command.front(), path == nullptr ? "" : path, own_folder()).value();
  flags.job.arguments.assign(command.begin() + 1, command.end());
  if (!flags.json.empty() && !flags.dry_run) write_json(flags.json, "").value();
}

int show_plan(JobFlags const& flags, LaunchPlan const& plan) {
  for (auto const& member : members_here(plan)) {
    std::cout << to_string(member) << ", log " << log_path(plan, member).string() << '\n';
    for (auto const& [name, value] : variables_of(plan, member)) std::cout << "  " << name << '=' << value << '\n';
    std::cout << "  " << flags.job.program.string();
    for (auto const& argument : flags.job.arguments) std::cout << ' ' << std::quoted(argument, '\'');
    std::cout << '\n';
  }
  return std::cout.flush() ? 0 : 74;
}

int run_and_report(JobFlags const& flags, JobRun const& run) {
  Console console;
  auto const report = run(console);
  if (!report) {
    console.error(report.error().what());
    return exit_code(report.error().code());
  }
  if (flags.json.empty()) return report->exit_code;
  auto const written = write_json(flags.json, boost::json::serialize(to_json(*report)) + '\n');
  if (written) return report->exit_code;
  console.error(written.error().what());
  return report->exit_code != 0 ? report->exit_code : exit_code(written.error().code());
}

}  // namespace prrun
