// SPDX-License-Identifier: Apache-2.0
// Waits until all pods of a job run, for a bounded time, and says while it waits who is missing and why.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/k8s/pods.hpp>

namespace prdist {

/// Pods to look for: those with these labels, and how many there are to be.
struct PodQuery {
  std::string selector;  ///< such as job-name=ctr
  std::size_t expected = 1;

  friend bool operator==(PodQuery const&, PodQuery const&) = default;
};

/// How the waiting reaches the world.
struct PodWatch {
  std::function<Result<std::vector<Pod>>(std::string const& selector)> list;
  std::function<void(std::string_view)> say;  ///< a line whenever the state is another one
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  /// False ends the waiting: somebody asked this process to end.
  std::function<bool(std::chrono::milliseconds)> pause;
};

/// The pods in the order of their ids. What passes by itself (a connection refused, an apiserver that restarts) is
/// tried again until `patience` is over; what does not (rights, a wrong certificate) is returned at once. A passed
/// deadline is job.deadline.
[[nodiscard]] inline Result<std::vector<Pod>> wait_for_pods(PodQuery const& query, std::chrono::seconds patience,
                                                            PodWatch const& watch) {
  auto const deadline = watch.now() + patience;
  auto pause = std::chrono::milliseconds(250);
  std::string said;
  for (;;) {
    auto const listed = watch.list(query.selector);
    if (!listed && exit_code(listed.error().code()) != exit_code(Errc::job_deadline)) return listed.error();
    if (listed && complete(*listed, query.expected)) return in_order(*listed);
    auto state = listed ? state_of(*listed, query.expected) : std::string(listed.error().message());
    if (state != said) watch.say(concat("waiting for pods with ", query.selector, ": ", state));
    said = std::move(state);
    if (watch.now() + pause >= deadline) {
      return Error(Errc::job_deadline, "k8s: the pods with ", query.selector, " were not all there within ",
                   patience.count(), " s, ", said, ": look with kubectl describe pod -l ", query.selector,
                   ", or wait longer with --wait");
    }
    if (!watch.pause(pause)) return Error(Errc::job_state, "k8s: stopped while waiting for pods, ", said);
    pause = std::min(pause * 2, std::chrono::milliseconds(4000));
  }
}

}  // namespace prdist
