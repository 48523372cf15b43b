// SPDX-License-Identifier: Apache-2.0
#include "cli.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <prdist/core/escaped.hpp>
#include <prdist/core/suggest.hpp>
#include <prdist/core/text.hpp>
#include <prdist/version.hpp>

#include "commands/commands.hpp"

namespace prdist::gen {

namespace {

constexpr char const* usage = R"(Examples:
  prgen backend.yaml | kubectl create -f -            submit to Kubernetes
  prgen backend.yaml -m config.yaml -n training       with the model's config, into a namespace
  prgen backend.yaml --backend volcano                as a Volcano Job
  prgen backend.yaml --profile legacy                 as the original rendered it
  prgen backend.yaml --backend mpi -o files -O job    hostfile and scripts for mpirun
  prgen backend.yaml --backend local | sh             on this machine
  prgen check backend.yaml --diagnostics=github       only look for faults
  prgen diff old.yaml new.yaml                        what would change

Commands (render when none is named):
  render FILE...      the manifest, to stdout; - is stdin
  check FILE...       faults only
  plan FILE...        objects, pods, resources, names, ports, rights
  diff OLD NEW        changes between two files; diff FILE --live against the cluster
  convert FILE        any dialect in the current form
  init                a commented file to begin with, for --backend
  explain [CODE...]   what a code such as PR012 means
  schema              JSON Schema of backend.yaml, for editors
  completion SHELL    for bash, zsh or fish

Words behind -- are the command that the pods run.)";

constexpr char const* notes =
    R"(Exit codes: 0 done, 1 invalid input, 2 wrong usage, 3 a file cannot be read or written. diff: 0 the same,
1 a difference, more an error. stdout has the manifest alone, and nothing on an error.)";

using Command = int (*)(Context&);

std::map<std::string, Command> const& commands() {
  static std::map<std::string, Command> const all{
      {"render", render_command},   {"check", check_command},     {"plan", plan_command},
      {"diff", diff_command},       {"convert", convert_command}, {"init", init_command},
      {"explain", explain_command}, {"schema", schema_command},   {"completion", completion_command}};
  return all;
}

class Help : public CLI::Formatter {
 public:
  std::string make_usage(CLI::App const*, std::string) const override {
    return "\nUsage: prgen [command] FILE... [flags] [-- command of the pods]\n";
  }
};

/// Raw words of flags that need more than CLI11's own reading.
struct Words {
  std::vector<std::string> positionals;
  std::vector<std::string> files;
  std::vector<std::string> sets;
  std::string profile = "safe", diagnostics = "text", duplicates = "error", colour = "auto", kube = "1.33";
};

