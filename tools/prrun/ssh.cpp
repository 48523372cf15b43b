// SPDX-License-Identifier: Apache-2.0
#include "ssh.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/configuration.hpp>
#include <prdist/launch/descendants.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/guard.hpp>
#include <prdist/launch/hostfile.hpp>
#include <prdist/launch/logs.hpp>
#include <prdist/launch/printable.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/ssh/placement.hpp>
#include <prdist/launch/sweeper.hpp>
#include <prdist/launch/termination_log.hpp>
#include <prdist/launch/view.hpp>

#include "job_report.hpp"
#include "ssh_hosts.hpp"
#include "ssh_run.hpp"

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

constexpr char const* group = "Over SSH";

/// JOB20261117031500_abcdef: the date as paddle.py has it, and something that two jobs of one second do not share.
std::string job_folder() {
  auto const now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  char text[64];
  auto const size = std::strftime(text, sizeof text, "JOB%Y%m%d%H%M%S_", &local);
  std::string name(text, size);
  std::random_device random;
  for (int i = 0; i < 6; ++i) name += static_cast<char>('a' + random() % 26);
  return name;
}

/// What of this environment goes to the hosts: settings of Paddle's and ours, and what --env names.
std::vector<std::string> environment_of(SshFlags const& flags) {
  std::vector<std::string> environment;
  for (auto const& entry : current_environment()) {
    auto const name = std::string_view(entry).substr(0, entry.find('='));
    bool const ours = name.starts_with("PRDIST_") && name != listen_fd_variable && name != progress_variable &&
                      name != "PRDIST_TERMINATION_LOG" && name != job_mark_variable;
    if (ours || name.starts_with("FLAGS_")) environment.push_back(entry);
  }
  if (flags.port) {
    environment.push_back(concat("PADDLE_INIT_PORTS_NUM=", flags.dense));
    environment.push_back(concat("PADDLE_INIT_PORTS_NUM_FOR_SPARSE=", flags.sparse));
  }
  if (!flags.nics.empty()) environment.push_back(concat("PADDLE_INIT_NICS=", flags.nics));
  for (auto const& given : flags.environment) {
    if (given.find('=') != std::string::npos) {
      environment.push_back(given);
      continue;
    }
    auto const value = process_environment(given);
    if (!value) {
      throw Error(Errc::config_missing, "ssh: --env ", given, " names a variable that is not set here",
                  ": set it, or write --env NAME=VALUE");
    }
    environment.push_back(concat(given, '=', *value));
  }
  return environment;
}

