// SPDX-License-Identifier: Apache-2.0
// Reads the apiserver's answer to a list of pods, and its refusals.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/k8s/objects_json.hpp>
#include <prdist/launch/k8s/pods.hpp>

namespace prdist {

namespace detail {

/// Why a pod does not run: what its containers wait for or died of, then what its conditions say.
[[nodiscard]] inline std::string reason_of(boost::json::object const& status) {
  std::string reason;
  auto const take = [&](std::string const& what, std::string const& message) {
    if (reason.empty() && !what.empty()) reason = concat(what, message.empty() ? "" : ": ", message);
  };
  for (auto const* const list : {"initContainerStatuses", "containerStatuses"}) {
    each_object_at(status, list, [&](auto const& container) {
      auto const* const state = object_at(container, "state");
      if (state == nullptr) return;
      if (auto const* const waiting = object_at(*state, "waiting")) {
        // Every pod passes through these two; a condition may have more to say.
        auto const what = text_at(*waiting, "reason");
        if (what != "ContainerCreating" && what != "PodInitializing") take(what, text_at(*waiting, "message"));
      }
      if (auto const* const ended = object_at(*state, "terminated")) {
        if (auto const what = text_at(*ended, "reason"); what != "Completed") take(what, text_at(*ended, "message"));
      }
    });
  }
  take(text_at(status, "reason"), text_at(status, "message"));
  each_object_at(status, "conditions", [&](auto const& condition) {
    if (text_at(condition, "status") == "False") take(text_at(condition, "reason"), text_at(condition, "message"));
  });
  return reason;
}

[[nodiscard]] inline std::optional<std::size_t> index_of(boost::json::object const& metadata) {
  for (auto const* const where : {"labels", "annotations"}) {
    auto const* const texts = object_at(metadata, where);
    if (texts == nullptr) continue;
    for (auto const* const name :
         {"batch.kubernetes.io/job-completion-index", "volcano.sh/task-index", "training.kubeflow.org/replica-index"}) {
      std::size_t index = 0;
      if (parse_number(text_at(*texts, name), index)) return index;
    }
  }
  return std::nullopt;
}

}  // namespace detail

/// The pods of a PodList. An answer that is none is config.invalid: something else listens there.
[[nodiscard]] inline Result<std::vector<Pod>> parse_pods(std::string_view text) {
  auto const wrong = [](std::string_view what) {
    return Error(Errc::config_invalid, "k8s: the apiserver's answer is no list of pods, ", what,
                 ": check KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT_HTTPS");
  };
  auto const [root, fault] = detail::read_object(text);
  if (!fault.empty()) return wrong(fault);
  auto const* const items = root.if_contains("items");
  if (items == nullptr || !items->is_array()) return wrong("it has no items");
  std::vector<Pod> pods;
  detail::each_object_at(root, "items", [&](auto const& item) {
    Pod pod;
    if (auto const* const metadata = detail::object_at(item, "metadata")) {
      pod.name = detail::text_at(*metadata, "name");
      pod.index = detail::index_of(*metadata);
      pod.terminating = metadata->if_contains("deletionTimestamp") != nullptr;
    }
    if (auto const* const status = detail::object_at(item, "status")) {
      pod.phase = detail::text_at(*status, "phase");
      pod.ip = detail::text_at(*status, "podIP");
      pod.reason = detail::reason_of(*status);
    }
    pods.push_back(std::move(pod));
  });
  return pods;
}

/// The sentence of a Status object, with which the apiserver refuses; empty when the text is none.
[[nodiscard]] inline std::string status_message(std::string_view text) {
  return detail::text_at(detail::read_object(text).object, "message");
}

}  // namespace prdist
