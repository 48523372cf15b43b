// SPDX-License-Identifier: Apache-2.0
// prrun probe: whether the member in this container is alive, for Kubernetes to ask.

#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/launch/health.hpp>
#include <prdist/launch/k8s/pod_plan.hpp>
#include <prdist/launch/node_plan.hpp>

#include "command_line.hpp"

namespace prrun {

using namespace prdist;

namespace {

constexpr char const* usage = "Usage: prrun probe [flags]";

constexpr char const* description = R"(Examples:
  prrun probe                  as livenessProbe.exec.command of a container that runs prrun k8s
  prrun probe --max_age 1800   a trainer may be silent for half an hour

A server is asked /healthz on its own port; a trainer's progress file has to be younger than --max_age. Exit code 0
when the member is alive, 1 when it is not, with one line of reason.)";

struct Flags {
  double max_age = 600;
  double timeout = 5;
};

/// Where the server of this pod listens: its own address, and the port that stands in the list.
Endpoint own_server(Environment const& environment, PodDraft const& draft) {
  Endpoint server{"127.0.0.1", draft.plan.ports.port};
  auto const& members = draft.plan.members;
  if (!members.empty() && members.front().role == JobRole::server &&
      members.front().index < draft.plan.servers.size()) {
    server = draft.plan.servers[members.front().index];
  }
  if (auto const host = environment("POD_IP"); host && !host->empty()) server.host = *host;
  return server;
}

std::vector<Health> look(Flags const& flags, Environment const& environment) {
  auto const draft = read_pod(environment);
  auto const progress = pod_progress_path(environment);
  // A role that only a list of pods would tell shows in what runs here: only trainers have a progress file.
  std::error_code ignored;
  bool const tells = std::filesystem::exists(progress, ignored);
  bool const server = draft.both || (draft.role ? draft.role == JobRole::server : !tells);
  bool const trainer = draft.both || !server;
  std::vector<Health> healths;
  if (server) healths.push_back(server_health(own_server(environment, draft), millis(flags.timeout)));
  if (trainer) {
    healths.push_back(trainer_health(progress, std::chrono::seconds(static_cast<long>(flags.max_age)),
                                     std::chrono::system_clock::now()));
  }
  return healths;
}

}  // namespace

int run_probe(Words const& words) {
  CommandLine line(description, "", usage, "prrun probe --help");
  Flags flags;
  Words nothing;
  line.flags()
      .add_option(spelled("max_age"), flags.max_age, "seconds that a trainer may tell no progress")
      ->check(seconds())
      ->type_name("S")
      ->envname("PRDIST_PROBE_MAX_AGE")
      ->capture_default_str();
  line.flags()
      .add_option("--timeout", flags.timeout, "seconds that a server has to answer")
      ->check(seconds())
      ->type_name("S")
      ->capture_default_str();
  if (auto const code = line.parse(words, false, nothing)) return *code;
  try {
    bool alive = true;
    std::string reasons;
    for (auto const& health : look(flags, process_environment)) {
      // The one that is not alive is what people look for.
      if (alive && !health.alive) reasons.clear();
      if (alive || !health.alive) reasons += (reasons.empty() ? "" : "; ") + health.reason;
      alive = alive && health.alive;
    }
    std::cout << reasons << '\n';
    return alive ? 0 : 1;
  } catch (Error const& error) {
    std::cout << error.what() << '\n';
    return 1;
  }
}

}  // namespace prrun
