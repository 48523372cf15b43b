// SPDX-License-Identifier: Apache-2.0
// prrun k8s: this pod's share of a job.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/copy_folder.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/k8s/pod_plan.hpp>
#include <prdist/launch/k8s/wait_for_pods.hpp>
#include <prdist/launch/node.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/termination_log.hpp>
#include <prdist/launch/workspace.hpp>

#include "api_server.hpp"
#include "job_report.hpp"
#include "node_flags.hpp"

namespace prrun {

using namespace prdist;
namespace fs = std::filesystem;

namespace {

constexpr char const* usage = "Usage: prrun k8s [flags] [--] program [arguments]";

constexpr char const* description = R"(Examples, as the command of a container:
  prrun k8s -- prtrain -m /etc/prdist/config.yaml     what prgen's manifests run
  prrun k8s -- python3 -u train.py                    a Paddle program, unchanged
  prrun k8s --wait 1800 -- ./train                    a busy cluster: pods may take half an hour to come

Finds out which server or trainer this pod is, and runs the program as that, with the environment that
PaddleCloudRoleMaker reads. Understands the Jobs of prgen, Volcano's and PaddleJob's environment, and the Job of
Paddle's v2 document, in which each pod is a server and a trainer.)";

constexpr char const* notes =
    R"(Ids come from --role and --id, from PADDLE_TRAINER_ID or PADDLE_PSERVER_ID, from JOB_COMPLETION_INDEX or
VC_TASK_INDEX, and last from the numeric order of the pods' addresses. In one Indexed Job the first
PADDLE_PSERVERS_NUM pods are servers. Only where the environment does not tell all, pods are listed; that needs
a service account with the verb list on pods.

Files: JOB_PATH/JOB_NAME/output/node_N/{server,train}.log (--log_dir), and a trainer's data from
JOB_PATH/JOB_NAME/N/data or JOB_PATH/JOB_NAME/data/N, copied to ./data. With TRAIN_CONFIG_DIR the folder of that
name is copied as well, and the program runs in the copy.

Exit code: the program's own, 128+N for signal N, 124 after --timeout, 75 when pods did not come in time, 64 for
wrong flags, 78 for a wrong environment. The cause is one line in /dev/termination-log.)";

struct Flags {
  NodeFlags node;
  std::string role;
  std::optional<std::size_t> id;
  std::string workspace;
  double wait = 600;
};

void declare(CLI::App& app, Flags& flags) {
  flags.node.limits.grace = 110;  // within the 120 s that prgen's manifests give
  declare(app, flags.node);
  app.add_option("--role", flags.role, "this pod's role: pserver or trainer")
      ->check(CLI::IsMember({"pserver", "trainer"}))
      ->type_name("ROLE");
  app.add_option("--id", flags.id, "this pod's place among those of its role")
      ->check(within(0, 65535, "a number"))
      ->type_name("N");
  app.add_option("--wait", flags.wait, "seconds until all pods have to run, where they must be listed")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
  app.add_option("--workspace", flags.workspace, "folder to copy files to and to run in")->type_name("DIR");
}

/// The end of a pod that has not started its program.
struct Ended {
  int code = 0;
  std::string cause;
};

Ended stopped_by(int signal, std::string const& meanwhile) {
  return {128 + signal, concat("the job was stopped by ", signal_name(signal), " while ", meanwhile,
                               ": the program was not started")};
}

Ended late(std::string const& meanwhile) {
  return {124,
          concat("the job passed its time limit while ", meanwhile, ": raise --timeout; the program was not started")};
}

/// --timeout of this command, from its start; what comes before the program counts.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TimeLimit(std::optional<double> seconds) {
    if (seconds) end_ = Clock::now() + millis(*seconds);
  }

  [[nodiscard]] std::optional<std::chrono::milliseconds> left() const {
    if (!end_) return std::nullopt;
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(*end_ - Clock::now()), std::chrono::milliseconds(0));
  }

 private:
  std::optional<Clock::time_point> end_;
};

void say(std::string_view level, std::string_view line) {
  std::cerr << launch_line(level, line, std::chrono::system_clock::now()) << std::endl;
}

/// Lists pods until all are there. @throws Error, Ended
class PodLister {
 public:
  PodLister(Environment const& environment, std::chrono::seconds patience, TimeLimit const& limit)
      : environment_(environment), patience_(patience), limit_(limit), signals_(hold_signals()) {}

  std::vector<Pod> operator()(PodQuery const& query) {
    auto const server = api_server_from_env(environment_);
    int signal = 0;
    PodWatch watch;
    watch.list = [&](std::string const& selector) { return list_pods(server, selector); };
    watch.say = [](std::string_view line) { say("INFO", line); };
    watch.pause = [&](std::chrono::milliseconds time) {
      for (int const each : signals_.wait(time)) {
        if (each != SIGCHLD) signal = each;
      }
      return signal == 0;
    };
    auto const left = limit_.left();
    bool const limited = left && *left < patience_;
    auto pods = wait_for_pods(query, limited ? std::chrono::ceil<std::chrono::seconds>(*left) : patience_, watch);
    if (signal != 0) throw stopped_by(signal, "it waited for pods");
    if (limited && !pods && pods.error().code() == Errc::job_deadline) throw late("it waited for pods");
    return std::move(pods).value();
  }

 private:
  Environment const& environment_;
  std::chrono::seconds patience_;
  TimeLimit const& limit_;
  SignalSource signals_;
};

