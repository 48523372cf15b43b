// SPDX-License-Identifier: Apache-2.0
#include "node_flags.hpp"

#include <prdist/launch/environment.hpp>
#include <prdist/launch/program.hpp>
#include <prdist/launch/termination_log.hpp>

namespace prrun {

using namespace prdist;

void declare(CLI::App& app, NodeFlags& flags) {
  app.add_option(spelled("server_num"), flags.servers, "servers of the whole job; or PADDLE_PSERVERS_NUM")
      ->check(within(1, 65536, "a number"))
      ->type_name("N");
  app.add_option(concat(spelled("trainer_num"), ',', spelled("worker_num")), flags.trainers,
                 "trainers of the whole job; or PADDLE_TRAINERS_NUM")
      ->check(within(1, 65536, "a number"))
      ->type_name("N");
  app.add_option(spelled("log_dir"), flags.log_dir, "folder that gets node_N/{server,train}.log")->type_name("DIR");
  declare(app, flags.limits, "this node's part");
  app.add_flag(concat("-q,", spelled("quiet")), flags.quiet, "show what the program writes and nothing else");
}

void apply(NodeFlags const& flags, NodeJob& job) {
  apply(flags.limits, job.limits);
  job.quiet = flags.quiet;
}

int run_to_end(NodeJob const& job, Environment const& environment) {
  Console console;
  auto const report = run_node(job, console);
  if (!report) return give_up(report.error(), environment);
  if (auto const words = last_words(*report); !words.empty()) {
    write_termination_log(termination_log_path(environment), words, current_environment());
  }
  return report->exit_code;
}

int give_up(Error const& error, Environment const& environment) {
  Console console;
  console.error(error.what());
  write_termination_log(termination_log_path(environment), error.what(), current_environment());
  return exit_code(error.code());
}

std::filesystem::path program_of(Words const& command, Environment const& environment) {
  return find_program(command.front(), environment("PATH").value_or(""), own_folder()).value();
}

}  // namespace prrun
