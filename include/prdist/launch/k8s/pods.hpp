// SPDX-License-Identifier: Apache-2.0
// Pods of a job as the apiserver lists them: which of them count, what keeps the others, and in which order they stand.
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

struct Pod {
  std::string name;
  std::string ip;
  std::string phase;                 ///< Pending, Running, Succeeded, Failed, Unknown
  std::string reason;                ///< why it does not run, in the cluster's words; may be empty
  std::optional<std::size_t> index;  ///< within its Job or its task of Volcano's
  bool terminating = false;
};

/// Whether a peer can be reached there. One that is being deleted runs on for a while and is no peer any more.
[[nodiscard]] inline bool counts(Pod const& pod) {
  return pod.phase == "Running" && !pod.terminating && !pod.ip.empty();
}

/// An address by its value: 10.0.0.9 before 10.0.0.10, IPv4 before IPv6.
using AddressValue = std::pair<int, std::array<std::uint8_t, 16>>;

/// Nothing for what is no address.
[[nodiscard]] inline std::optional<AddressValue> address_value(std::string const& text) {
  AddressValue value{4, {}};
  if (::inet_pton(AF_INET, text.c_str(), value.second.data()) == 1) return value;
  value.first = 6;
  if (::inet_pton(AF_INET6, text.c_str(), value.second.data()) == 1) return value;
  return std::nullopt;
}

/// The pods that count, in the order of their ids: by index when each has one, else by address.
/// @throws Error config.invalid when an address is none
[[nodiscard]] inline std::vector<Pod> in_order(std::span<Pod const> pods) {
  std::vector<Pod> ordered;
  std::ranges::copy_if(pods, std::back_inserter(ordered), counts);
  if (std::ranges::all_of(ordered, [](Pod const& pod) { return pod.index.has_value(); })) {
    std::ranges::sort(ordered, {}, &Pod::index);
    return ordered;
  }
  auto const value = [](Pod const& pod) {
    auto const address = address_value(pod.ip);
    if (!address) throw Error(Errc::config_invalid, "k8s: pod ", pod.name, " has the address '", pod.ip, "'");
    return *address;
  };
  std::ranges::sort(ordered, {}, value);
  return ordered;
}

/// Whether exactly `expected` pods count, each index once. One too many is a pod that is being replaced: ids by
/// address would change under the others' feet.
[[nodiscard]] inline bool complete(std::span<Pod const> pods, std::size_t expected) {
  auto const ordered = in_order(pods);
  if (ordered.size() != expected) return false;
  auto const same = [](Pod const& a, Pod const& b) { return a.index && a.index == b.index; };
  return std::ranges::adjacent_find(ordered, same) == ordered.end();
}

/// "2/4 pods run; job-1: Pending, ImagePullBackOff; 1 does not exist yet".
[[nodiscard]] inline std::string state_of(std::span<Pod const> pods, std::size_t expected) {
  constexpr std::size_t named = 5;
  auto const running = static_cast<std::size_t>(std::ranges::count_if(pods, counts));
  auto text = concat(running, '/', expected, " pods run");
  std::size_t waiting = 0;
  for (auto const& pod : pods) {
    if (counts(pod)) continue;
    // What has ended in an earlier try says something only while its successor is missing.
    ++waiting;
    if (waiting > named) continue;
    auto const state = pod.terminating ? std::string("Terminating") : pod.phase;
    text += concat("; ", pod.name, ": ", state, pod.reason.empty() ? "" : ", ", pod.reason);
  }
  if (waiting > named) text += concat("; and ", waiting - named, " more");
  if (pods.size() < expected) text += concat("; ", expected - pods.size(), " not created yet");
  return text;
}

}  // namespace prdist
