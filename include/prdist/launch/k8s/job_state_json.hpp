// SPDX-License-Identifier: Apache-2.0
// Reads a job's state from what `kubectl get -o json` prints: batch Jobs, Volcano Jobs, PaddleJobs and their pods.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/k8s/job_state.hpp>
#include <prdist/launch/k8s/objects_json.hpp>
#include <prdist/launch/k8s/pods_json.hpp>

namespace prdist {

/// A time as Kubernetes writes it, 2026-11-16T16:20:31Z; nothing for anything else.
[[nodiscard]] inline std::optional<ClusterTime> parse_cluster_time(std::string_view text) {
  int parts[6];
  constexpr std::size_t begins[]{0, 5, 8, 11, 14, 17};
  if (text.size() < 20 || text.back() != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < 6; ++i) {
    if (!parse_number(text.substr(begins[i], i == 0 ? 4 : 2), parts[i])) return std::nullopt;
  }
  std::chrono::year_month_day const day{std::chrono::year(parts[0]),
                                        std::chrono::month(static_cast<unsigned>(parts[1])),
                                        std::chrono::day(static_cast<unsigned>(parts[2]))};
  if (!day.ok()) return std::nullopt;
  return std::chrono::sys_days(day) + std::chrono::hours(parts[3]) + std::chrono::minutes(parts[4]) +
         std::chrono::seconds(parts[5]);
}

namespace detail {

[[nodiscard]] inline std::size_t count_at(boost::json::object const& parent, std::string_view name) {
  auto const* const value = parent.if_contains(name);
  if (value == nullptr) return 0;
  if (auto const* const number = value->if_int64()) return *number > 0 ? static_cast<std::size_t>(*number) : 0;
  return value->is_uint64() ? value->get_uint64() : 0;
}

/// The text of a label, or of an annotation; empty when there is none.
[[nodiscard]] inline std::string mark_of(boost::json::object const& metadata, std::string_view name) {
  for (auto const* const where : {"labels", "annotations"}) {
    auto const* const marks = object_at(metadata, where);
    if (marks == nullptr) continue;
    if (auto text = text_at(*marks, name); !text.empty()) return text;
  }
  return {};
}

/// A variable of any container of the pod, as the manifest has it.
[[nodiscard]] inline std::string variable_of(boost::json::object const& spec, std::string_view name) {
  std::string found;
  each_object_at(spec, "containers", [&](auto const& container) {
    each_object_at(container, "env", [&](auto const& variable) {
      if (found.empty() && text_at(variable, "name") == name) found = text_at(variable, "value");
    });
  });
  return found;
}

/// The number behind the last '-' of a name, as operators count their pods.
[[nodiscard]] inline std::optional<std::size_t> trailing_number(std::string_view name) {
  std::size_t number = 0;
  auto const dash = name.rfind('-');
  if (dash == std::string_view::npos || !parse_number(name.substr(dash + 1), number)) return std::nullopt;
  return number;
}

/// Role and id, by the labels of prgen, Volcano, paddle-operator and Kubeflow. In one Indexed Job for both roles, the
/// first PADDLE_PSERVERS_NUM indexes are servers.
inline void name_role(boost::json::object const& metadata, boost::json::object const& spec, JobPod& pod) {
  pod.id = index_of(metadata);
  for (auto const* const label : {"app.kubernetes.io/component", "volcano.sh/task-spec", "paddle-res-type",
                                  "training.kubeflow.org/replica-type"}) {
    if (pod.role.empty()) pod.role = mark_of(metadata, label);
  }
  if (pod.role == "ps" || pod.role == "master") pod.role = "pserver";
  if (pod.role == "worker") pod.role = "trainer";
  if (std::size_t servers = 0; (pod.role.empty() || pod.role == "job") && pod.id &&
                               parse_number(variable_of(spec, "PADDLE_PSERVERS_NUM"), servers)) {
    pod.role = *pod.id < servers ? "pserver" : "trainer";
    if (*pod.id >= servers) *pod.id -= servers;
  }
  if (pod.role.empty()) pod.role = "pod";
  if (!pod.id && (pod.role == "pserver" || pod.role == "trainer")) pod.id = trailing_number(pod.name);
}

[[nodiscard]] inline JobPod job_pod(boost::json::object const& metadata, boost::json::object const& item) {
  JobPod pod;
  boost::json::object const nothing;
  auto const* const spec_found = object_at(item, "spec");
  auto const& spec = spec_found == nullptr ? nothing : *spec_found;
  pod.name = text_at(metadata, "name");
  pod.created = parse_cluster_time(text_at(metadata, "creationTimestamp"));
  pod.node = text_at(spec, "nodeName");
  if (auto const* const labels = object_at(metadata, "labels")) {
    pod.index_label = text_at(*labels, "batch.kubernetes.io/job-completion-index");
  }
  each_object_at(spec, "containers", [&](auto const& each) { pod.containers.push_back(text_at(each, "name")); });
  name_role(metadata, spec, pod);
  if (auto const* const status = object_at(item, "status")) {
    pod.phase = text_at(*status, "phase");
    // A pod that runs has only conditions of passing interest, such as a probe that was not asked yet.
    if (pod.phase != "Running" && pod.phase != "Succeeded") pod.reason = reason_of(*status);
    each_object_at(*status, "containerStatuses", [&](auto const& container) {
      pod.restarts += count_at(container, "restartCount");
      auto const* const state = object_at(container, "state");
      auto const* const waiting = state == nullptr ? nullptr : object_at(*state, "waiting");
      if (waiting != nullptr && pod.reason.empty()) pod.reason = text_at(*waiting, "reason");
    });
  }
  if (metadata.if_contains("deletionTimestamp") != nullptr) pod.phase = "Terminating";
  return pod;
}

/// "4 active, 1 succeeded" of those that are not 0.
[[nodiscard]] inline std::string counts_of(boost::json::object const& status) {
  std::string text;
  for (auto const* const name : {"active", "pending", "running", "ready", "succeeded", "failed", "terminating"}) {
    if (auto const count = count_at(status, name); count != 0)
      text += concat(text.empty() ? "" : ", ", count, ' ', name);
  }
  return text;
}

inline void add_sentence(std::string& detail, std::string const& reason, std::string const& message) {
  for (auto const& part : {reason, message}) {
    if (!part.empty()) detail += concat(detail.empty() ? "" : ": ", part);
  }
}

[[nodiscard]] inline JobObject job_object(std::string resource, boost::json::object const& metadata,
                                          boost::json::object const& item) {
  JobObject job{std::move(resource), text_at(metadata, "name"), {}, {}, {}};
  job.created = parse_cluster_time(text_at(metadata, "creationTimestamp"));
  auto const* const status = object_at(item, "status");
  if (status == nullptr) {
    job.state = "not looked at yet";
    return job;
  }
  job.detail = counts_of(*status);
  if (auto const* const state = object_at(*status, "state")) {  // Volcano
    job.state = text_at(*state, "phase");
    add_sentence(job.detail, text_at(*state, "reason"), text_at(*state, "message"));
  }
  if (job.state.empty()) job.state = text_at(*status, "phase");  // paddle-operator
  for (auto const* const role : {"ps", "worker"}) {
    if (auto const* const part = object_at(*status, role)) {
      if (auto const counts = counts_of(*part); !counts.empty())
        job.detail += concat(job.detail.empty() ? "" : ", ", role, ": ", counts);
    }
  }
  // Kubernetes and Kubeflow: the last condition that holds.
  each_object_at(*status, "conditions", [&](auto const& condition) {
    if (text_at(condition, "status") != "True") return;
    auto const type = text_at(condition, "type");
    if (type == "FailureTarget" || type == "SuccessCriteriaMet" || type == "Created") return;
    job.state = type;
    if (type == "Failed" || type == "Suspended")
      add_sentence(job.detail, text_at(condition, "reason"), text_at(condition, "message"));
  });
  if (job.state.empty()) job.state = count_at(*status, "active") != 0 ? "Running" : "Pending";
  if (metadata.if_contains("deletionTimestamp") != nullptr) job.state = "Terminating";
  return job;
}

/// job.batch for a Job of batch/v1; "" for kinds that are no jobs.
[[nodiscard]] inline std::string job_resource(std::string const& kind, std::string const& api_version) {
  if (kind != "Job" && kind != "PaddleJob") return {};
  auto text = kind;
  for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return concat(text, '.', api_version.substr(0, api_version.find('/')));
}

/// The names of the objects that own it.
[[nodiscard]] inline bool owned_by(boost::json::object const& metadata, std::string_view owner) {
  bool found = false;
  each_object_at(metadata, "ownerReferences", [&](auto const& each) { found |= text_at(each, "name") == owner; });
  return found;
}

}  // namespace detail

/// From a List of jobs and pods, or one of them alone. With `owner`, only pods count that an object of this name owns:
/// for jobs whose pods carry no label of ours. An answer that is no list is config.invalid.
[[nodiscard]] inline Result<SubmittedJob> parse_submitted_job(std::string_view text, std::string_view owner = {}) {
  auto const wrong = [](std::string_view what) {
    return Error(Errc::config_invalid, "k8s: what kubectl printed is no list of objects, ", what,
                 ": call kubectl get pods -o json by hand");
  };
  auto const [root, fault] = detail::read_object(text);
  if (!fault.empty()) return wrong(fault);
  SubmittedJob state;
  auto const read = [&](boost::json::object const& item) {
    auto const* const metadata = detail::object_at(item, "metadata");
    if (metadata == nullptr) return;
    auto const kind = detail::text_at(item, "kind");
    if (kind == "Pod") {
      if (owner.empty() || detail::owned_by(*metadata, owner)) state.pods.push_back(detail::job_pod(*metadata, item));
    } else if (auto resource = detail::job_resource(kind, detail::text_at(item, "apiVersion")); !resource.empty()) {
      state.jobs.push_back(detail::job_object(std::move(resource), *metadata, item));
    }
  };
  auto const* const items = root.if_contains("items");
  if (items != nullptr && items->is_array()) {
    detail::each_object_at(root, "items", read);
  } else if (detail::object_at(root, "metadata") != nullptr) {
    read(root);  // kubectl's answer when one object was asked for
  } else {
    return wrong("it has no items");
  }
  sort_pods(state.pods);
  return state;
}

}  // namespace prdist
