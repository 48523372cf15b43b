// SPDX-License-Identifier: Apache-2.0
#include "cluster_submit.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/launch/ending.hpp>
#include <prdist/launch/environment.hpp>
#include <prdist/launch/k8s/pods_json.hpp>
#include <prdist/launch/signals.hpp>
#include <prdist/launch/termination_log.hpp>

#include "preflight.hpp"

namespace prrun {

using namespace prdist;

namespace {

constexpr char const* create_words[]{"create", "--filename=-", "--output=name"};

Words version_words() {
  return {"version", "--output=json"};
}

std::string_view topic_name(Look const& look) {
  switch (look.topic) {
    case Topic::name_space: return "namespace";
    case Topic::api: return "api";
    case Topic::queue: return "queue";
    case Topic::object: return "object";
    case Topic::right: return "right";
    case Topic::twin: return "name";
    case Topic::trial: return "dry run";
  }
  return "";
}

void show(Found found, std::string_view name, std::string_view text, bool quiet) {
  if (quiet && found != Found::no) return;
  auto const sign = found == Found::yes ? "yes  " : found == Found::no ? "no   " : "?    ";
  std::cerr << sign << name << std::string(name.size() < 10 ? 10 - name.size() : 1, ' ') << text << '\n';
}

Words delete_words(double wait) {
  return {"delete", "--filename=-", "--ignore-not-found", concat("--timeout=", static_cast<long>(wait), 's')};
}

/// All looks; what stands in the way is counted. A job of the same name is `twin`, which --replace may end.
std::size_t look_around(Kubectl const& kubectl, SubmitFlags const& flags, ClusterJob const& job,
                        std::string const& name_space, bool& twin) {
  auto const needs = needs_of(gen::documents_of(job.manifest));
  std::size_t missing = 0;
  for (auto const& group : looks_for(needs, name_space)) {
    for (auto const& look : group) {
      // Behind an old job, everything would be refused because it is there.
      if (look.topic == Topic::trial && twin) continue;
      auto const answer = kubectl.run(look.words, look.manifest ? job.manifest : std::string()).value();
      auto const finding = judge(look, answer, name_space, job.name);
      if (look.topic == Topic::twin && finding.found == Found::no && flags.replace) {
        twin = true;
        show(Found::unknown, topic_name(look), concat("'", job.name, "' is there already and will be replaced"),
             flags.quiet);
        continue;
      }
      if (finding.found == Found::no) ++missing;
      show(finding.found, topic_name(look), finding.text, flags.quiet);
    }
    if (missing != 0) break;  // the next questions would fail for the same reason
  }
  return missing;
}

std::string shown_text(std::string text) {
  return without_secrets(std::move(text), current_environment());
}

/// Takes back what a creation that failed in the middle has made. Only what this call created is touched.
std::string take_back(Kubectl const& kubectl, std::string_view created) {
  Words words{"delete", "--ignore-not-found", "--wait=false"};
  std::string names;
  while (!created.empty()) {
    auto const line = created.substr(0, created.find('\n'));
    created.remove_prefix(std::min(line.size() + 1, created.size()));
    if (line.find('/') == std::string_view::npos) continue;
    words.emplace_back(line);
    names += concat(names.empty() ? "" : ", ", line);
  }
  if (names.empty()) return "nothing was created";
  auto const undone = kubectl.run(words);
  if (undone && undone->ending.ok()) return concat("what had been created was deleted again (", names, ')');
  return concat("these were created and could not be deleted again: ", names, "; delete them by ",
                typed("kubectl", words));
}

int create(Kubectl const& kubectl, ClusterJob const& job, std::string const& next) {
  Words const words(std::begin(create_words), std::end(create_words));
  // A kubectl that falls with us would leave half a job and not say which half. It stands in a group of its own, so
  // that Ctrl-C is heard here alone, and later: when it is known what to take back.
  SignalSource signals(hold_signals());
  auto const result = kubectl.run(words, job.manifest, std::chrono::seconds(30));
  if (!result) {
    throw Error(result.error().code(), result.error().message(), ". Part of job '", job.name,
                "' may be there: prrun cancel ", job.name, next);
  }
  if (!result->ending.ok()) {
    auto const refusal = refused(concat("creating job '", job.name, "'"), *result);
    throw Error(refusal.code(), refusal.message(), "; ", take_back(kubectl, result->out));
  }
  for (int const signal : signals.wait({})) {
    if (signal == SIGCHLD) continue;
    std::cerr << "submit: stopped by " << signal_name(signal) << " while job '" << job.name << "' was created; "
              << take_back(kubectl, result->out) << '\n';
    return 128 + signal;
  }
  std::cout << "job " << job.name << " is created:\n";
  for (std::string_view rest = result->out; !rest.empty();) {
    auto const line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::cout << "  " << shown_text(std::string(line)) << '\n';
  }
  std::cout << "next:\n  prrun status " << job.name << next << "\n  prrun logs " << job.name << next
            << " --role trainer --id 0 --follow\n  prrun cancel " << job.name << next << '\n';
  return std::cout.flush() ? 0 : 74;
}

}  // namespace

int plan_on_cluster(SubmitFlags const& flags, ClusterJob const& job) {
  auto const needs = needs_of(gen::documents_of(job.manifest));
  std::cout << "job " << job.name << " for " << job.target << ", namespace "
            << (job.name_space.empty() ? "of kubectl's context" : job.name_space) << '\n';
  for (auto const& object : needs.objects) std::cout << "  " << object << '\n';
  std::cout << "commands, in order:\n";
  auto cluster = flags.cluster;
  cluster.name_space = job.name_space;
  auto const line = [&](Words const& words, bool manifest) {
    std::cout << "  " << typed("kubectl", words) << shown_flags(cluster)
              << (manifest ? concat("    < manifest, ", job.manifest.size(), " bytes") : std::string()) << '\n';
  };
  line(version_words(), false);
  if (!flags.unchecked) {
    for (auto const& group : looks_for(needs, job.name_space.empty() ? "NAMESPACE" : job.name_space)) {
      for (auto const& look : group) line(look.words, look.manifest);
    }
  }
  if (flags.replace) line(delete_words(flags.wait), true);
  line(Words(std::begin(create_words), std::end(create_words)), true);
  std::cout << "The manifest goes over standard input; prgen prints it. It is rendered for the cluster's version.\n";
  return std::cout.flush() ? 0 : 74;
}

std::optional<int> minor_of(Kubectl const& kubectl, SubmitFlags const& flags) {
  auto const result = kubectl.run(version_words()).value();
  boost::system::error_code error;
  auto const value = boost::json::parse(result.out, error);
  auto const* const root = error ? nullptr : value.if_object();
  auto const* const server = root == nullptr ? nullptr : prdist::detail::object_at(*root, "serverVersion");
  if (server == nullptr) {
    if (!result.ending.ok()) throw refused("kubectl version", result);
    throw Error(Errc::config_invalid, "submit: 'kubectl version' told no version of the cluster: ",
                "see what it prints by hand, or render by prgen --kube-version");
  }
  auto const whole = prdist::detail::text_at(*server, "gitVersion");
  auto minor = prdist::detail::text_at(*server, "minor");
  if (minor.empty() && whole.starts_with("v1.")) minor = whole.substr(3);  // some builds tell the whole alone
  auto const* const client = prdist::detail::object_at(*root, "clientVersion");
  show(Found::yes, "kubectl",
       concat(kubectl.path().string(), client == nullptr ? "" : ", ",
              client == nullptr ? std::string() : prdist::detail::text_at(*client, "gitVersion")),
       flags.quiet);
  show(Found::yes, "cluster", concat("Kubernetes ", whole), flags.quiet);
  if (!flags.kube_version.empty()) return std::nullopt;
  int number = 0;
  // Vendors write 30+.
  if (!parse_number(std::string_view(minor).substr(0, minor.find_first_not_of("0123456789")), number)) {
    throw Error(Errc::config_invalid, "submit: the cluster's version '", whole,
                "' is not understood: give it with --kube_version 1.N");
  }
  return number;
}

int create_on_cluster(Kubectl const& kubectl, SubmitFlags const& flags, ClusterJob const& job) {
  auto const name_space = current_namespace(kubectl);
  auto const next = shown_flags(kubectl.flags());
  bool twin = flags.replace && flags.unchecked;
  auto const missing = flags.unchecked ? 0 : look_around(kubectl, flags, job, name_space, twin);
  if (missing != 0) {
    throw Error(Errc::config_missing, "submit: nothing was created, ",
                missing == 1 ? "one thing stands" : concat(missing, " things stand"), " in the way of job '", job.name,
                "': see the lines with no");
  }
  if (twin) {
    auto const words = delete_words(flags.wait);
    auto const deleted = kubectl.run(words, job.manifest, millis(flags.wait)).value();
    std::cout << shown_text(deleted.out);
    if (!deleted.ending.ok()) throw refused(concat("replacing job '", job.name, "'"), deleted);
  }
  return create(kubectl, job, next);
}

}  // namespace prrun