void declare(CLI::App& app, Invocation& call, Words& words) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("words", words.positionals, "")->group("");
  app.add_option("-f,--file", words.files, "a file; the same as naming it bare")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("-m,--model", call.config, "the model's config.yaml")->type_name("FILE");
  app.add_option("--backend", call.options.backend, target_list())->type_name("NAME");
  app.add_option("-n,--namespace", call.options.name_space, "Kubernetes namespace")->type_name("NAME");
  app.add_option("--profile", words.profile, "safe, or legacy: as the original rendered it")
      ->type_name("NAME")
      ->check(CLI::IsMember({"safe", "legacy"}));
  app.add_option("--kube-version", words.kube, "the cluster's version, for example 1.29; 1.33 when not given")
      ->type_name("1.N");
  app.add_option("--set", words.sets, "path=value over what the file says, for example submit.memory=8Gi")
      ->type_name("PATH=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("-o,--output", call.output, "yaml, json or files")
      ->type_name("FORM")
      ->check(CLI::IsMember({"yaml", "json", "files"}));
  app.add_option("-O,--output-dir", call.directory, "folder for -o files")->type_name("DIR");
  app.add_flag("--force", call.force, "replace files that are there");
  app.add_option("--template-dir", call.options.template_dir, "templates of your own")->type_name("DIR");
  app.add_option("--diagnostics", words.diagnostics, "text, json, github or sarif, on stderr")
      ->type_name("FORM")
      ->check(CLI::IsMember({"text", "json", "github", "sarif"}));
  app.add_option("--duplicate-keys", words.duplicates, "error, or last: the last of equal keys counts")
      ->type_name("RULE")
      ->check(CLI::IsMember({"error", "last"}));
  app.add_option("--max-errors", call.report.max_errors, "errors that the text form shows; 0 is all")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--error-on-warning", call.error_on_warning, "warnings end with exit code 1, too");
  app.add_flag("-q,--quiet", call.quiet, "no notes, and no warnings unless they are errors");
  app.add_option("--color,--colour", words.colour, "auto, always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("--live", call.live, "of diff: against the cluster, by kubectl");
  app.set_version_flag("--version", concat("prgen ", version));
}

bool colour(std::string const& when, bool terminal) {
  if (when != "auto") return when == "always";
  auto const* const no = std::getenv("NO_COLOR");
  return terminal && (no == nullptr || *no == '\0');
}

/// The flag that one of the words was probably meant to be, as a question.
std::string meant_flag(CLI::App const& app, std::vector<std::string> const& words) {
  std::vector<std::string> known;
  for (auto const* const option : app.get_options()) {
    for (auto const& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (auto const& word : words) {
    auto const name = word.substr(0, word.find('='));
    if (name == "--") break;
    if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (auto const meant = did_you_mean(name, known); !meant.empty()) return concat("; did you mean '", meant, "'?");
  }
  return {};
}

/// Words that a command would ignore, and a first word that is neither a command nor a file.
std::string stray_words(Invocation const& call, Words const& words) {
  auto const& given = words.positionals;
  if (call.live && call.command != "diff") return "--live belongs to diff: prgen diff backend.yaml --live";
  if (call.command == "init" && !given.empty()) {
    return concat("init takes no words: prgen init --backend ", find_target(given[0]) != nullptr ? given[0] : "k8s");
  }
  if (call.command == "schema" && !given.empty()) return "schema takes no words: it is the same for every file";
  if (call.command == "completion" && given.size() > 1) return "completion takes one word: bash, zsh or fish";
  if (call.command != "render" || given.empty()) return {};
  std::error_code error;
  auto const& first = given.front();
  if (first == "-" || std::filesystem::exists(first, error)) return {};
  std::vector<std::string> known;
  for (auto const& [name, command] : commands()) known.push_back(name);
  auto const meant = did_you_mean(first, known);
  if (meant.empty()) return {};
  return concat("'", first, "' is neither a command nor a file: did you mean 'prgen ", meant, "'?");
}

/// Empty, or what is wrong.
std::string interpret(Words& words, bool terminal, Invocation& call) {
  if (!words.positionals.empty() && commands().contains(words.positionals.front())) {
    call.command = words.positionals.front();
    words.positionals.erase(words.positionals.begin());
  }
  call.words = words.positionals;
  if (auto wrong = stray_words(call, words); !wrong.empty()) return wrong;
  call.words.insert(call.words.end(), words.files.begin(), words.files.end());
  call.options.profile = words.profile == "legacy" ? Profile::legacy : Profile::safe;
  call.options.reading.last_duplicate_wins = words.duplicates == "last";
  call.report.colour = colour(words.colour, terminal);
  call.report.format = words.diagnostics == "json"     ? ReportFormat::json
                       : words.diagnostics == "github" ? ReportFormat::github
                       : words.diagnostics == "sarif"  ? ReportFormat::sarif
                                                       : ReportFormat::text;
  std::string_view kube = words.kube;
  if (kube.starts_with('v')) kube.remove_prefix(1);
  // Vendors write 1.30+ and 1.30.2-gke.1.
  auto const minor = kube.starts_with("1.") ? kube.substr(2, kube.find_first_of(".+-", 3) - 2) : std::string_view{};
  if (!parse_number(minor, call.options.kube_minor) || call.options.kube_minor < 0) {
    return concat("--kube-version: '", words.kube, "' is not a version of Kubernetes: write for example 1.29");
  }
  for (auto const& set : words.sets) {
    auto const equals = set.find('=');
    if (equals == std::string::npos || equals == 0) return concat("--set: '", set, "' is not path=value");
    call.options.overrides.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  if (!call.options.backend.empty()) {
    auto& name = call.options.backend;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (name == "kubernetes") name = "k8s";
    std::vector<std::string> known;
    for (auto const& target : targets()) known.emplace_back(target.name);
    if (find_target(name) == nullptr) {
      auto meant = did_you_mean(name, known);
      if (meant.empty() && !did_you_mean(name, std::vector<std::string>{"kubernetes"}).empty()) meant = "k8s";
      return concat("--backend: '", name, "' is not known",
                    meant.empty() ? concat(": ", target_list()) : concat(": did you mean '", meant, "'?"));
    }
  }
  bool const needs_files =
      call.command != "explain" && call.command != "schema" && call.command != "init" && call.command != "completion";
  if (call.command == "diff" &&
      (call.words.size() > 2 || (call.words.size() == 1) != call.live || call.words.empty())) {
    return "diff takes two files, or one and --live: prgen diff old.yaml new.yaml";
  }
  if (needs_files && call.words.empty()) {
    return concat("which file? prgen ", call.command == "render" ? "" : call.command + " ",
                  "backend.yaml, or - for stdin");
  }
  if (std::count(call.words.begin(), call.words.end(), "-") + (call.config == "-" ? 1 : 0) > 1)
    return "stdin can be read once: '-' is named twice";
  if (call.output == "files" && call.directory.empty()) return "-o files needs a folder: -O DIR";
  if (call.output != "files" && !call.directory.empty()) return "-O needs -o files";
  return {};
}

/// What of the diagnostics is to be printed.
Diagnostics filtered(Diagnostics const& all, Invocation const& call) {
  Diagnostics shown;
  bool const with_warnings = !call.quiet || call.error_on_warning;  // an exit code needs its reason
  // Notes are about what was rendered, and with an error, or for check, nothing was.
  bool const with_notes = !call.quiet && !all.failed() && call.command != "check";
  for (auto const& d : all.sorted()) {
    if (d.severity == Severity::error) shown.error(d.code, d.where, d.message, d.help);
    if (d.severity == Severity::warning && with_warnings) shown.warning(d.code, d.where, d.message, d.help);
    if (d.severity == Severity::note && with_notes) shown.note(d.message, d.help);
  }
  return shown;
}

int execute(Invocation const& call, std::istream& in, std::ostream& out, std::ostream& err) {
  Diagnostics diagnostics;
  Context context{call, in, diagnostics};
  int code = exit_ok;
  bool const diff = call.command == "diff";
  try {
    code = commands().at(call.command)(context);
  } catch (IoError const& error) {
    diagnostics.error({}, {}, error.what());
    code = exit_io;
  } catch (TemplateError const& error) {
    diagnostics.error({}, {}, error.what());
    code = exit_io;
  }
  if (code == exit_ok && call.error_on_warning && diagnostics.warned()) code = diff ? exit_usage : exit_invalid;
  err << report(filtered(diagnostics, call), call.report);
  if (code == exit_ok || (diff && code == 1)) {
    out << context.out;
    out.flush();
    if (!out) {
      err << "prgen: error: stdout cannot be written\n";
      return exit_io;
    }
  }
  return code;
}

}  // namespace

int run(std::vector<std::string> const& words, std::istream& in, std::ostream& out, std::ostream& err, bool terminal) {
  Invocation call;
  Words raw;
  auto const dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end()) call.options.command.assign(dashes + 1, words.end());
  std::vector<std::string> own(words.begin(), dashes);
  CLI::App app(usage, "prgen");
  app.formatter(std::make_shared<Help>());
  app.get_formatter()->column_width(34);
  app.footer(notes);
  declare(app, call, raw);
  if (own.size() == 1 && own.front() == "help") own.front() = "--help";
  std::reverse(own.begin(), own.end());  // the order that CLI11 takes words in
  try {
    app.parse(own);
  } catch (CLI::CallForHelp const&) {
    out << app.help();
    return out.flush() ? exit_ok : exit_io;
  } catch (CLI::CallForVersion const& version_text) {
    out << version_text.what() << '\n';
    return out.flush() ? exit_ok : exit_io;
  } catch (CLI::ParseError const& error) {
    err << "prgen: error: " << escaped(error.what()) << meant_flag(app, words) << "; prgen --help shows the flags\n";
    return exit_usage;
  }
  if (auto const wrong = interpret(raw, terminal, call); !wrong.empty()) {
    err << "prgen: error: " << escaped(wrong) << '\n';
    return exit_usage;
  }
  if (dashes != words.end() && call.options.command.empty()) {
    err << "prgen: error: nothing stands behind --\n";
    return exit_usage;
  }
  return execute(call, in, out, err);
}

}  // namespace prdist::gen
