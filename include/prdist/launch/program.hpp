// SPDX-License-Identifier: Apache-2.0
// Finds the program that a command line names.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <prdist/core/error.hpp>

namespace prdist {

namespace detail {

[[nodiscard]] inline bool is_executable(std::filesystem::path const& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace detail

/// The folder of the running program.
[[nodiscard]] inline std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

/// A name with a slash is taken as it stands. A bare name is looked for in `search_path` (the form of $PATH), then in
/// `beside`, then in the current folder, which comes last so that a stray file never hides a program of the system.
[[nodiscard]] inline Result<std::filesystem::path> find_program(std::string_view name, std::string_view search_path,
                                                                std::filesystem::path const& beside) {
  namespace fs = std::filesystem;
  fs::path const given(name);
  auto const unusable = [&]() -> Error {
    std::error_code error;
    if (!fs::exists(given, error)) {
      return {Errc::config_missing, "launcher: there is no program '", name,
              "': check the path, it is taken from the current folder ", fs::current_path(error).string()};
    }
    if (fs::is_directory(given, error)) {
      return {Errc::config_invalid, "launcher: '", name, "' is a folder: name the program in it"};
    }
    if (given.extension() == ".py") {
      return {Errc::config_invalid, "launcher: '", name, "' is not executable: write  -- python3 ", name};
    }
    return {Errc::config_invalid, "launcher: '", name,
            "' is not executable: chmod +x it, or put its interpreter in "
            "front"};
  };
  if (name.find('/') != std::string_view::npos) {
    if (detail::is_executable(given)) return given;
    return unusable();
  }
  for (std::size_t begin = 0; begin <= search_path.size() && !search_path.empty();) {
    auto const end = std::min(search_path.find(':', begin), search_path.size());
    auto const folder = search_path.substr(begin, end - begin);
    // An empty entry means the current folder, which has its turn below.
    if (auto path = fs::path(folder) / given; !folder.empty() && detail::is_executable(path)) return path;
    begin = end + 1;
  }
  if (auto path = beside / given; detail::is_executable(path)) return path;
  if (detail::is_executable(given)) return fs::path(".") / given;
  if (std::error_code error; !name.empty() && fs::exists(given, error)) return unusable();
  return Error(Errc::config_missing, "launcher: there is no program '", name, "' in PATH, beside the launcher (",
               beside.string(), ") or in the current folder: build or install it, or give its path");
}

}  // namespace prdist
