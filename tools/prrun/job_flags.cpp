// SPDX-License-Identifier: Apache-2.0
#include "job_flags.hpp"

#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/launch/cards.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/listed.hpp>
#include <prdist/launch/printable.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/termination_log.hpp>
#include <prdist/version.hpp>

#include "job_report.hpp"

namespace prrun {

using namespace prdist;

namespace {

/// Paddle's flags that have nothing to say here. They are taken, so that a command line need not be changed, and a
/// line says what is done.
struct Unused {
  char const* name;
  char const* variable;
  char const* nothing;  ///< the value that asks for what is done anyway
  char const* instead;
};
constexpr Unused unused_flags[]{
    {"legacy", "", "false", "there is one launcher for old and new command lines"},
    {"sort_ip", "PADDLE_SORT_IP", "false", "nodes stand in the order of the lists"},
    {"enable_gpu_log", "", "", "no log of the cards is written; nvidia-smi dmon writes one"},
};

/// Those that ask for something that is not there: going on without would train something else.
struct Refused {
  char const* name;
  char const* instead;
};
constexpr Refused refused_flags[]{
    {"auto_parallel_config", "there is no automatic parallelism: leave it away"},
    {"auto_cluster_config", "there is no automatic parallelism: leave it away"},
    {"auto_tuner_json", "there is no automatic tuning: leave it away"},
    {"npus", "cards are CUDA's: give --devices, or run on the CPU without it"},
    {"xpus", "cards are CUDA's: give --devices, or run on the CPU without it"},
    {"heter_workers", "a job has servers and trainers only: give --trainers"},
    {"heter_worker_num", "a job has servers and trainers only: give --trainer_num"},
    {"heter_devices", "a job has servers and trainers only: give --devices in a collective job"},
};

/// Wherever an IP or name stands without a port, Paddle counts from here.
constexpr std::uint16_t fleetrun_first_port = 6170;
constexpr std::uint16_t paddle_start_port = 6070;
constexpr std::uint16_t paddle_gloo_port = 6767;

void declare_members(CLI::App& app, JobFlags& flags) {
  auto const count = within(1, 1024, "a number");
  auto const server_count = within(0, 256, "a number");  // as many as there are shards
  app.add_option(spelled("server_num"), flags.server_num, "servers, 1 to 256; with --nnodes here, or 0 [1]")
      ->check(server_count)
      ->type_name("N")
      ->envname("PADDLE_SERVER_NUM");
  app.add_option(concat(spelled("trainer_num"), ',', spelled("worker_num")), flags.trainer_num,
                 "trainers, 1 to 1024; with --nnodes here, or 0; also --worker_num [1]")
      ->check(within(0, 1024, "a number"))
      ->type_name("N")
      ->envname("PADDLE_TRAINER_NUM");
  app.add_option("--servers", flags.servers, "all servers' endpoints; this machine runs its own of them")
      ->type_name("HOST:PORT,...")
      ->envname("PADDLE_SERVERS_ENDPOINTS");
  app.add_option("--trainers,--workers", flags.trainers, "all trainers' endpoints, with --servers; also --workers")
      ->type_name("HOST:PORT,...")
      ->envname("PADDLE_TRAINERS_ENDPOINTS");
  app.add_option("--host", flags.job.host, "which host of the lists this node is; else the address to bind ports of")
      ->type_name("HOST")
      ->envname("POD_IP");
  app.add_option(spelled("nproc_per_node"), flags.nproc_per_node,
                 "processes of a collective job on each node [one per card, or 1]")
      ->check(count)
      ->type_name("N")
      ->envname("PADDLE_NPROC_PER_NODE");
  app.add_option("--devices,--gpus", flags.devices, "cards of a collective job by absolute number, as 0,1; also --gpus")
      ->type_name("LIST")
      ->envname("PADDLE_DEVICES");
  app.add_option("--ips", flags.ips, "nodes of a collective job, the same list on each")
      ->type_name("HOST,...")
      ->envname("PADDLE_IPS");
  app.add_option(spelled("run_mode"), flags.run_mode, "ps or collective [by the flags that are given]")
      ->type_name("MODE")
      ->envname("PADDLE_RUN_MODE");
  app.add_option(spelled("start_port"), flags.start_port, "count ports from here, servers first [any that are free]")
      ->check(within(1, 65535, "a port"))
      ->type_name("PORT")
      ->envname("PADDLE_START_PORT");
  app.add_option(concat(spelled("gloo_port"), ',', spelled("http_port")), flags.gloo_port,
                 "port of Paddle's own barrier [any that is free; 6767 with --servers]")
      ->check(within(1, 65535, "a port"))
      ->type_name("PORT")
      ->envname("PADDLE_GLOO_PORT");
  app.add_option(spelled("with_gloo"), flags.job.with_gloo, "0, 1 or 2, for Paddle programs: PADDLE_WITH_GLOO")
      ->check(within(0, 2, "a number"))
      ->type_name("N")
      ->envname("PADDLE_WITH_GLOO")
      ->capture_default_str();
}

void declare_paddles_rest(CLI::App& app, JobFlags& flags) {
  app.add_option(spelled("rank"), flags.rank, "of this node among several")
      ->check(within(-1, 65535, "a number"))
      ->type_name("N")
      ->envname("PADDLE_RANK")
      ->capture_default_str();
  app.add_option(spelled("max_restart"), flags.max_restart,
                 "how often the whole job is started again after a failure that may pass [0]")
      ->check(within(0, 1'000'000, "a number"))
      ->type_name("N")
      ->envname("PADDLE_MAX_RESTART");
  app.add_option(spelled("restart_delay"), flags.restart_delay,
                 "seconds before the first restart; each later one waits twice as long, up to 30")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
  app.add_option(spelled("elastic_level"), flags.elastic_level, "-1, 0 or 1, of elastic jobs")
      ->check(within(-1, 1, "a number"))
      ->type_name("N")
      ->envname("PADDLE_ELASTIC_LEVEL")
      ->capture_default_str();
  app.add_option(spelled("elastic_timeout"), flags.elastic_timeout, "seconds an elastic job waits for more nodes")
      ->check(seconds())
      ->type_name("S")
      ->envname("PADDLE_ELASTIC_TIMEOUT")
      ->capture_default_str();
  app.add_option(spelled("log_level"), flags.log_level, "INFO, or WARNING for no LAUNCH INFO lines")
      ->check(CLI::IsMember({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "FATAL"}, CLI::ignore_case))
      ->type_name("LEVEL")
      ->envname("PADDLE_LOG_LEVEL")
      ->capture_default_str();
  app.add_option(spelled("log_overwrite"), flags.log_overwrite, "true to keep no *.prev of the logs before")
      ->check(truth())
      ->type_name("BOOL")
      ->envname("PADDLE_LOG_OVERWRITE")
      ->capture_default_str();
  for (auto const& each : unused_flags) {
    app.add_option(spelled(each.name), flags.unused[each.name], each.instead)->envname(each.variable)->group("");
  }
  for (auto const& each : refused_flags) {
    std::function<void(std::string const&)> const refuse = [&each](std::string const&) {
      throw CLI::ValidationError(concat("--", each.name), each.instead);
    };
    app.add_option_function(spelled(each.name), refuse, each.instead)->group("");
  }
}

/// What fits a list of endpoints into a job. @throws CLI::ValidationError
std::vector<Endpoint> endpoints_of(char const* flag, std::string const& text, std::uint16_t first_port,
                                   std::size_t most, std::optional<std::size_t> number) {
  auto endpoints = parse_endpoints(flag, text, first_port);
  if (!endpoints) throw CLI::ValidationError(std::string(endpoints.error().message()), 0);
  if (endpoints->empty() || endpoints->size() > most) {
    throw CLI::ValidationError(flag, concat("there are ", endpoints->size(), " and not 1 to ", most));
  }
  if (number && *number != endpoints->size()) {
    throw CLI::ValidationError(flag, concat("there are ", endpoints->size(), ", but the number given is ", *number,
                                            ": leave the number away"));
  }
  return std::move(*endpoints);
}

void check_ps(JobFlags& flags) {
  auto& job = flags.job;
  auto const unused = [&](char const* name, char const* instead) {
    flags.warnings.push_back(concat(name, " is of collective jobs and not used: ", instead));
  };
  if (flags.nproc_per_node) unused("nproc_per_node", "trainer_num says how many trainers there are");
  if (!flags.devices.empty()) unused("devices", "set CUDA_VISIBLE_DEVICES for programs that use cards");
  if (!flags.ips.empty()) unused("ips", "servers and trainers list the members of several nodes");
  job.mode = JobMode::ps;
  job.servers = flags.server_num.value_or(1);
  job.trainers = flags.trainer_num.value_or(1);
  if (flags.servers.empty() != flags.trainers.empty()) {
    auto const* const missing = flags.servers.empty() ? "--servers" : "--trainers";
    throw CLI::ValidationError(flags.servers.empty() ? "--trainers" : "--servers",
                               concat("needs ", missing, " too: every node has to know all endpoints"));
  }
  if (flags.servers.empty()) return;
  job.server_list = endpoints_of("--servers", flags.servers, 0, 256, flags.server_num);
  auto const first = fleetrun_first_port + job.server_list.size();
  job.trainer_list =
      endpoints_of("--trainers", flags.trainers, static_cast<std::uint16_t>(first), 1024, flags.trainer_num);
}

void check_collective(JobFlags& flags, Environment const& environment) {
  auto& job = flags.job;
  job.mode = JobMode::collective;
  job.cards = cards_of(flags.devices, flags.nproc_per_node.value_or(0), visible_cards(environment)).value();
  job.servers = 0;
  job.trainers = job.cards.size();
  if (flags.ips.empty()) return;
  auto const first = flags.start_port.value_or(paddle_start_port);
  for (auto const& host : split_list(flags.ips)) {
    for (std::size_t i = 0; i < job.trainers; ++i) {
      auto endpoint = parse_endpoint(
          concat(host.find(':') == std::string::npos ? host : concat('[', host, ']'), ':', std::size_t{first} + i));
      if (!endpoint) throw CLI::ValidationError("--ips", std::string(endpoint.error().message()));
      job.trainer_list.push_back(std::move(*endpoint));
    }
  }
}

/// @throws CLI::ValidationError
JobMode mode_of(JobFlags const& flags) {
  bool const ps = flags.server_num || flags.trainer_num || !flags.servers.empty() || !flags.trainers.empty();
  bool const collective = flags.nproc_per_node || !flags.devices.empty() || !flags.ips.empty();
  if (flags.run_mode.empty()) return ps || !collective ? JobMode::ps : JobMode::collective;
  if (flags.run_mode == "ps") return JobMode::ps;
  if (flags.run_mode != "collective") {
    throw CLI::ValidationError("--run_mode", concat("'", flags.run_mode, "' is not ps or collective"));
  }
  if (!ps) return JobMode::collective;
  throw CLI::ValidationError("--run_mode",
                             "a collective job has no servers: count its processes with --nproc_per_node, and leave "
                             "--server_num, --trainer_num, --servers and --trainers away (and their variables)");
}

/// Everything that can be given, with the value that counts.
Configuration configuration_of(CLI::App const& app, JobFlags const& flags) {
  Configuration configuration;
  for (auto const* const option : app.get_options()) {
    auto const name = option->get_lnames().front();
    // Of the hidden ones and of those for other ways to run, only what was given.
    bool const usual = option->get_group() == app.get_help_ptr()->get_group();
    if (name == "help" || name == "version" || (!usual && option->count() == 0)) continue;
    bool const is_switch = option->get_items_expected_max() == 0;
    auto value = option->get_default_str();
    if (value.empty()) value = "None";
    if (option->count() != 0) value = option->results().back();
    configuration[name] = is_switch ? (option->count() != 0 ? "True" : "False")
                                    : without_secrets(std::move(value), current_environment());
  }
  configuration["run_mode"] = name_of(flags.job.mode);
  configuration["max_restart"] = concat(flags.job.max_restart);
  configuration["servers"] = flags.servers;
  configuration["trainers"] = flags.trainers;
  if (flags.job.mode == JobMode::ps && flags.servers.empty()) {
    configuration["server_num"] = concat(flags.job.servers);
    configuration["trainer_num"] = concat(flags.job.trainers);
  }
  return configuration;
}

}  // namespace

void declare(CLI::App& app, JobFlags& flags) {
  declare_members(app, flags);
  app.add_option(spelled("log_dir"), flags.job.log_dir, "folder of the logs")
      ->type_name("DIR")
      ->envname("PADDLE_LOG_DIR")
      ->capture_default_str();
  app.add_option(spelled("job_id"), flags.job.job_id, "name of the job: letters, digits, '.', '_' and '-'")
      ->type_name("ID")
      ->envname("PADDLE_JOB_ID")
      ->capture_default_str();
  declare_paddles_rest(app, flags);
  declare(app, flags.limits, "the whole job");
  app.add_option(spelled("json"), flags.json, "file for the report as JSON")->type_name("FILE");
  app.add_flag(concat("-q,", spelled("quiet")), flags.job.quiet, "show only the report of a failure");
  app.add_flag(spelled("no_listen_fd"), flags.no_listen_fd, "give the ports free just before the program starts");
  app.add_flag(spelled("dry_run"), flags.dry_run, "show what would be started, and start nothing");
  app.set_version_flag("--version", concat("prrun ", version));
}

namespace {

/// Paddle's other variables for the choice of free ports. @throws CLI::ValidationError
std::uint16_t fixed_port(JobFlags& flags, Environment const& environment) {
  std::uint16_t port = 0;
  auto const text = environment("FLAGS_FIXED_PORT").value_or("");
  if (!text.empty() && (!parse_number(text, port) || port == 0)) {
    throw CLI::ValidationError("FLAGS_FIXED_PORT", concat("'", text, "' is not a port: it is used as --start_port"));
  }
  auto const range = environment("PORT_RANGE").value_or("");
  if (port == 0 && !range.empty()) {
    flags.warnings.push_back(concat("PORT_RANGE=", range, " is not used: start_port counts ports from a number"));
  }
  return port;
}

}  // namespace

void check(CLI::App const& app, JobFlags& flags, Environment const& environment) {
  auto& job = flags.job;
  auto const& id = job.job_id;
  bool const plain =
      id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string::npos;
  if (id.empty() || id.size() > 63 || !plain) {
    throw CLI::ValidationError("--job_id", concat("'", id, "' is not 1 to 63 letters, digits, '.', '_' and '-'"));
  }
  if (job.log_dir.empty()) throw CLI::ValidationError("--log_dir", "is empty");
  flags.warnings = overridden_variables(app);
  for (auto const& [name, variable, nothing, instead] : unused_flags) {
    auto const& value = flags.unused[name];
    if (!value.empty() && CLI::detail::to_lower(value) != nothing) {
      flags.warnings.push_back(concat(name, ' ', value, " is not used: ", instead));
    }
  }
  if (mode_of(flags) == JobMode::ps) {
    check_ps(flags);
  } else {
    check_collective(flags, environment);
  }
  bool const listed = !job.trainer_list.empty();
  if (!listed) job.first_port = flags.start_port.value_or(fixed_port(flags, environment));
  if (listed && job.mode == JobMode::ps && flags.start_port) {
    flags.warnings.emplace_back("start_port is not used: the lists have the ports");
  }
  if (job.first_port + job.servers + job.trainers > 65535) {
    throw CLI::ValidationError("--start_port", concat(job.first_port, " leaves no room for ",
                                                      job.servers + job.trainers + 1, " ports up to 65535"));
  }
  job.gloo_port = flags.gloo_port.value_or(listed ? paddle_gloo_port : 0);
  job.max_restart = flags.max_restart.value_or(0);
  job.restart_delay = millis(flags.restart_delay);
  job.keep_logs = !is_true(flags.log_overwrite);
  auto const level = CLI::detail::to_lower(flags.log_level);
  job.infos = level == "info" || level == "debug";
  apply(flags.limits, job.limits);
  job.hand_over_sockets = !flags.no_listen_fd;
  flags.configuration = configuration_of(app, flags);
}

void note_single_node(CLI::App const& app, JobFlags& flags) {
  if (flags.rank > 0) flags.warnings.push_back(concat("rank ", flags.rank, " is not used: this is the only node"));
  if (flags.elastic_level != -1) {
    flags.warnings.push_back(
        concat("elastic_level ", flags.elastic_level, " is not used: max_restart starts the whole job again"));
  }
  if (app.get_option("--elastic_timeout")->count() != 0) {
    flags.warnings.emplace_back("elastic_timeout is not used: this job is not elastic");
  }
}

void prepare(JobFlags& flags, Words const& command) {
  auto const* const path = std::getenv("PATH");
  flags.job.program = find_program(command.front(), path == nullptr ? "" : path, own_folder()).value();
  flags.job.arguments.assign(command.begin() + 1, command.end());
  flags.configuration["training_script"] = without_secrets(flags.job.program.string(), {});
  flags.configuration["training_script_args"] = shown_arguments(flags.job.arguments, current_environment());
  prepare_report(flags);
}

int show_plan(JobFlags const& flags, LaunchPlan const& plan) {
  for (auto const& member : members_here(plan)) {
    std::cout << to_string(member) << ", log " << printable(log_path(plan, member).native()) << '\n';
    for (auto const& [name, value] : variables_of(plan, member))
      std::cout << "  " << name << '=' << printable(value) << '\n';
    std::ostringstream command;
    command << without_secrets(flags.job.program.string(), {});
    for (auto const& argument : masked_arguments(flags.job.arguments, current_environment())) {
      command << ' ' << std::quoted(argument, '\'');
    }
    std::cout << "  " << printable(command.str()) << '\n';
  }
  return std::cout.flush() ? 0 : 74;
}

}  // namespace prrun
