// SPDX-License-Identifier: Apache-2.0
// Who takes part in a job: a role and an index within it. The rank counts all members, servers first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <prdist/core/text.hpp>

namespace prdist {

enum class JobRole : std::uint8_t { server, trainer };

struct JobMember {
  JobRole role = JobRole::trainer;
  std::size_t index = 0;

  friend bool operator==(JobMember const&, JobMember const&) = default;
};

[[nodiscard]] constexpr std::string_view name_of(JobRole role) noexcept {
  return role == JobRole::server ? "server" : "trainer";
}

/// "trainer 1", as reports and messages call it.
[[nodiscard]] inline std::string to_string(JobMember const& member) {
  return concat(name_of(member.role), ' ', member.index);
}

/// The names people know from Paddle: serverlog.0, workerlog.0.
[[nodiscard]] inline std::string log_name(JobMember const& member) {
  return concat(member.role == JobRole::server ? "serverlog." : "workerlog.", member.index);
}

}  // namespace prdist
