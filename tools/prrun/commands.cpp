// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <algorithm>
#include <iostream>
#include <string_view>

#include <prdist/launch/printable.hpp>

#include "command_line.hpp"

namespace prrun {

namespace {

struct Command {
  std::string_view name;
  int (*run)(Words const&);
};

constexpr Command commands[]{{"agent", run_agent},   {"k8s", run_k8s},         {"mpi", run_mpi},
                             {"probe", run_probe},   {"version", run_version}, {"check", run_check},
                             {"submit", run_submit}, {"status", run_status},   {"logs", run_logs},
                             {"cancel", run_cancel}};

}  // namespace

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (auto const& command : commands) {
    if (command.run != run_agent) names.emplace_back(command.name);
  }
  return names;
}

namespace {

/// `prrun help` and `prrun help COMMAND`.
int run_help(Words const& words) {
  if (words.empty()) return run_here({"--help"});
  auto const names = command_names();
  if (std::ranges::find(names, words.front()) != names.end()) return run_command_line({words.front(), "--help"});
  std::string list;
  for (auto const& name : names) list += ' ' + name;
  std::cerr << "prrun: '" << prdist::printable(words.front()) << "' is no command; these are:" << list << '\n';
  return wrong_usage;
}

}  // namespace

int run_command_line(Words const& words) {
  if (!words.empty() && words.front() == "help") return run_help({words.begin() + 1, words.end()});
  auto const found = words.empty() ? std::end(commands) : std::ranges::find(commands, words.front(), &Command::name);
  if (found == std::end(commands)) return is_submission(words) ? run_submit(words) : run_here(words);
  return found->run({words.begin() + 1, words.end()});
}

}  // namespace prrun
