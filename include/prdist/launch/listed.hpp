// SPDX-License-Identifier: Apache-2.0
// A job whose endpoints somebody has listed, the same on every node: who is in the lists, and who of them runs here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/member.hpp>
#include <prdist/launch/own_host.hpp>
#include <prdist/launch/plan.hpp>

namespace prdist {

/// The entries of "a,b,c" without the blanks around them.
[[nodiscard]] inline std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> entries;
  while (!text.empty()) {
    auto entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    entry.remove_prefix(std::min(entry.find_first_not_of(" \t"), entry.size()));
    entry = entry.substr(0, entry.find_last_not_of(" \t") + 1);
    entries.emplace_back(entry);
  }
  return entries;
}

/// "host:port,host:port"; `flag` is for messages. With a `first_port`, entries may leave their port out and have
/// first_port + their place, as fleetrun's workers do.
[[nodiscard]] inline Result<std::vector<Endpoint>> parse_endpoints(std::string_view flag, std::string_view text,
                                                                   std::uint16_t first_port = 0) {
  std::vector<Endpoint> endpoints;
  for (auto entry : split_list(text)) {
    bool const bare = entry.starts_with('[') ? entry.ends_with(']') : entry.find(':') == std::string::npos;
    if (bare && !entry.empty() && first_port != 0) entry += concat(':', first_port + endpoints.size());
    auto endpoint = parse_endpoint(entry);
    if (!endpoint) return Error(Errc::config_invalid, "launcher: ", flag, ": ", endpoint.error().message());
    endpoints.push_back(std::move(*endpoint));
  }
  return endpoints;
}

/// Whether every endpoint of a plan stands there once.
[[nodiscard]] inline Result<void> check_endpoints(LaunchPlan const& plan) {
  std::set<Endpoint> seen;
  for (auto const& member : members_of(plan)) {
    auto endpoint = endpoint_of(plan, member);
    endpoint.host = canonical_host(endpoint.host);
    if (seen.insert(endpoint).second) continue;
    return Error(Errc::config_contradiction, "launcher: ", to_string(endpoint), " stands twice in the lists, the ",
                 "second time as ", to_string(member), ": each server and trainer needs an endpoint of its own");
  }
  return {};
}

/// The members that this node runs: those whose host is `host`, or this machine when that is empty.
[[nodiscard]] inline Result<std::vector<JobMember>> members_on(LaunchPlan const& plan, std::string const& host) {
  std::map<std::string, bool> here;  // each host is asked about once
  std::vector<JobMember> members;
  for (auto const& member : members_of(plan)) {
    auto const name = canonical_host(endpoint_of(plan, member).host);
    auto const found = here.find(name);
    bool const own = found != here.end() ? found->second
                     : host.empty()      ? is_own_host(name)
                                         : name == canonical_host(host);
    here[name] = own;
    if (own) members.push_back(member);
  }
  if (!members.empty()) return members;
  std::string listed;
  for (auto const& [name, own] : here) listed += concat(listed.empty() ? "" : ", ", name);
  if (!host.empty()) {
    return Error(Errc::config_contradiction, "launcher: the lists of servers and trainers name ", listed,
                 " and not --host (POD_IP) '", host,
                 "', so nobody would run here: ", "give this node's host as it stands in the lists");
  }
  std::string addresses;
  for (auto const& address : own_addresses()) addresses += concat(addresses.empty() ? "" : ", ", address);
  return Error(Errc::config_contradiction, "launcher: the lists of servers and trainers name ", listed,
               ", and this machine is ", addresses,
               ", so nobody would run here: ", "correct the lists, or say with --host which of them this node is");
}

}  // namespace prdist