std::vector<SshNode> nodes_of(SshFlags const& flags, std::vector<SshHost> const& hosts) {
  auto const members = seat_members(hosts, flags.servers, flags.trainers);
  auto const folder = job_folder();
  std::vector<SshNode> nodes;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    SshNode node;
    node.index = i;
    node.host = hosts[i];
    node.members = members[i];
    node.workspace = flags.package.empty() ? remote_folder(flags.workspace, i)
                                           : concat(remote_folder(flags.root_dir, i), '/', folder);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

int show_hosts(JobFlags const& flags, std::vector<SshNode> const& nodes, Words const& command) {
  for (auto const& warning : flags.warnings) std::cerr << "prrun: " << printable(warning) << '\n';
  for (auto const& node : nodes) {
    std::cout << "node " << node.index << ", " << to_string(node.host) << ", " << node.workspace << ':';
    for (auto const& member : node.members)
      std::cout << ' ' << to_string(member) << (member == node.members.back() ? "" : ",");
    std::cout << '\n';
  }
  std::cout << "Each runs:";
  for (auto const& word : masked_arguments(command, current_environment())) {
    std::cout << ' ' << printable(shell_quoted(word));
  }
  std::cout << '\n';
  return std::cout.flush() ? 0 : 74;
}

void show_end(SshContext const& context, JobReport const& report) {
  context.info(pod_line(report));
  if (!context.quiet || report.outcome != Outcome::succeeded) show_report(context.console, report);
}

Result<JobReport> run(JobFlags const& flags, SshFlags const& ssh, std::vector<SshNode> nodes, SshRunJob const& job,
                      Console& console) {
  GuardWatch const guards(job.ledger);
  auto const held = hold_signals();
  adopt_orphans();
  auto const claim = claim_log_dir(flags.job.log_dir);
  if (!claim) return claim.error();
  SshContext context{{ssh.config, ssh.options, ssh.accept_new, ssh.connect_timeout},
                     SshChannels(held),
                     console,
                     flags.job.quiet,
                     flags.job.infos};
  try {
    bool const fresh = !ssh.package.empty();
    context.info(concat("Looking at ", nodes.size(), " hosts of ", ssh.hostfile));
    probe_hosts(context, nodes, ssh.remote_prrun, fresh);
    copy_workspaces(context, nodes, {ssh.package, ssh.root_dir, ssh.whole_package});
    SshRun running(context, nodes, job);
    running.start();
    auto report = running.watch();
    guards.explain(report);
    for (auto const& trouble : gather_logs(context, nodes, flags.job.log_dir)) {
      console.error(launch_line("WARNING", trouble, std::chrono::system_clock::now()));
    }
    show_end(context, report);
    context.info(
        concat("Output of node 0 is in ", to_string(nodes.front().host), ", ", nodes.front().workspace, "/output"));
    context.info(concat("Exit code ", report.exit_code));
    return report;
  } catch (Error const& error) {
    return error;
  } catch (Interrupted const& interrupted) {
    JobReport report;
    report.job_id = flags.job.job_id;
    report.outcome = Outcome::interrupted;
    report.signal = interrupted.signal;
    report.exit_code = 128 + interrupted.signal;
    show_end(context, report);
    return report;
  }
}

/// The configuration as Paddle's launcher shows it: numbers of the whole job, and of variables only the names.
void show_as_asked(JobFlags& job, SshFlags const& flags, std::vector<SshNode> const& nodes, Words const& command) {
  std::size_t servers = 0;
  std::size_t trainers = 0;
  for (auto const& node : nodes) {
    for (auto const& member : node.members) ++(member.role == JobRole::server ? servers : trainers);
  }
  auto& shown = job.configuration;
  shown["server_num"] = concat(servers);
  shown["trainer_num"] = concat(trainers);
  shown["nnodes"] = concat(nodes.size());
  shown["training_script"] = without_secrets(command.front(), {});
  shown["training_script_args"] = shown_arguments(std::span(command).subspan(1), current_environment());
  std::string names;
  for (auto const& given : flags.environment)
    names += concat(names.empty() ? "" : ",", given.substr(0, given.find('=')));
  if (!names.empty()) shown["env"] = names;
  if (job.job.max_restart > 0) job.warnings.emplace_back("max_restart is not used: over ssh a job runs once");
  if (job.start_port) job.warnings.emplace_back("start_port is not used: over ssh it is --port");
  if (job.gloo_port) job.warnings.emplace_back("gloo_port is not used: over ssh it is a free one of node 0");
}

}  // namespace

void declare(CLI::App& app, SshFlags& flags) {
  app.add_option("--hostfile", flags.hostfile, "hosts to run on, user@host:port slots=N per line")
      ->type_name("FILE")
      ->group(group);
  app.add_option(concat("-p,", spelled("job_dispatch_package")), flags.package,
                 "folder to copy to every host, and to run in there")
      ->type_name("DIR")
      ->group(group);
  app.add_option(concat("-j,", spelled("job_workspace")), flags.workspace,
                 "folder that is on every host already; {node} stands for the node's number")
      ->type_name("DIR")
      ->group(group);
  app.add_option(spelled("root_dir"), flags.root_dir, "folder on the hosts that the package is copied below")
      ->type_name("DIR")
      ->capture_default_str()
      ->group(group);
  app.add_flag(spelled("whole_package"), flags.whole_package, "copy all data to all hosts, also what is cut for them")
      ->group(group);
  app.add_option(spelled("remote_prrun"), flags.remote_prrun,
                 "prrun on the hosts; without it the one in PATH there, or a copy of this one")
      ->type_name("PATH")
      ->group(group);
  app.add_option("--env,-x", flags.environment, "NAME or NAME=VALUE for the members; may be repeated")
      ->type_name("NAME")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(1)
      ->group(group);
  app.add_option("--port", flags.port, "first port of each host's servers; without it free ones")
      ->check(within(1, 65535, "a port"))
      ->type_name("PORT")
      ->group(group);
  app.add_option(spelled("ports_num"), flags.dense, "ports of a server for dense parameters (Paddle v2)")
      ->check(within(1, 1024, "a number"))
      ->type_name("N")
      ->group(group);
  app.add_option(spelled("ports_num_for_sparse"), flags.sparse, "ports of a server for sparse parameters (Paddle v2)")
      ->check(within(0, 1024, "a number"))
      ->type_name("N")
      ->group(group);
  app.add_option("--nics", flags.nics, "interface whose address the members use; without it where ssh came to")
      ->type_name("NAME")
      ->group(group);
  app.add_flag(spelled("accept_new"), flags.accept_new, "take the key of a host that was never seen")->group(group);
  app.add_option(spelled("ssh_config"), flags.config, "file for ssh -F")->type_name("FILE")->group(group);
  app.add_option(spelled("ssh_options"), flags.options, "more words for ssh, such as '-J gateway'; may be repeated")
      ->type_name("WORDS")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(1)
      ->group(group);
  app.add_option(spelled("connect_timeout"), flags.connect_timeout, "seconds to reach a host")
      ->check(within(1, 3600, "a number of seconds"))
      ->type_name("S")
      ->capture_default_str()
      ->group(group);
}

