// SPDX-License-Identifier: Apache-2.0
// What pods and processes run: that there is something to run, and that no secret stands in it.
#include <algorithm>
#include <prdist/core/text.hpp>

#include "check_job.hpp"
#include "checks.hpp"
#include "keys.hpp"
#include "secrecy.hpp"
#include "target.hpp"

namespace prdist::gen {

namespace {

void check_secret_words(TextList const& command, Options const& options, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < command.items.size(); ++i) {
    auto const& word = command.items[i];
    auto const next = i + 1 < command.items.size() ? std::string_view(command.items[i + 1].value) : std::string_view{};
    if (!secret_word(word.value, next)) continue;
    std::string const message = "a secret stands in the command, and a manifest is no place for one";
    std::string const help =
        "put it into a Secret, name it by submit.secrets: [{env: NAME, secret: SECRET, key: KEY}] and write $(NAME) "
        "here; outside Kubernetes set NAME where the job starts";
    if (options.profile == Profile::legacy) {
      diagnostics.warning("PR017", word.where, message, help);
    } else {
      diagnostics.error("PR017", word.where, message, help);
    }
  }
}

}  // namespace

bool bare_entrypoint(JobSpec const& job) {
  auto const bare = [](TextList const& command) { return command.given && command.items.empty(); };
  return bare(job.command_of_servers()) || bare(job.command_of_trainers());
}

void check_commands(JobSpec const& job, std::string const& target, Options const& options, Diagnostics& diagnostics) {
  auto const* const found = find_target(target);
  for (auto const* const command : {&job.command, &job.server_command, &job.trainer_command}) {
    if (!command->given) continue;
    bool const empty = command->items.empty();
    if (empty && found != nullptr && found->kubernetes) {
      if (job.launcher.given && job.launcher.value == "prrun") {
        diagnostics.error("PR023", command->where,
                          "prrun cannot start the image's own entrypoint, which only the image knows",
                          "take launcher away, or write the program and its arguments");
      }
    } else if (empty || command->items.front().value.empty()) {
      diagnostics.error("PR008", command->where, "the command is empty",
                        "write the program and its arguments as a list");
    }
    check_secret_words(*command, options, diagnostics);
  }
  if (job.start_cmd.given) {
    TextList shell_line;
    for (auto const& word : words(job.start_cmd.value)) shell_line.items.push_back({word, true, job.start_cmd.where});
    check_secret_words(shell_line, options, diagnostics);
  }
}

}  // namespace prdist::gen
