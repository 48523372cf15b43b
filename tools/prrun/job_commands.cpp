// SPDX-License-Identifier: Apache-2.0
// prrun status, logs and cancel: a job on Kubernetes after it was submitted, by the labels that prgen writes.

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/k8s/job_state_json.hpp>

#include "kubectl.hpp"

namespace prrun {

using namespace prdist;

namespace {

constexpr std::string_view managed = "app.kubernetes.io/managed-by=prgen";

/// Kinds that are a job; the pods of either are the kubelet's.
constexpr std::array<std::string_view, 4> job_kinds{"jobs.batch", "jobs.batch.volcano.sh",
                                                    "paddlejobs.batch.paddlepaddle.org", "paddlejobs.kubeflow.org"};
/// What prgen writes beside it.
constexpr std::array<std::string_view, 6> other_kinds{
    "services",        "networkpolicies.networking.k8s.io",      "configmaps",
    "serviceaccounts", "rolebindings.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io"};

std::string selector_of(std::string const& job) {
  return concat("app.kubernetes.io/instance=", job, ',', managed);
}

std::string joined(Words const& words, std::string_view between) {
  std::string text;
  for (auto const& word : words) text += concat(text.empty() ? "" : between, word);
  return text;
}

Words lines_of(std::string_view text) {
  Words lines;
  while (!text.empty()) {
    auto const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

/// The kinds of jobs that this cluster serves. @throws Error
Words served_jobs(Kubectl const& kubectl) {
  Words const words{"api-resources", "--namespaced=true", "--verbs=list", "--output=name"};
  auto const result = kubectl.run(words).value();
  // A part of the cluster that is out of order does not hide the rest.
  if (!result.ending.ok() && result.out.empty()) throw refused(typed("kubectl", words), result);
  auto const lines = lines_of(result.out);
  Words served;
  for (auto const kind : job_kinds) {
    if (std::ranges::find(lines, kind) != lines.end()) served.emplace_back(kind);
  }
  if (served.empty()) served.emplace_back(job_kinds.front());
  return served;
}

/// What a list over several kinds gave. Kinds that may not be listed are named on stderr and left out.
std::string list(Kubectl const& kubectl, Words const& words) {
  auto const result = kubectl.run(words).value();
  if (result.ending.ok()) return result.out;
  if (result.out.empty() || refusal_of(result) != Refusal::forbidden) throw refused(typed("kubectl", words), result);
  std::cerr << "prrun: not all could be looked at: " << refused(typed("kubectl", words), result).message() << '\n';
  return result.out;
}

Error no_such_job(Kubectl const& kubectl, std::string const& job) {
  return {Errc::config_missing,
          "submit: there is no job '",
          job,
          "' in namespace ",
          current_namespace(kubectl),
          ": prrun status lists those that are there; -n names another namespace"};
}

/// The job and its pods, by label, or for a job without our labels (--profile legacy) by name. @throws Error
SubmittedJob find_job(Kubectl const& kubectl, std::string const& job) {
  auto const served = served_jobs(kubectl);
  auto const kinds = joined(served, ",");
  auto state = parse_submitted_job(
                   list(kubectl, {"get", concat(kinds, ",pods"), "--selector=" + selector_of(job), "--output=json"}))
                   .value();
  if (!state.jobs.empty() || !state.pods.empty()) return state;
  auto const named = list(kubectl, {"get", kinds, job, "--ignore-not-found", "--output=json"});
  if (!named.empty()) state = parse_submitted_job(named).value();
  if (state.jobs.empty()) throw no_such_job(kubectl, job);
  state.pods = parse_submitted_job(list(kubectl, {"get", "pods", "--output=json"}), job).value().pods;
  return state;
}

/// Takes the job's name out of the words, wherever it stands among the flags; empty when there is none.
std::string take_name(CLI::App& app, Words& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with('-')) {
      auto name = std::move(words[i]);
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
      return name;
    }
    auto const* const option = app.get_option_no_throw(words[i].substr(0, words[i].find('=')));
    bool const value_follows = option != nullptr && option->get_items_expected_max() != 0;
    if (value_follows && words[i].find('=') == std::string::npos) ++i;
  }
  return {};
}

/// Parses what all three share: flags, and among them the name of a job.
std::optional<int> parse(CommandLine& line, Words words, bool needs_job, std::string& job) {
  Words nothing;
  job = take_name(line.flags(), words);
  return line.parse(words, false, nothing, [&] {
    if (needs_job && job.empty()) throw CLI::RequiredError("the name of a job");
  });
}

/// Runs `work`, an error of which is shown and ends with its code.
template <class Work>
int shown(Work&& work) {
  try {
    std::forward<Work>(work)();
    return std::cout.flush() ? 0 : 74;
  } catch (Error const& error) {
    std::cout.flush();
    std::cerr << error.what() << '\n';
    return exit_code(error.code());
  }
}

void show_all_jobs(Kubectl const& kubectl) {
  auto const state = parse_submitted_job(list(kubectl, {"get", joined(served_jobs(kubectl), ","),
                                                        concat("--selector=", managed), "--output=json"}))
                         .value();
  auto const now = std::chrono::system_clock::now();
  for (auto const& job : state.jobs) {
    std::cout << job.resource << '/' << job.name << ": " << job.state << (job.detail.empty() ? "" : ", ") << job.detail
              << ", age " << age_text(job.created, now) << '\n';
  }
  if (state.jobs.empty()) std::cout << "no jobs in namespace " << current_namespace(kubectl) << '\n';
}

struct LogFlags {
  std::string role;
  std::optional<std::size_t> id;
  std::optional<long> tail;
  bool follow = false;
  bool previous = false;
};

/// The pods that are meant. @throws Error
std::vector<JobPod> chosen(SubmittedJob const& state, LogFlags const& flags, std::string const& job) {
  std::vector<JobPod> pods;
  for (auto const& pod : state.pods) {
    bool const role = flags.role.empty() || pod.role == flags.role || pod.role == "node";
    if (role && (!flags.id || pod.id == flags.id)) pods.push_back(pod);
  }
  if (!pods.empty()) return pods;
  throw Error(Errc::config_missing, "submit: job '", job, "' has no ", flags.role.empty() ? "pod" : flags.role,
              flags.id ? concat(' ', *flags.id) : std::string(), ": prrun status ", job, " shows its ",
              state.pods.size(), " pods");
}

/// One selector for all of `pods`.
std::string selector_for(SubmittedJob const& state, std::vector<JobPod> const& pods, LogFlags const& flags,
                         std::string const& job) {
  if (pods.size() == state.pods.size()) return selector_of(job);
  auto const indexed = [](JobPod const& pod) { return !pod.index_label.empty(); };
  if (!std::ranges::all_of(state.pods, indexed)) {
    return concat(selector_of(job), ",app.kubernetes.io/component=", flags.role);
  }
  std::string indexes;
  for (auto const& pod : pods) indexes += concat(indexes.empty() ? "" : ",", pod.index_label);
  return concat(selector_of(job), ",batch.kubernetes.io/job-completion-index in (", indexes, ')');
}

void show_logs(Kubectl const& kubectl, std::string const& job, LogFlags const& flags) {
  auto const state = find_job(kubectl, job);
  auto const pods = chosen(state, flags, job);
  Words words{"logs"};
  if (flags.follow) words.emplace_back("--follow");
  if (flags.previous) words.emplace_back("--previous");
  words.push_back(concat("--tail=", flags.tail.value_or(-1)));
  if (pods.size() > 1) {
    words.insert(words.end(),
                 {"--prefix", "--max-log-requests=100", "--selector=" + selector_for(state, pods, flags, job)});
  } else {
    words.push_back("pod/" + pods.front().name);
  }
  auto const& containers = pods.front().containers;
  bool const own = !flags.role.empty() && std::ranges::find(containers, flags.role) != containers.end();
  words.push_back(own && containers.size() > 1 ? concat("--container=", flags.role) : "--all-containers");
  kubectl.become(words);
}

/// Names as kubectl lists them, the jobs first: their pods shall end while what they use is still there. None when all
/// that is left of the job are pods on their way out.
Words objects_of(Kubectl const& kubectl, std::string const& job) {
  auto const served = served_jobs(kubectl);
  auto kinds = served;
  kinds.insert(kinds.end(), other_kinds.begin(), other_kinds.end());
  auto names = lines_of(list(kubectl, {"get", joined(kinds, ","), "--selector=" + selector_of(job), "--output=name"}));
  if (names.empty()) {
    names = lines_of(list(kubectl, {"get", joined(served, ","), job, "--ignore-not-found", "--output=name"}));
  }
  if (names.empty() && list(kubectl, {"get", "pods", "--selector=" + selector_of(job), "--output=name"}).empty()) {
    throw no_such_job(kubectl, job);
  }
  auto const is_job = [](std::string const& name) {
    return name.starts_with("job.") || name.starts_with("paddlejob.");
  };
  std::ranges::stable_partition(names, is_job);
  return names;
}

void cancel(Kubectl const& kubectl, std::string const& job, std::chrono::seconds wait, bool dry_run) {
  auto const names = objects_of(kubectl, job);
  Words words{"delete"};
  words.insert(words.end(), names.begin(), names.end());
  words.insert(words.end(), {"--ignore-not-found", concat("--timeout=", wait.count(), 's')});
  Words const gone{"wait", "--for=delete", "pods", "--selector=" + selector_of(job),
                   concat("--timeout=", wait.count(), 's')};
  if (dry_run) {
    for (auto const& name : names) std::cout << "would delete " << name << '\n';
    if (!names.empty()) std::cout << typed("kubectl", words) << '\n';
    std::cout << typed("kubectl", gone) << '\n';
    return;
  }
  auto const still = [&](std::string_view what) {
    return Error(Errc::job_deadline, "submit: ", what, " of job '", job, "' did not go within ", wait.count(),
                 " s: prrun status ", job, " shows them; call cancel again, or give --wait more");
  };
  auto const deleted = names.empty() ? CommandResult{} : kubectl.run(words, {}, wait).value();
  for (auto const& line : lines_of(deleted.out)) std::cout << line << '\n';
  if (!deleted.ending.ok()) {
    if (deleted.errors.find("timed out") != std::string::npos) throw still("objects");
    throw refused(typed("kubectl", words), deleted);
  }
  auto const waited = kubectl.run(gone, {}, wait).value();
  if (!waited.ending.ok() && waited.errors.find("no matching resources") == std::string::npos &&
      refusal_of(waited) != Refusal::not_found) {
    if (waited.errors.find("timed out") != std::string::npos) throw still("pods");
    throw refused(typed("kubectl", gone), waited);
  }
  std::cout << "job " << job << " is gone: " << names.size() << " objects were deleted, no pod of it runs\n";
}

constexpr char const* status_text = R"(Examples:
  prrun status ctr                     the job, and a line per pod: phase, reason, restarts, node, age
  prrun status ctr -n training
  prrun status                         all jobs that prgen rendered

For jobs on Kubernetes: Jobs, Volcano Jobs and PaddleJobs. Exit code 0 when the job is there, 78 when it is not, 75
when the cluster does not answer.)";

constexpr char const* logs_text = R"(Examples:
  prrun logs ctr --role trainer --id 0 --follow
  prrun logs ctr --role pserver        of all servers, each line behind its pod's name
  prrun logs ctr --tail 100            the last lines of every pod
  prrun logs ctr --role trainer --id 1 --previous    of the container before its restart

For jobs on Kubernetes.)";

