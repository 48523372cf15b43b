// SPDX-License-Identifier: Apache-2.0
// How a job on Kubernetes stands: its Job, Volcano Job or PaddleJob, and its pods by role, as a table for people.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <prdist/core/text.hpp>

namespace prdist {

using ClusterTime = std::chrono::sys_seconds;

struct JobPod {
  std::string name;
  std::string role;               ///< pserver, trainer, node (both at once) or what the pod's label says
  std::optional<std::size_t> id;  ///< within its role
  std::string phase;              ///< Pending, Running, Succeeded, Failed, Unknown or Terminating
  std::string reason;             ///< why it does not run, in the cluster's words; may be empty
  std::string node;               ///< empty until it has one
  std::size_t restarts = 0;
  std::optional<ClusterTime> created;
  std::vector<std::string> containers;
  std::string index_label;  ///< its completion index as a label; empty before Kubernetes 1.28 and for other jobs
};

struct JobObject {
  std::string resource;  ///< as kubectl names it: job.batch, job.batch.volcano.sh, ...
  std::string name;
  std::string state;   ///< Running, Complete, Failed, ...; the resource's own word
  std::string detail;  ///< counts and the reason, in one line; may be empty
  std::optional<ClusterTime> created;
};

struct SubmittedJob {
  std::vector<JobObject> jobs;
  std::vector<JobPod> pods;
};

/// 45s, 12m, 3h or 9d; "-" when it is not known.
[[nodiscard]] inline std::string age_text(std::optional<ClusterTime> const& since,
                                          std::chrono::system_clock::time_point now) {
  if (!since) return "-";
  auto const seconds = std::max<long long>(std::chrono::duration_cast<std::chrono::seconds>(now - *since).count(), 0);
  if (seconds < 120) return concat(seconds, 's');
  if (seconds < 7200) return concat(seconds / 60, 'm');
  if (seconds < 172'800) return concat(seconds / 3600, 'h');
  return concat(seconds / 86'400, 'd');
}

/// Servers first, then trainers, then whatever else there is, each by id.
inline void sort_pods(std::vector<JobPod>& pods) {
  auto const rank = [](JobPod const& pod) { return pod.role == "pserver" ? 0 : pod.role == "trainer" ? 1 : 2; };
  std::ranges::sort(pods, [&](JobPod const& a, JobPod const& b) {
    return std::tuple(rank(a), a.role, a.id.value_or(0), a.created, a.name) <
           std::tuple(rank(b), b.role, b.id.value_or(0), b.created, b.name);
  });
}

/// One line per job, then a table of the pods.
[[nodiscard]] inline std::string job_table(SubmittedJob const& state, std::chrono::system_clock::time_point now) {
  std::string text;
  for (auto const& job : state.jobs) {
    text += concat(job.resource, '/', job.name, ": ", job.state, job.detail.empty() ? "" : ", ", job.detail, ", age ",
                   age_text(job.created, now), '\n');
  }
  using Row = std::array<std::string, 8>;
  std::vector<Row> rows{{"ROLE", "ID", "POD", "PHASE", "RESTARTS", "NODE", "AGE", "REASON"}};
  for (auto const& pod : state.pods) {
    rows.push_back({pod.role, pod.id ? concat(*pod.id) : "-", pod.name, pod.phase, concat(pod.restarts),
                    pod.node.empty() ? "-" : pod.node, age_text(pod.created, now), pod.reason});
  }
  if (state.pods.empty()) return text + "no pods\n";
  Row::size_type constexpr last = std::tuple_size_v<Row> - 1;
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < last; ++column) {
      std::size_t width = 0;
      for (auto const& each : rows) width = std::max(width, each[column].size());
      line += row[column] + std::string(width + 2 - row[column].size(), ' ');
    }
    line += row[last];
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace prdist
