// SPDX-License-Identifier: Apache-2.0
// How much memory a process may take before the system kills it: what its container is allowed, else what the machine
// has. And whether that has happened.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>

namespace prdist {

namespace detail {

/// A control group of this process that counts memory, and where its hierarchy is seen.
struct MemoryGroup {
  std::filesystem::path mount;
  std::string group;
  bool unified = false;  ///< version 2 of control groups
};

[[nodiscard]] inline std::vector<MemoryGroup> memory_groups(std::filesystem::path const& root) {
  std::vector<MemoryGroup> groups;
  auto const mount = root / "sys/fs/cgroup";
  std::string line;
  // Lines are number:controllers:group; without controllers it is the one hierarchy of version 2.
  for (std::ifstream file(root / "proc/self/cgroup"); std::getline(file, line);) {
    std::string_view const text(line);
    auto const first = text.find(':'), second = text.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    auto const controllers = text.substr(first + 1, second - first - 1);
    std::string group(text.substr(second + 1));
    if (controllers.empty()) groups.push_back({mount, std::move(group), true});
    if (controllers == "memory") groups.push_back({mount / "memory", std::move(group), false});
  }
  return groups;
}

/// The smallest number in the files `name` of a control group and of those it is in; "max" is no limit.
[[nodiscard]] inline std::size_t group_limit(std::filesystem::path const& mount, std::string_view group,
                                             std::string_view name) {
  auto least = std::numeric_limits<std::size_t>::max();
  auto folder = mount / std::filesystem::path(group).relative_path();
  for (;;) {
    std::ifstream file(folder / name);
    std::string text;
    std::size_t bytes = 0;
    if (std::getline(file, text) && parse_number(text, bytes)) least = std::min(least, bytes);
    if (folder == mount || !folder.has_parent_path() || folder == folder.parent_path()) return least;
    folder = folder.parent_path();
  }
}

}  // namespace detail

/// In bytes; 0 when the system does not tell. `root` stands for the root of the file system, for tests.
[[nodiscard]] inline std::size_t memory_limit(std::filesystem::path const& root = "/") {
  auto least = std::numeric_limits<std::size_t>::max();
  std::string line;
  for (std::ifstream file(root / "proc/meminfo"); std::getline(file, line);) {
    std::string_view const text(line);
    if (!text.starts_with("MemTotal:") || !text.ends_with(" kB")) continue;
    auto const number = text.substr(0, text.size() - 3);
    std::size_t kilobytes = 0;
    if (parse_number(number.substr(number.rfind(' ') + 1), kilobytes)) least = kilobytes * 1024;
  }
  for (auto const& [mount, group, unified] : detail::memory_groups(root)) {
    least = std::min(least, detail::group_limit(mount, group, unified ? "memory.max" : "memory.limit_in_bytes"));
  }
  return least == std::numeric_limits<std::size_t>::max() ? 0 : least;
}

/// How many processes the system has killed because memory ran out: in this process's container, or on the machine
/// where that is not told. Only the difference of two answers means something; 0 when the system does not tell.
[[nodiscard]] inline std::uint64_t out_of_memory_kills(std::filesystem::path const& root = "/") {
  auto const counted = [](std::filesystem::path const& path) {
    std::optional<std::uint64_t> count;
    std::string line;
    std::uint64_t number = 0;
    for (std::ifstream file(path); std::getline(file, line);) {
      std::string_view const text(line);
      if (text.starts_with("oom_kill ") && parse_number(text.substr(9), number)) count = number;
    }
    return count;
  };
  for (auto const& [mount, group, unified] : detail::memory_groups(root)) {
    auto const name = unified ? "memory.events" : "memory.oom_control";
    // From within some containers their own group is the root of what is seen.
    for (auto const& folder : {mount / std::filesystem::path(group).relative_path(), mount}) {
      if (auto const count = counted(folder / name)) return *count;
    }
  }
  return counted(root / "proc/vmstat").value_or(0);
}

}  // namespace prdist