void check(CLI::App const& app, SshFlags& flags) {
  if (!flags.wanted()) {
    for (auto const* const option : app.get_options()) {
      if (option->get_group() != group || option->count() == 0) continue;
      throw CLI::ValidationError("--" + option->get_lnames().front(), "is for jobs over ssh: give --hostfile too");
    }
    return;
  }
  if (flags.hostfile.empty()) {
    throw CLI::ValidationError("--hostfile",
                               "is missing: --job_dispatch_package and --job_workspace are for its hosts");
  }
  if (flags.package.empty() && flags.workspace.empty()) {
    throw CLI::ValidationError("--hostfile", "--job_workspace or --job_dispatch_package should be set");
  }
  if (!flags.package.empty() && !flags.workspace.empty()) {
    throw CLI::ValidationError("--job_workspace", "excludes --job_dispatch_package: a folder is there, or is copied");
  }
  for (auto const* const name : {"--servers", "--trainers", "--nproc_per_node", "--devices", "--ips"}) {
    if (app.get_option(name)->count() == 0) continue;
    throw CLI::ValidationError("--hostfile",
                               concat("excludes ", name, ": its hosts have a server each and a trainer per slot"));
  }
  auto const given = [&](char const* name) -> std::optional<std::size_t> {
    auto const* const option = app.get_option(name);
    if (option->count() == 0) return std::nullopt;
    return option->as<std::size_t>();
  };
  flags.servers = given("--server_num");
  flags.trainers = given("--trainer_num");
  std::vector<std::string> words;
  for (auto const& text : flags.options) {
    for (std::string_view rest = text; !rest.empty();) {
      auto const begin = std::min(rest.find_first_not_of(' '), rest.size());
      rest.remove_prefix(begin);
      auto const word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(word.size());
      if (!word.empty()) words.emplace_back(word);
    }
  }
  flags.options = std::move(words);
}

int run_over_ssh(JobFlags& job, SshFlags const& flags, Words command, Words const& unknown) {
  SshRunJob running;
  std::vector<SshNode> nodes;
  auto patience = running.common.patience;
  try {
    // Signs of life are sent once a second: with less than three, one that is late would be a host that is lost.
    if (auto const seconds = number_in(process_environment, "PRDIST_LOST_AFTER", 3, 86400)) {
      patience = std::chrono::seconds(*seconds);
    }
    if (!unknown.empty()) {
      std::string list;
      for (auto const& word : unknown) list += concat(list.empty() ? "" : " ", word.substr(0, word.find('=')));
      std::cerr << launch_line("INFO", concat("Passed on to the program: ", list), std::chrono::system_clock::now())
                << '\n';
    }
    command.insert(command.end(), unknown.begin(), unknown.end());
    nodes = nodes_of(flags, parse_ssh_hosts(flags.hostfile, hostfile_text("ssh", flags.hostfile)));
    show_as_asked(job, flags, nodes, command);
    if (job.dry_run) return show_hosts(job, nodes, command);
    prepare_report(job);
    running.common.environment = environment_of(flags);
  } catch (Error const& error) {
    std::cerr << printable(error.what()) << '\n';
    return exit_code(error.code());
  }
  running.common.job_id = job.job.job_id;
  running.common.nics = flags.nics;
  running.common.program = command.front();
  running.common.arguments.assign(command.begin() + 1, command.end());
  running.common.port = flags.port.value_or(0);
  running.common.width = static_cast<std::uint16_t>(flags.dense + flags.sparse);
  running.common.hand_over_sockets = job.job.hand_over_sockets;
  running.limits = job.job.limits;
  running.common.patience = patience;
  running.log_dir = job.job.log_dir;
  running.with_gloo = job.job.with_gloo;
  return run_and_report(job, [&](Console& console) {
    running.ledger = job.job.ledger;
    return run(job, flags, std::move(nodes), running, console);
  });
}

}  // namespace prrun
