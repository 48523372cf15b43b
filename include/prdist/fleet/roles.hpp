// SPDX-License-Identifier: Apache-2.0
// Who this process is, from Paddle's environment variables or given in code. docs/launch_contract.md has the rules;
// whatever is wrong or missing is one error that names the variable and its value. Trainers understand Paddle v2's
// variables (PADDLE_INIT_*) too.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/elastic.hpp>
#include <prdist/core/endpoint.hpp>
#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/host_list.hpp>
#include <prdist/core/port_layout.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

enum class Role { server, worker };

struct Roles {
  Role role = Role::worker;
  std::uint32_t index = 0;  ///< among the servers or among the workers
  std::vector<Endpoint> servers{};
  std::uint32_t workers = 1;         ///< of an elastic job: with which it began
  int listen_descriptor = -1;        ///< of a server: a listening socket from the launcher
  std::optional<Elastic> elastic{};  ///< how few and how many workers there may be, when they may come and go
  PortLayout ports{};                ///< of each server, beginning with the port of its endpoint
  /// Where a launcher says that the workers are, for programs which connect them to each other: nothing here does, and
  /// nobody checks it.
  std::vector<std::string> worker_endpoints{};
};

namespace detail {

class RoleReader {
 public:
  explicit RoleReader(Environment const& environment) : environment_(environment) {}

  [[nodiscard]] Roles read() const {
    if (!environment_("PADDLE_PSERVERS_IP_PORT_LIST") && environment_("PADDLE_INIT_PSERVERS")) return read_v2();
    Roles roles;
    roles.servers = servers();
    roles.workers = number_of("PADDLE_TRAINERS_NUM", need("PADDLE_TRAINERS_NUM"), 1, 65536);
    roles.elastic = elastic(roles.workers);
    roles.role = role();
    roles.worker_endpoints = worker_endpoints();
    if (roles.role == Role::worker) {
      roles.index = number_of("PADDLE_TRAINER_ID", need("PADDLE_TRAINER_ID"), 0, 65535);
      if (roles.elastic && roles.index >= roles.elastic->max) {
        throw Error(Errc::config_contradiction, "PADDLE_TRAINER_ID='", roles.index, "' but PRDIST_ELASTIC='",
                    to_string(*roles.elastic), "': ids run from 0 to ", roles.elastic->max - 1);
      }
      if (!roles.elastic && roles.index >= roles.workers) {
        throw Error(Errc::config_contradiction, "PADDLE_TRAINER_ID='", roles.index, "' but PADDLE_TRAINERS_NUM='",
                    roles.workers, "': ids run from 0 to ", roles.workers - 1);
      }
    } else {
      roles.index = server_index(roles.servers);
      if (auto const descriptor = environment_("PRDIST_LISTEN_FD")) {
        roles.listen_descriptor = static_cast<int>(number_of("PRDIST_LISTEN_FD", *descriptor, 3, 1 << 20));
      }
    }
    return roles;
  }

  /// A trainer that was started as Paddle v2's documents show. Their servers run `paddle pserver`, here prserver.
  [[nodiscard]] Roles read_v2() const {
    Roles roles;
    if (environment_("TRAINING_ROLE") && role() == Role::server) {
      throw Error(Errc::config_contradiction, "TRAINING_ROLE='PSERVER' with PADDLE_INIT_PSERVERS and without ",
                  "PADDLE_PSERVERS_IP_PORT_LIST: start servers by prserver, or set the list");
    }
    roles.workers = optional_number("PADDLE_INIT_NUM_GRADIENT_SERVERS", 1, 65536).value_or(1);
    // Without it two trainers would both be the first.
    roles.index = roles.workers == 1 ? optional_number("PADDLE_INIT_TRAINER_ID", 0, 65535).value_or(0)
                                     : number_of("PADDLE_INIT_TRAINER_ID", need("PADDLE_INIT_TRAINER_ID"), 0, 65535);
    if (roles.index >= roles.workers) {
      throw Error(Errc::config_contradiction, "PADDLE_INIT_TRAINER_ID='", roles.index,
                  "' but PADDLE_INIT_NUM_GRADIENT_SERVERS='", roles.workers, "', which is the number of trainers",
                  ": ids run from 0 to ", roles.workers - 1);
    }
    roles.ports.dense = optional_number("PADDLE_INIT_PORTS_NUM", 1, 1024).value_or(1);
    roles.ports.sparse = optional_number("PADDLE_INIT_PORTS_NUM_FOR_SPARSE", 0, 1024).value_or(1);
    auto const port = optional_number("PADDLE_INIT_PORT", 1, 65535).value_or(7164);
    roles.servers = endpoints_of_hosts("PADDLE_INIT_PSERVERS", need("PADDLE_INIT_PSERVERS"),
                                       static_cast<std::uint16_t>(port), roles.ports);
    return roles;
  }

  /// A number from an optional variable.
  [[nodiscard]] std::optional<std::uint32_t> optional_number(std::string_view name, std::uint32_t low,
                                                             std::uint32_t high) const {
    return number_in(environment_, name, low, high);
  }

