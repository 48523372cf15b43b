// SPDX-License-Identifier: Apache-2.0
#include "submit_flags.hpp"

#include <algorithm>
#include <optional>

namespace prrun {

using prdist::concat;

namespace {

constexpr char const* usage = "Usage: prrun -b backend.yaml [-m config.yaml] [flags] [-- program [arguments]]";

constexpr char const* description = R"(Examples:
  prrun -m config.yaml -b backend.yaml -- ./train       was: python -m paddlerec.run -m config.yaml -b backend.yaml
  prrun -m config.yaml -b backend.yaml --dry-run -- ./train   what would be rendered and which commands would run
  prrun -b backend.yaml -n training -- ./train --epochs 3
  prrun -b backend.yaml --backend local -- ./train      the same job on this machine
  prrun -m paddlerec.models.rank.dnn -b backend.yaml -- ./train   the config.yaml of an installed package
  prrun status ctr | logs ctr --follow | cancel ctr     afterwards, on Kubernetes

Renders the job as prgen does, looks whether the cluster has what it needs, and starts it: by kubectl (k8s, volcano,
paddlejob), by mpirun (mpi), over ssh (ssh, with the keys of mpi), by PaddleCloud's client (paddlecloud) or here
(local), as backend.yaml says.)";

constexpr char const* notes =
    R"(Nothing is created unless all of it can be: every fault is shown with the way out, and what a failure leaves half
done is taken back. A job of the same name is never touched without --replace. The manifest goes to kubectl over
standard input. With mpi, ssh and paddlecloud the files stay in --job_dir.

Exit code: 0 when the job was submitted; with mpi, ssh and local the job's own. 64 for wrong flags, 78 for a file that is
wrong or a cluster that lacks something, 75 when the cluster does not answer.)";

}  // namespace

void declare(CLI::App& app, SubmitFlags& flags) {
  app.add_option(concat("-b,", spelled("backend_file")), flags.file, "backend.yaml: what runs the job, and how")
      ->type_name("FILE");
  app.add_option("-m,--model", flags.model, "the model's config.yaml, or a package such as paddlerec.models.rank.dnn")
      ->type_name("FILE");
  app.add_option("--backend", flags.backend, "k8s, volcano, paddlejob, mpi, ssh, paddlecloud or local, over the file's")
      ->type_name("NAME");
  app.add_option("--set", flags.sets, "path=value over what the file says, for example submit.memory=8Gi")
      ->type_name("PATH=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_flag(spelled("dry_run"), flags.dry_run, "show the plan, ask nobody and start nothing");
  app.add_flag("--replace", flags.replace, "delete a job of this name first");
  app.add_flag(spelled("no_check"), flags.unchecked, "create without a look whether the cluster has what it needs");
  declare(app, flags.cluster);
  app.add_option("--wait", flags.wait, "seconds that --replace waits until the old job is gone")
      ->check(within(1.0, 86'400.0, "a number of seconds"))
      ->type_name("S")
      ->capture_default_str();
  app.add_option("--profile", flags.profile, "safe, or legacy: as the original rendered it")
      ->check(CLI::IsMember({"safe", "legacy"}))
      ->type_name("NAME");
  app.add_option(spelled("kube_version"), flags.kube_version,
                 "version to render for; that of the cluster when not given")
      ->type_name("1.N");
  app.add_option(spelled("duplicate_keys"), flags.duplicate_keys, "error, or last: the last of equal keys counts")
      ->check(CLI::IsMember({"error", "last"}))
      ->type_name("RULE");
  app.add_option(spelled("template_dir"), flags.template_dir, "templates of your own")->type_name("DIR");
  app.add_option(spelled("job_dir"), flags.folder, "folder of the rendered files, for mpi, ssh and paddlecloud")
      ->type_name("DIR");
  app.add_option(spelled("job_dispatch_package"), flags.package,
                 "folder to copy to the hosts, for ssh; the current one")
      ->type_name("DIR");
  app.add_option(spelled("job_workspace"), flags.workspace, "folder that the hosts have already, for ssh")
      ->type_name("DIR");
  app.add_option(spelled("log_dir"), flags.log_dir, "folder of the logs, for local")->type_name("DIR");
  app.add_option("--json", flags.json, "file for the report as JSON, for local")->type_name("FILE");
  app.add_flag("-q,--quiet", flags.quiet, "only errors, and what was created");
}

std::optional<int> parse_submission(Words const& words, SubmitFlags& flags, Words& command) {
  CommandLine line(description, notes, usage, "prrun submit --help");
  declare(line.flags(), flags);
  // A word without a dash would be a program; here it is more likely a file that was meant for -b.
  auto const dashes = std::ranges::find(words, "--");
  auto const check = [&] {
    if (dashes == words.end() && !command.empty()) {
      throw CLI::ParseError(concat("'", command.front(), "' is not wanted here: the program stands behind --"),
                            wrong_usage);
    }
    if (dashes != words.end() && command.empty()) throw CLI::ParseError("nothing stands behind --", wrong_usage);
    if (flags.file.empty()) throw CLI::RequiredError("-b backend.yaml");
    for (auto const& set : flags.sets) {
      if (auto const equals = set.find('='); equals == std::string::npos || equals == 0) {
        throw CLI::ValidationError("--set", concat("'", set, "' is not path=value"));
      }
    }
    if (flags.file == "-" && flags.model == "-") throw CLI::ParseError("stdin can be read once", wrong_usage);
  };
  Words program;
  auto const code = line.parse(words, false, program, [&] {
    command = std::move(program);
    program.clear();
    check();
  });
  return code;
}

bool is_submission(Words const& words) {
  CLI::App app;
  SubmitFlags flags;
  declare(app, flags);
  for (std::size_t i = 0; i < words.size() && words[i] != "--" && words[i].starts_with('-'); ++i) {
    auto const name = words[i].substr(0, words[i].find('='));
    auto const* const option = app.get_option_no_throw(name);
    if (option == nullptr) return false;
    if (option == app.get_option("-m") || option == app.get_option("-b")) return true;
    if (option->get_items_expected_max() != 0 && name.size() == words[i].size()) ++i;
  }
  return false;
}

}  // namespace prrun
