// SPDX-License-Identifier: Apache-2.0
// What a launcher inside a pod adds to the environment that a manifest gives it, so that roles_from_env() finds who it
// is. It stands beside the targets because both must agree: the order of ids is docs/launch_contract.md's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist::gen {

using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// The variables to add. Empty when role and id are explicit already. @throws Error config.missing, config.invalid
[[nodiscard]] inline std::vector<std::pair<std::string, std::string>> pod_roles(Lookup const& environment) {
  auto const number = [&](std::string_view name) -> std::optional<std::int64_t> {
    auto const text = environment(name);
    if (!text) return std::nullopt;
    std::int64_t value = 0;
    if (!parse_number(*text, value) || value < 0) {
      throw Error(Errc::config_invalid, name, "='", *text, "': a number is expected");
    }
    return value;
  };
  auto const role = environment("TRAINING_ROLE");
  if (environment(role == "PSERVER" ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID") && role) return {};
  auto index = number("JOB_COMPLETION_INDEX");
  if (!index) index = number("VC_TASK_INDEX");
  // A server may also find itself in the list by its own address.
  if (!index && role == "PSERVER" && environment("POD_IP") && environment("PADDLE_PORT")) return {};
  if (!index) {
    throw Error(Errc::config_missing, "neither JOB_COMPLETION_INDEX nor VC_TASK_INDEX is set: ",
                "the pod belongs to no Indexed Job and no Volcano Job; set PADDLE_TRAINER_ID or PADDLE_PSERVER_ID");
  }
  if (role) {
    return {{*role == "PSERVER" ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID", concat(*index)}};
  }
  auto const servers = number("PADDLE_PSERVERS_NUM");
  if (!servers)
    throw Error(Errc::config_missing, "PADDLE_PSERVERS_NUM is not set", ": with one Job the first pods are servers");
  bool const server = *index < *servers;
  return {{"TRAINING_ROLE", server ? "PSERVER" : "TRAINER"},
          {server ? "PADDLE_PSERVER_ID" : "PADDLE_TRAINER_ID", concat(server ? *index : *index - *servers)}};
}

}  // namespace prdist::gen