PodFlags pod_flags(Flags const& flags) {
  PodFlags pod;
  if (!flags.role.empty()) pod.identity.role = flags.role == "pserver" ? JobRole::server : JobRole::trainer;
  pod.identity.id = flags.id;
  pod.servers = flags.node.servers;
  pod.trainers = flags.node.trainers;
  return pod;
}

/// Copies folders, with a look at signals and the time limit between two pieces. @throws Error, Ended
class Copier {
 public:
  using Clock = std::chrono::steady_clock;

  Copier(TimeLimit const& limit, bool quiet) : limit_(limit), quiet_(quiet), signals_(hold_signals()) {}

  void operator()(fs::path const& from, fs::path const& to) {
    bool const whole = copy_folder(from, to, [&](Copied const& copied) { return goes_on(from, copied); }).value();
    if (whole && signal_ == 0) return;
    auto const meanwhile = concat("'", from.string(), "' was copied");
    if (signal_ != 0) throw stopped_by(signal_, meanwhile);
    throw late(meanwhile);
  }

 private:
  bool goes_on(fs::path const& from, Copied const& copied) {
    for (int const each : signals_.wait({})) {
      if (each != SIGCHLD) signal_ = each;
    }
    auto const now = Clock::now();
    if (!quiet_ && now - told_ >= std::chrono::seconds(5)) {
      told_ = now;
      say("INFO",
          concat("copying '", from.string(), "': ", copied.files, " files, ", copied.bytes >> 20U, " MiB so far"));
    }
    auto const left = limit_.left();
    return signal_ == 0 && (!left || left->count() > 0);
  }

  TimeLimit const& limit_;
  bool quiet_;
  SignalSource signals_;
  int signal_ = 0;
  Clock::time_point told_ = Clock::now();
};

/// Copies this pod's files and makes their folder the current one. @throws Error, Ended
void enter_workspace(Flags const& flags, Environment const& environment, NodePlan const& plan, Copier& copy) {
  auto const job_path = environment("JOB_PATH");
  std::optional<JobMember> trainer;
  for (auto const& member : plan.members) {
    if (member.role == JobRole::trainer) trainer = member;
  }
  fs::path folder = flags.workspace;
  auto const files = environment("TRAIN_CONFIG_DIR");
  if (job_path && files && !files->empty()) {
    auto const from = fs::path(*job_path) / plan.job_name / *files;
    std::error_code ignored;
    if (!fs::is_directory(from, ignored)) {
      throw Error(Errc::config_missing, "k8s: TRAIN_CONFIG_DIR='", *files, "', but there is no folder '", from.string(),
                  "': put the training files there, or unset it");
    }
    if (folder.empty()) {
      folder = fs::temp_directory_path() / "prdist" / plan.job_name / concat("node_", plan.members.front().index);
    }
    copy(from, folder);
  }
  if (job_path && trainer) {
    auto const shard = find_shard(fs::path(*job_path) / plan.job_name, trainer->index).value();
    if (shard) copy(*shard, folder / "data");
  }
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  fs::current_path(folder, error);
  if (error) {
    throw Error(Errc::config_invalid, "k8s: the folder '", folder.string(), "' cannot be entered, ", error.message(),
                ": give another one with --workspace");
  }
}

fs::path output_of(Flags const& flags, Environment const& environment, NodePlan const& plan) {
  if (!flags.node.log_dir.empty()) return fs::absolute(flags.node.log_dir);
  if (auto const path = environment("JOB_PATH")) return fs::path(*path) / plan.job_name / "output";
  return fs::absolute("log");
}

int run(Flags const& flags, Words const& command, JobLedger& ledger) {
  Environment const environment = process_environment;
  try {
    auto const patience = std::chrono::seconds(static_cast<long>(flags.wait));
    TimeLimit const limit(flags.node.limits.timeout);
    NodeJob job;
    job.ledger = &ledger;
    job.plan = completed(read_pod(environment, pod_flags(flags)), environment, PodLister(environment, patience, limit));
    apply(flags.node, job);
    job.output = output_of(flags, environment, job.plan);
    job.progress = pod_progress_path(environment);
    Copier copier(limit, job.quiet);
    enter_workspace(flags, environment, job.plan, copier);
    job.limits.timeout = limit.left();
    job.program = program_of(command, environment);
    job.arguments.assign(command.begin() + 1, command.end());
    return run_to_end(job, environment);
  } catch (Error const& error) {
    return give_up(error, environment);
  } catch (Ended const& ended) {
    say("ERROR", ended.cause);
    write_termination_log(termination_log_path(environment), ended.cause, current_environment());
    return ended.code;
  }
}

}  // namespace

int run_k8s(Words const& words) {
  CommandLine line(description, notes, usage, "prrun k8s --help");
  Flags flags;
  Words command;
  declare(line.flags(), flags);
  auto const check = [&] {
    if (flags.id && flags.role.empty() && !process_environment("TRAINING_ROLE")) {
      throw CLI::ValidationError("--id", "needs --role: an id counts within a role");
    }
  };
  if (auto const code = line.parse(words, true, command, check)) {
    if (!line.complaint().empty()) {
      write_termination_log(termination_log_path(process_environment), line.complaint(), current_environment());
    }
    return *code;
  }
  return run_share([&](JobLedger& ledger) { return run(flags, command, ledger); });
}

}  // namespace prrun