 private:
  [[nodiscard]] std::string need(std::string_view name) const {
    auto value = environment_(name);
    if (!value) {
      throw Error(Errc::config_missing, name,
                  " is not set: a launcher sets it (try prrun), or export it as docs/launch_contract.md shows");
    }
    if (value->empty()) throw Error(Errc::config_invalid, name, "='' is empty: give it a value");
    return *value;
  }

  [[nodiscard]] std::optional<Elastic> elastic(std::uint32_t workers) const {
    constexpr std::string_view name = "PRDIST_ELASTIC";
    auto const text = environment_(name);
    if (!text) return std::nullopt;
    auto const range = elastic_from_text(*text);
    if (!range) throw Error(Errc::config_invalid, name, '=', range.error().message());
    if (workers < range->min || workers > range->max) {
      throw Error(Errc::config_contradiction, "PADDLE_TRAINERS_NUM='", workers, "' but ", name, "='", *text,
                  "': a job begins with as many trainers as it may have");
    }
    return *range;
  }

  [[nodiscard]] static std::vector<std::string_view> items_of(std::string_view list) {
    std::vector<std::string_view> items;
    for (auto comma = list.find(','); comma != std::string_view::npos; comma = list.find(',')) {
      items.push_back(list.substr(0, comma));
      list.remove_prefix(comma + 1);
    }
    items.push_back(list);
    return items;
  }

  [[nodiscard]] std::vector<Endpoint> servers() const {
    constexpr std::string_view name = "PADDLE_PSERVERS_IP_PORT_LIST";
    auto const list = need(name);
    std::vector<Endpoint> endpoints;
    std::set<Endpoint> seen;
    for (auto const item : items_of(list)) {
      auto endpoint = parse_endpoint(item);
      if (!endpoint) throw Error(Errc::config_invalid, name, "='", list, "': ", endpoint.error().message());
      if (!seen.insert(*endpoint).second) {
        throw Error(Errc::config_contradiction, name, "='", list, "': ", item, " stands there twice");
      }
      endpoints.push_back(std::move(*endpoint));
    }
    if (auto const count = optional_number("PADDLE_PSERVERS_NUM", 1, 65536); count && *count != endpoints.size()) {
      throw Error(Errc::config_contradiction, "PADDLE_PSERVERS_NUM='", *count, "' but ", name, "='", list, "' has ",
                  endpoints.size());
    }
    return endpoints;
  }

  [[nodiscard]] std::vector<std::string> worker_endpoints() const {
    auto const list = environment_("PADDLE_TRAINER_ENDPOINTS").value_or("");
    if (list.empty()) return {};
    auto const items = items_of(list);
    return {items.begin(), items.end()};
  }

  [[nodiscard]] Role role() const {
    auto const role = need("TRAINING_ROLE");
    for (auto const* const other : {"PADDLE_TRAINING_ROLE", "PADDLE_ROLE"}) {
      if (auto const value = environment_(other); value && *value != role) {
        throw Error(Errc::config_contradiction, "TRAINING_ROLE='", role, "' but ", other, "='", *value,
                    "': unset one of them");
      }
    }
    if (role == "PSERVER") return Role::server;
    if (role == "TRAINER") return Role::worker;
    throw Error(Errc::config_invalid, "TRAINING_ROLE='", role, "': PSERVER or TRAINER is expected");
  }

  [[nodiscard]] std::uint32_t server_index(std::vector<Endpoint> const& servers) const {
    auto const list = [&] {
      std::string text;
      for (auto const& endpoint : servers) text += concat(text.empty() ? "" : ",", to_string(endpoint));
      return text;
    };
    if (auto const id = optional_number("PADDLE_PSERVER_ID", 0, 65535)) {
      if (*id >= servers.size()) {
        throw Error(Errc::config_contradiction, "PADDLE_PSERVER_ID='", *id, "' but PADDLE_PSERVERS_IP_PORT_LIST='",
                    list(), "' has ", servers.size(), ": ids run from 0 to ", servers.size() - 1);
      }
      // An id says it all: POD_IP may then be an address behind the name in the list.
      return *id;
    }
    auto const host = need("POD_IP");
    if (host.find_first_of("[]") != std::string::npos) {
      throw Error(Errc::config_invalid, "POD_IP='", host, "': an address without brackets is expected");
    }
    Endpoint const own{host, static_cast<std::uint16_t>(number_of("PADDLE_PORT", need("PADDLE_PORT"), 1, 65535))};
    for (std::size_t i = 0; i < servers.size(); ++i) {
      if (servers[i] == own) return static_cast<std::uint32_t>(i);
    }
    throw Error(Errc::config_contradiction, "POD_IP='", host, "' and PADDLE_PORT='", own.port, "' give ",
                to_string(own), ", which is not in PADDLE_PSERVERS_IP_PORT_LIST='", list(),
                "': correct one of them, or set PADDLE_PSERVER_ID");
  }

  Environment const& environment_;
};

}  // namespace detail

/// @throws Error config.missing, config.invalid or config.contradiction
[[nodiscard]] inline Roles roles_from_env(Environment const& environment = process_environment) {
  return detail::RoleReader(environment).read();
}

}  // namespace prdist
