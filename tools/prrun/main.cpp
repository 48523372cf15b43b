// SPDX-License-Identifier: Apache-2.0
// prrun: starts parameter-server jobs. A first word that names a command picks it; -m or -b are a submission;
// everything else is a job on this machine. A program that is named like a command is reached behind --.

#include <algorithm>
#include <string_view>

#include "commands.hpp"

namespace {

struct Command {
  std::string_view name;
  int (*run)(prrun::Words const&);
};

constexpr Command commands[]{{"agent", prrun::run_agent},     {"k8s", prrun::run_k8s},
                             {"mpi", prrun::run_mpi},         {"probe", prrun::run_probe},
                             {"version", prrun::run_version}, {"check", prrun::run_check},
                             {"submit", prrun::run_submit},   {"status", prrun::run_status},
                             {"logs", prrun::run_logs},       {"cancel", prrun::run_cancel}};

}  // namespace

int main(int argc, char** argv) {
  prrun::Words const words(argv + 1, argv + argc);
  auto const found = words.empty() ? std::end(commands) : std::ranges::find(commands, words.front(), &Command::name);
  if (found == std::end(commands))
    return prrun::is_submission(words) ? prrun::run_submit(words) : prrun::run_here(words);
  return found->run({words.begin() + 1, words.end()});
}
