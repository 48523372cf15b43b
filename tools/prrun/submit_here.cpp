// SPDX-License-Identifier: Apache-2.0
#include "submit_here.hpp"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>

#include "cluster_submit.hpp"
#include "commands/commands.hpp"
#include "secrecy.hpp"
#include "submit_files.hpp"

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

/// $(NAME) as in a pod: the variable's value where it has one; $$ is one $.
std::string expanded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto const close = text.starts_with("$(") ? text.find(')') : std::string_view::npos;
    if (close != std::string_view::npos) {
      auto const name = text.substr(2, close - 2);
      out += process_environment(name).value_or(std::string(text.substr(0, close + 1)));
      text.remove_prefix(close + 1);
      continue;
    }
    out += text.front();
    text.remove_prefix(text.starts_with("$$") ? 2 : 1);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> variables_of(gen::JobSpec const& job) {
  std::vector<std::pair<std::string, std::string>> variables{{"GLOG_v", concat(job.log_level.value)}};
  if (job.model.threads.given) variables.emplace_back("CPU_NUM", concat(job.model.threads.value));
  if (job.model.source) variables.emplace_back("PRDIST_CONFIG", job.model.source->name);
  for (auto const& [name, value] : job.env.items) variables.emplace_back(name.value, value.value);
  return variables;
}

Words command_of(gen::JobSpec const& job) {
  Words words;
  for (auto const& word : job.command.items) words.push_back(word.value);
  if (words.empty()) words = {"prtrain", "-m", job.model.source ? job.model.source->name : "config.yaml"};
  return words;
}

/// Words for people: a secret that got into a command is not shown.
Words masked(Words words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string const next = i + 1 < words.size() ? words[i + 1] : std::string();
    if (!gen::secret_word(words[i], next)) continue;
    auto const equals = words[i].find('=');
    if (equals != std::string::npos) {
      words[i] = words[i].substr(0, equals + 1) + "***";
    } else if (words[i].starts_with('-') && i + 1 < words.size()) {
      words[++i] = "***";
    } else {
      words[i] = "***";
    }
  }
  return words;
}

/// The flags of `prrun --server_num ...` that run this job.
Words flags_of(SubmitFlags const& flags, gen::JobSpec const& job) {
  Words words;
  auto const add = [&](std::string name, std::string value) {
    if (value.empty()) return;
    words.push_back(std::move(name));
    words.push_back(std::move(value));
  };
  add("--job_id", job.job_name.value);
  add("--server_num", concat(job.server_num.value));
  add("--trainer_num", concat(job.trainer_num.value));
  if (job.time_limit.value != 0) add("--timeout", concat(job.time_limit.value));
  add("--log_dir", flags.log_dir);
  add("--json", flags.json);
  if (flags.quiet) words.emplace_back("--quiet");
  return words;
}

void plan_of_processes(gen::Job const& job, Words const& words, Words const& command) {
  if (job.target != "ssh") std::cout << title(job) << '\n';
  std::cout << "variables:\n";
  for (auto const& [name, value] : variables_of(job.spec)) {
    std::cout << "  " << name << '=' << (gen::holds_secret(name, value) ? "***" : value) << '\n';
  }
  auto all = words;
  all.emplace_back("--");
  auto const program = masked(command);
  all.insert(all.end(), program.begin(), program.end());
  std::cout << "commands, in order:\n  " << typed("prrun", all) << '\n';
}

int run_with(gen::Job const& job, Words words) {
  for (auto const& [name, value] : variables_of(job.spec)) ::setenv(name.c_str(), value.c_str(), 1);
  words.emplace_back("--");
  for (auto const& word : command_of(job.spec)) words.push_back(expanded(word));
  return run_here(words);
}

/// The hosts of the file, or the seeds' own file of machines.
std::string machines_of(gen::JobSpec const& job) {
  std::string text;
  for (auto const& host : job.hosts.items) text += concat(host.value, " slots=", job.slots.value, '\n');
  if (!text.empty()) return text;
  std::error_code error;
  if (!fs::is_regular_file("machines", error)) {
    throw Error(Errc::config_missing, "submit: no machines: write hosts: [...] below submit, ",
                "or a file 'machines' here with one host per line");
  }
  return gen::read_source("machines", std::cin)->text;
}

}  // namespace

int submit_local(SubmitFlags const& flags, gen::Job const& job) {
  auto const words = flags_of(flags, job.spec);
  if (!flags.dry_run) return run_with(job, words);
  plan_of_processes(job, words, command_of(job.spec));
  return std::cout.flush() ? 0 : 74;
}

int submit_ssh(SubmitFlags const& flags, gen::Job const& job) {
  auto const folder = job_folder(flags, job);
  std::vector<gen::File> const files{{"machines", machines_of(job.spec)}};
  auto words = flags_of(flags, job.spec);
  auto const add = [&](std::string name, std::string value) { words.insert(words.end(), {name, value}); };
  add("--hostfile", (folder / "machines").string());
  if (flags.workspace.empty()) {
    add("--job_dispatch_package", flags.package.empty() ? "." : flags.package);
  } else {
    add("--job_workspace", flags.workspace);
  }
  if (job.raw.port.given) add("--port", concat(job.spec.port.value));
  if (job.raw.ports_num.given) add("--ports_num", concat(job.spec.ports_num.value));
  if (job.raw.ports_num_for_sparse.given) add("--ports_num_for_sparse", concat(job.spec.ports_num_for_sparse.value));
  if (flags.dry_run) {
    plan_of_files(title(job), folder, files);
    plan_of_processes(job, words, command_of(job.spec));
    return std::cout.flush() ? 0 : 74;
  }
  write_files(flags, folder, files);
  for (auto const& [name, value] : variables_of(job.spec)) add("--env", concat(name, '=', value));
  return run_with(job, std::move(words));
}

}  // namespace prrun
