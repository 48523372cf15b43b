// SPDX-License-Identifier: Apache-2.0
// prrun without a command: a whole job on this machine. The work is in prdist/launch; here are the flags.

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/guard.hpp>
#include <prdist/launch/local.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/report_json.hpp>
#include <prdist/version.hpp>

#include "command_line.hpp"

namespace prrun {

using namespace prdist;

namespace {

constexpr char const* usage = "Usage: prrun [flags] [--] program [arguments]";

constexpr char const* description = R"(Examples:
  prrun -- ./train                                          1 server, 1 trainer
  prrun --server_num 2 --trainer_num 4 -- ./train --epochs 3
  prrun --server_num 2 --trainer_num 2 python3 -u train.py  a Paddle program, unchanged
  prrun --timeout 600 --json report.json -- ./train
  prrun k8s -- ./train          in a pod: this pod's share of the job    (prrun k8s --help)
  mpirun -n 3 prrun mpi -- ./train   this rank's share of the job        (prrun mpi --help)
  prrun probe | version | check      a pod's health; what was built in; what works on this machine

Starts servers and trainers of a parameter-server job on this machine, each with the environment that
paddle.distributed.launch would set, watches them and ends them together.)";

constexpr char const* notes =
    R"(Logs: LOG_DIR/serverlog.N and LOG_DIR/workerlog.N hold both streams of each process; those of the run before
are kept as *.prev. Trainer 0's lines are also shown, behind "[trainer 0]".

Ports: prrun binds them itself, so that nobody else can take them. A server of prdist takes over the socket
(PRDIST_LISTEN_FD); any other server binds PADDLE_PORT as usual, which works as long as it sets SO_REUSEADDR,
as nearly all do. For one that does not, --no-listen-fd gives the port free just before the program starts.

Exit code: 0 when every trainer exited with 0, else the first failure's own (128+N for signal N); 130 after
Ctrl-C, 124 after --timeout, 64 for wrong flags, 78 for a program or folder that cannot be used.)";

struct Flags {
  LocalJob job;
  double server_grace = 10;
  double grace = 10;
  std::optional<double> timeout;
  std::string json;
  bool no_listen_fd = false;
  bool dry_run = false;
};

void declare(CLI::App& app, Flags& flags) {
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

void check(Flags& flags) {
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

int show_plan(LocalJob const& job) {
  auto const local = plan_local(job).value();
  for (auto const& member : members_of(local.plan)) {
    std::cout << to_string(member) << ", log " << log_path(local.plan, member).string() << '\n';
    for (auto const& [name, value] : variables_of(local.plan, member))
      std::cout << "  " << name << '=' << value << '\n';
    std::cout << "  " << job.program.string();
    for (auto const& argument : job.arguments) std::cout << ' ' << std::quoted(argument, '\'');
    std::cout << '\n';
  }
  std::cout << "Ports are chosen anew at each start.\n";
  return std::cout.flush() ? 0 : 74;
}

int run(Flags const& flags) {
  Console console;
  auto const report = run_local(flags.job, console);
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

}  // namespace

int run_here(Words const& words) {
  CommandLine line(description, notes, usage, "prrun --help");
  Flags flags;
  Words command;
  declare(line.flags(), flags);
  if (auto const code = line.parse(words, true, command, [&] { check(flags); })) return *code;
  try {
    auto const* const path = std::getenv("PATH");
    flags.job.program = find_program(command.front(), path == nullptr ? "" : path, own_folder()).value();
    flags.job.arguments.assign(command.begin() + 1, command.end());
    if (flags.dry_run) return show_plan(flags.job);
    if (!flags.json.empty()) write_json(flags.json, "").value();  // better now than after hours of training
  } catch (Error const& error) {
    std::cerr << error.what() << '\n';
    return exit_code(error.code());
  }
  return run_guarded([&] { return run(flags); });
}

}  // namespace prrun
