// SPDX-License-Identifier: Apache-2.0
// prrun: starts a parameter-server job on this machine. The work is in prdist/launch; here are the flags.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/guard.hpp>
#include <prdist/launch/local.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/report_json.hpp>
#include <prdist/version.hpp>

namespace {

using namespace prdist;

constexpr int wrong_usage = 64;

constexpr char const* description = R"(Examples:
  prrun -- ./train                                          1 server, 1 trainer
  prrun --server_num 2 --trainer_num 4 -- ./train --epochs 3
  prrun --server_num 2 --trainer_num 2 python3 -u train.py  a Paddle program, unchanged
  prrun --timeout 600 --json report.json -- ./train

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

constexpr char const* usage = "Usage: prrun [flags] [--] program [arguments]";

/// One spelling of each flag is enough to read.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(CLI::App const*, std::string) const override { return concat("\n", usage, "\n"); }
  std::string make_option_name(CLI::Option const* option, bool) const override {
    auto const shorts = option->get_snames();
    return concat(shorts.empty() ? "" : "-" + shorts.front() + ", ", "--", option->get_lnames().front());
  }
};

/// Both spellings of a flag: Paddle's underscores and the usual hyphens.
std::string spelled(std::string name) {
  auto hyphens = name;
  for (auto& c : hyphens) c = c == '_' ? '-' : c;
  return hyphens == name ? "--" + name : concat("--", name, ",--", hyphens);
}

void declare(CLI::App& app, Flags& flags) {
  auto const within = [](auto least, auto most, std::string_view what) {
    return CLI::Validator(
        [=](std::string const& text) {
          auto number = least;
          if (parse_number(text, number) && number >= least && number <= most) return std::string();
          return concat("'", text, "' is not ", what, " from ", least, " to ", most);
        },
        "");
  };
  auto const count = within(1, 1024, "a number");
  auto const server_count = within(1, 256, "a number");  // as many as there are shards
  auto const seconds = within(0.0, 31'536'000.0, "a number of seconds");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
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
      ->check(seconds)
      ->type_name("S")
      ->capture_default_str();
  app.add_option(spelled("grace"), flags.grace, "seconds between SIGTERM and SIGKILL")
      ->check(seconds)
      ->type_name("S")
      ->capture_default_str();
  app.add_option(spelled("timeout"), flags.timeout, "seconds that the whole job may take")
      ->check(seconds)
      ->type_name("S");
  app.add_option(spelled("json"), flags.json, "file for the report as JSON")->type_name("FILE");
  app.add_flag(concat("-q,", spelled("quiet")), flags.job.quiet, "show only the report of a failure");
  app.add_flag(spelled("no_listen_fd"), flags.no_listen_fd, "give the ports free just before the program starts");
  app.add_flag(spelled("dry_run"), flags.dry_run, "show what would be started, and start nothing");
  app.set_version_flag("--version", concat("prrun ", version));
}

/// How many of the words behind argv[0] are ours: up to "--" or the program's name. What follows is the program's,
/// flags included.
std::size_t own_words(CLI::App const& app, std::vector<std::string> const& words) {
  std::size_t i = 0;
  while (i < words.size() && words[i] != "--" && words[i].starts_with('-')) {
    auto const& word = words[i];
    auto const* const option = app.get_option_no_throw(word.substr(0, word.find('=')));
    if (option == nullptr) throw CLI::ParseError(concat("'", word, "' is not a flag of prrun"), wrong_usage);
    bool const value_follows = option->get_items_expected_max() != 0 && word.find('=') == std::string::npos;
    i += value_follows ? 2 : 1;
  }
  return std::min(i, words.size());
}

void check(Flags& flags) {
  auto const& id = flags.job.job_id;
  bool const plain =
      id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string::npos;
  if (id.empty() || id.size() > 63 || !plain) {
    throw CLI::ValidationError("--job_id", concat("'", id, "' is not 1 to 63 letters, digits, '.', '_' and '-'"));
  }
  if (flags.job.log_dir.empty()) throw CLI::ValidationError("--log_dir", "is empty");
  auto const millis = [](double seconds) { return std::chrono::milliseconds(static_cast<long>(seconds * 1000)); };
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

int main(int argc, char** argv) {
  CLI::App app(description, "prrun");
  app.footer(notes);
  app.formatter(std::make_shared<Help>());
  Flags flags;
  std::vector<std::string> const words(argv + 1, argv + argc);
  std::vector<std::string> command;
  try {
    declare(app, flags);
    auto const own = own_words(app, words);
    command.assign(words.begin() + static_cast<std::ptrdiff_t>(own), words.end());
    if (!command.empty() && command.front() == "--") command.erase(command.begin());
    app.parse(std::vector<std::string>(words.rend() - static_cast<std::ptrdiff_t>(own), words.rend()));
    check(flags);
    if (command.empty()) throw CLI::RequiredError("a program");
  } catch (CLI::Success const& wanted) {  // --help and --version
    return app.exit(wanted);
  } catch (CLI::ParseError const& error) {
    std::cerr << "prrun: " << error.what() << "\n" << usage << "\nTry: prrun --help\n";
    return wrong_usage;
  }
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
