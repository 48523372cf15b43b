// SPDX-License-Identifier: Apache-2.0
// prrun -m config.yaml -b backend.yaml: reads and renders the job by prgen's library and starts it where the file says.

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/process.hpp>
#include <prdist/launch/program.hpp>

#include "cluster_submit.hpp"
#include "commands/commands.hpp"
#include "model_file.hpp"
#include "pipeline.hpp"
#include "report.hpp"
#include "secrecy.hpp"
#include "submit_flags.hpp"

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

/// The faults of the file have been shown.
struct FileIsWrong {};

gen::Options options_of(SubmitFlags const& flags, Words const& command) {
  gen::Options options;
  options.backend = flags.backend;
  std::ranges::transform(options.backend, options.backend.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (options.backend == "kubernetes") options.backend = "k8s";
  options.name_space = flags.cluster.name_space;
  options.command = command;
  options.profile = flags.profile == "legacy" ? gen::Profile::legacy : gen::Profile::safe;
  options.template_dir = flags.template_dir;
  options.reading.last_duplicate_wins = flags.duplicate_keys == "last";
  for (auto const& set : flags.sets) {
    auto const equals = set.find('=');
    options.overrides.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  if (flags.kube_version.empty()) return options;
  auto version = std::string_view(flags.kube_version);
  if (version.starts_with('v')) version.remove_prefix(1);
  auto const minor = version.starts_with("1.") ? version.substr(2, version.find_first_of(".+-", 3) - 2) : "";
  if (!parse_number(minor, options.kube_minor) || options.kube_minor < 0) {
    throw Error(Errc::config_invalid, "submit: --kube_version '", flags.kube_version,
                "' is not a version of Kubernetes: write for example 1.29");
  }
  return options;
}

/// Reads, checks and renders; says what prgen would say.
class Rendering {
 public:
  Rendering(SubmitFlags const& flags, gen::Options options) : flags_(flags), options_(std::move(options)) {
    if (!flags.model.empty()) {
      model_ = gen::read_source(find_model_file(flags.model, process_environment).value(), std::cin);
    }
    file_ = gen::read_source(flags.file, std::cin);
  }

  [[nodiscard]] gen::Options& options() { return options_; }

  /// @throws FileIsWrong
  [[nodiscard]] gen::Job load() {
    diagnostics_ = {};
    auto job = gen::load(file_, model_, options_, diagnostics_);
    if (!job || diagnostics_.failed()) {
      // The machines of an MPI job, reached by ssh: the same keys.
      bool const ssh = options_.backend == "ssh" || (options_.backend.empty() && names_ssh());
      if (!ssh) fail();
      options_.backend = "mpi";
      options_.overrides.push_back({"backend", "mpi"});
      job = load();
      job->target = "ssh";
    }
    return std::move(*job);
  }

  /// @throws FileIsWrong, gen::TemplateError
  [[nodiscard]] std::vector<gen::File> render(gen::Job const& job) {
    gen::Renderer renderer(gen::template_folder(options_.template_dir));
    auto files = gen::render(job, options_, renderer, diagnostics_);
    if (diagnostics_.failed()) fail();
    return files;
  }

  /// Warnings and notes, once it is clear what is done with the job.
  void tell() const {
    if (!flags_.quiet) std::cerr << gen::report(diagnostics_, {});
  }

 private:
  /// Whether all that is wrong is a backend that prgen has no target for, and prrun has.
  [[nodiscard]] bool names_ssh() const {
    for (auto const& each : diagnostics_.sorted()) {
      if (each.code == "PR009" && each.where.path == "backend") return each.message.starts_with("'ssh'");
    }
    return false;
  }

  [[noreturn]] void fail() const {
    gen::Diagnostics shown;
    for (auto const& each : diagnostics_.sorted()) {
      if (each.severity == gen::Severity::error) shown.error(each.code, each.where, each.message, each.help);
      if (each.severity == gen::Severity::warning && !flags_.quiet)
        shown.warning(each.code, each.where, each.message, each.help);
    }
    std::cerr << gen::report(shown, {});
    throw FileIsWrong{};
  }

  SubmitFlags const& flags_;
  gen::Options options_;
  gen::SourcePtr model_;
  gen::SourcePtr file_;
  gen::Diagnostics diagnostics_;
};

// ---- files in a folder: mpi and paddlecloud

constexpr auto marker = ".prrun";

fs::path job_folder(SubmitFlags const& flags, gen::Job const& job) {
  return flags.folder.empty() ? fs::path("prrun_jobs") / job.spec.job_name.value : fs::path(flags.folder);
}

/// A folder that this program made may be written again; somebody's own files are not touched.
void write_files(SubmitFlags const& flags, fs::path const& folder, std::vector<gen::File> const& files) {
  std::error_code error;
  bool const ours = fs::exists(folder / marker, error) || flags.replace;
  for (auto const& file : files) {
    if (ours || !fs::exists(fs::symlink_status(folder / file.name, error))) continue;
    throw Error(Errc::config_contradiction, "submit: '", (folder / file.name).string(),
                "' is there already and prrun did not write it: give another folder with --job_dir, or --replace");
  }
  fs::create_directories(folder, error);
  if (error) {
    throw Error(Errc::config_invalid, "submit: the folder '", folder.string(), "' cannot be made, ", error.message(),
                ": give another one with --job_dir");
  }
  std::ofstream(folder / marker) << "written by prrun; files of this folder are replaced\n";
  for (auto const& file : files) gen::write_file(folder / file.name, file);
}

/// Becomes the script, which then is the job: signals and exit code are its own.
[[noreturn]] void become(fs::path const& script) {
  auto const path = fs::absolute(script).string();
  Words const words{path};
  auto const pointers = prdist::detail::pointers_to(words);
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  ::execv(path.c_str(), pointers.data());
  throw Error(Errc::config_invalid, "submit: cannot run '", path, "': ", std::generic_category().message(errno),
              ". Is its folder mounted noexec? Give another one with --job_dir");
}

void plan_of_files(std::string const& what, fs::path const& folder, std::vector<gen::File> const& files) {
  std::cout << what << "\nfiles in " << folder.string() << ":\n";
  for (auto const& file : files) std::cout << "  " << file.name << ", " << file.text.size() << " bytes\n";
}

bool in_path(std::string_view name) {
  return static_cast<bool>(find_program(name, process_environment("PATH").value_or(""), "/nonexistent"));
}

std::string title(gen::Job const& job) {
  return concat("job ", job.spec.job_name.value, " for ", job.target, ", ", job.spec.server_num.value, " servers and ",
                job.spec.trainer_num.value, " trainers");
}

/// The ranks find prrun by PATH; one that was started by its path may be in none of its folders.
void put_beside_in_path() {
  if (in_path("prrun")) return;
  auto const path = process_environment("PATH").value_or("/usr/bin:/bin");
  ::setenv("PATH", concat(path, ':', own_folder().string()).c_str(), 1);
}

int submit_mpi(SubmitFlags const& flags, gen::Job const& job, std::vector<gen::File> files) {
  auto const folder = job_folder(flags, job);
  bool const batch = job.spec.hpc.given;
  std::string const program = job.spec.mpi.value == "mpich" ? "mpiexec" : "mpirun";
  std::error_code error;
  if (!batch && !job.spec.hosts.given && !process_environment("PBS_NODEFILE") &&
      !fs::exists(folder / "machines", error)) {
    // The seeds' own command line: mpirun -hostfile machines.
    if (!fs::is_regular_file("machines", error)) {
      throw Error(Errc::config_missing, "submit: no machines: write hosts: [...] below submit, ",
                  "or a file 'machines' here with one host per line");
    }
    files.push_back({"machines", gen::read_source("machines", std::cin)->text});
  }
  auto const script = folder / (batch ? "submit.sh" : "run.sh");
  if (flags.dry_run) {
    plan_of_files(title(job), folder, files);
    std::cout << "commands, in order:\n  " << script.string() << '\n';
    if (!batch) {
      std::cout << "    which runs " << program << " with " << job.spec.pods() << " ranks of "
                << (folder / "start.sh").string() << '\n';
    }
    return std::cout.flush() ? 0 : 74;
  }
  if (batch && !fs::exists(fs::path(job.spec.hpc.value) / "bin/qsub_f", error)) {
    throw Error(Errc::config_missing, "submit: there is no ", job.spec.hpc.value,
                "/bin/qsub_f: ", "correct submit.hpc, or take it out and the job runs by mpirun");
  }
  if (!batch && !in_path(program)) {
    throw Error(Errc::config_missing, "submit: there is no ", program,
                " in PATH: install it (Debian: ", job.spec.mpi.value == "openmpi" ? "openmpi-bin" : "mpich",
                "), or run the job on this machine with --backend local");
  }
  write_files(flags, folder, files);
  put_beside_in_path();
  if (!flags.quiet) std::cerr << title(job) << ": " << script.string() << std::endl;
  become(script);
}

int submit_paddlecloud(SubmitFlags const& flags, gen::Job const& job, std::vector<gen::File> const& files) {
  auto const folder = job_folder(flags, job);
  auto const script = folder / "job.sh";
  if (flags.dry_run) {
    plan_of_files(concat("job ", job.spec.job_name.value, " for paddlecloud"), folder, files);
    std::cout << "commands, in order:\n  " << script.string() << "\n    which runs paddlecloud job train with keys "
              << "from PADDLECLOUD_AK, PADDLECLOUD_SK and FS_UGI\n";
    return std::cout.flush() ? 0 : 74;
  }
  write_files(flags, folder, files);
  if (!in_path("paddlecloud")) {
    throw Error(Errc::config_missing, "submit: there is no paddlecloud in PATH, the client of PaddleCloud. The files ",
                "are in ", folder.string(), ": install it, or take them where it is; then set PADDLECLOUD_AK, ",
                "PADDLECLOUD_SK and FS_UGI and run ", script.string());
  }
  for (auto const* const name : {"PADDLECLOUD_AK", "PADDLECLOUD_SK", "FS_UGI"}) {
    bool const wanted = std::string_view(name) != "FS_UGI" || !job.spec.job_conf.given;
    if (!wanted || !process_environment(name).value_or("").empty()) continue;
    throw Error(Errc::config_missing, "submit: ", name, " is not set: PaddleCloud's client needs it; set it in the ",
                "environment, never in a file");
  }
  if (!flags.quiet) std::cerr << "job " << job.spec.job_name.value << ": " << script.string() << std::endl;
  become(script);
}

// ---- this machine

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

int submit_local(SubmitFlags const& flags, gen::Job const& job) {
  auto const words = flags_of(flags, job.spec);
  if (!flags.dry_run) return run_with(job, words);
  plan_of_processes(job, words, command_of(job.spec));
  return std::cout.flush() ? 0 : 74;
}

// ---- machines over ssh

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

/// Hands over to prrun --hostfile, with the current folder as the package unless it is at the hosts already.
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

// ---- a cluster

int submit_to_cluster(SubmitFlags const& flags, Rendering& rendering, gen::Job job) {
  if (flags.dry_run) {
    auto const files = rendering.render(job);
    rendering.tell();
    return plan_on_cluster(flags,
                           {job.spec.job_name.value, job.spec.name_space.value, job.target, gen::manifest(files)});
  }
  auto cluster = flags.cluster;
  cluster.name_space = job.spec.name_space.value;
  Kubectl const kubectl(cluster, process_environment);
  auto const minor = minor_of(kubectl, flags);
  if (minor && *minor != rendering.options().kube_minor) {
    rendering.options().kube_minor = *minor;
    job = rendering.load();
  }
  auto const files = rendering.render(job);
  rendering.tell();
  return create_on_cluster(kubectl, flags,
                           {job.spec.job_name.value, job.spec.name_space.value, job.target, gen::manifest(files)});
}

int submit(SubmitFlags const& flags, Words const& command) {
  Rendering rendering(flags, options_of(flags, command));
  auto job = rendering.load();
  auto const* const target = gen::find_target(job.target);
  if (target != nullptr && target->kubernetes) return submit_to_cluster(flags, rendering, std::move(job));
  if (job.target == "ssh") {
    rendering.tell();
    return submit_ssh(flags, job);
  }
  auto files = rendering.render(job);
  rendering.tell();
  if (job.target == "mpi") return submit_mpi(flags, job, std::move(files));
  if (job.target == "paddlecloud") return submit_paddlecloud(flags, job, files);
  if (job.target == "local") return submit_local(flags, job);
  throw Error(Errc::config_invalid, "submit: prrun does not know how to start a job for '", job.target,
              "': render it by prgen and start it by hand");
}

}  // namespace

int run_submit(Words const& words) {
  SubmitFlags flags;
  Words command;
  if (auto const code = parse_submission(words, flags, command)) return *code;
  auto const failed = [](Errc code, std::string_view text) {
    Error const error(code, text);
    std::cout.flush();
    std::cerr << error.what() << '\n';
    return exit_code(code);
  };
  try {
    return submit(flags, command);
  } catch (FileIsWrong const&) {
    return failed(Errc::config_invalid, concat("submit: ", flags.file, " is not right, nothing was started: ",
                                               "prgen explain CODE says more about a fault"));
  } catch (Error const& error) {
    return failed(error.code(), error.message());
  } catch (gen::IoError const& error) {
    return failed(Errc::config_missing, concat("submit: ", error.what(), ": check the path and its permissions"));
  } catch (gen::TemplateError const& error) {
    return failed(Errc::config_missing, concat("submit: ", error.what(),
                                               ": prgen's templates belong beside prrun, in ../share/prdist/templates; "
                                               "--template_dir names another folder"));
  }
}

}  // namespace prrun