constexpr char const* cancel_text = R"(Examples:
  prrun cancel ctr
  prrun cancel ctr --dry-run           what would be deleted
  prrun cancel ctr --wait 600          pods with a long grace

Deletes what was created for the job, found by its labels, and nothing else; waits until its pods have gone. Exit code 0
then, 75 when they do not go within --wait, 78 when there is no such job.)";

}  // namespace

int run_status(Words const& words) {
  CommandLine line(status_text, "", "Usage: prrun status [JOB] [flags]", "prrun status --help");
  ClusterFlags cluster;
  std::string job;
  declare(line.flags(), cluster);
  if (auto const code = parse(line, words, false, job)) return *code;
  return shown([&] {
    Kubectl const kubectl(cluster, process_environment);
    if (job.empty()) return show_all_jobs(kubectl);
    check_job_name(job);
    std::cout << job_table(find_job(kubectl, job), std::chrono::system_clock::now());
  });
}

int run_logs(Words const& words) {
  CommandLine line(logs_text, "", "Usage: prrun logs JOB [flags]", "prrun logs --help");
  ClusterFlags cluster;
  LogFlags flags;
  std::string job;
  auto& app = line.flags();
  app.add_option("--role", flags.role, "of this role alone: pserver or trainer")
      ->check(CLI::IsMember({"pserver", "trainer"}))
      ->type_name("ROLE");
  app.add_option("--id", flags.id, "of this one of its role")->check(within(0, 65535, "a number"))->type_name("N");
  app.add_flag("-f,--follow", flags.follow, "go on while it runs");
  app.add_flag("-p,--previous", flags.previous, "of the container before its last restart");
  app.add_option("--tail", flags.tail, "only so many last lines")
      ->check(within(0L, 1'000'000'000L, "a number"))
      ->type_name("N");
  declare(app, cluster);
  if (auto const code = parse(line, words, true, job)) return *code;
  if (flags.id && flags.role.empty()) flags.role = "trainer";
  return shown([&] {
    check_job_name(job);
    show_logs(Kubectl(cluster, process_environment), job, flags);
  });
}

int run_cancel(Words const& words) {
  CommandLine line(cancel_text, "", "Usage: prrun cancel JOB [flags]", "prrun cancel --help");
  ClusterFlags cluster;
  std::string job;
  double wait = 180;
  bool dry_run = false;
  line.flags()
      .add_option("--wait", wait, "seconds until its pods have to be gone")
      ->check(within(1.0, 86'400.0, "a number of seconds"))
      ->type_name("S")
      ->capture_default_str();
  line.flags().add_flag(spelled("dry_run"), dry_run, "show what would be deleted, and delete nothing");
  declare(line.flags(), cluster);
  if (auto const code = parse(line, words, true, job)) return *code;
  return shown([&] {
    check_job_name(job);
    cancel(Kubectl(cluster, process_environment), job, std::chrono::seconds(static_cast<long>(wait)), dry_run);
  });
}

}  // namespace prrun
