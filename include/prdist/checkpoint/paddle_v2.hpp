// SPDX-License-Identifier: Apache-2.0
// Parameters as `paddle train` of the v2 days keeps them: pass-%05d/ with one binary file per parameter, named after
// it, and a file `done`. A file is 16 bytes of head, then the floats; a sparse parameter has its indices behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/files.hpp>
#include <prdist/checkpoint/temporary.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

struct V2Parameter {
  std::int32_t format = 0;  ///< 0: as Paddle computes with it; 1: MKL-DNN's order of output and input
  std::vector<float> values{};
  std::vector<std::int32_t> indices{};  ///< of a sparse parameter: rows, then columns

  friend bool operator==(V2Parameter const&, V2Parameter const&) = default;
};

namespace detail {

struct V2Head {
  std::int32_t format = 0;
  std::uint32_t value_size = sizeof(float);
  std::uint64_t size = 0;
};
static_assert(sizeof(V2Head) == 16);

}  // namespace detail

/// @throws Error checkpoint.file; checkpoint.damaged when the file is not one, or is cut off
[[nodiscard]] inline V2Parameter read_v2_parameter(std::string const& path) {
  InputFile const file(path);
  auto const damaged = [&](std::uint64_t at, auto const&... what) {
    throw Error(Errc::checkpoint_damaged, path, ", at byte ", at, ", ", concat(what...),
                ": check that it is a parameter file of Paddle v2, and copy it again");
  };
  auto const read = [&](std::uint64_t at, Bytes out) {
    if (auto const got = file.read_at(at, out); got < out.size()) damaged(at + got, "the file ends");
  };
  detail::V2Head head;
  read(0, std::as_writable_bytes(std::span(&head, 1)));
  if (head.format < 0 || head.format > 1) damaged(0, "the format is ", head.format, ", 0 and 1 are known");
  if (head.value_size != sizeof(float)) damaged(4, "a value has ", head.value_size, " bytes, 4 are known");
  auto const body = file.size() - sizeof head;
  if (head.size > body / sizeof(float)) {
    damaged(8, "there should be ", head.size, " values and there is room for ", body / sizeof(float));
  }
  auto const behind = body - head.size * sizeof(float);
  if (behind % sizeof(std::int32_t) != 0)
    damaged(file.size() - behind, "there are ", behind, " bytes behind the values");
  V2Parameter parameter{.format = head.format};
  parameter.values.resize(static_cast<std::size_t>(head.size));
  parameter.indices.resize(static_cast<std::size_t>(behind / sizeof(std::int32_t)));
  read(sizeof head, std::as_writable_bytes(std::span(parameter.values)));
  read(file.size() - behind, std::as_writable_bytes(std::span(parameter.indices)));
  return parameter;
}

/// On the disk when it returns. @throws Error checkpoint.file
inline void write_v2_parameter(std::string const& path, V2Parameter const& parameter) {
  detail::V2Head const head{.format = parameter.format, .size = parameter.values.size()};
  OutputFile file(path);
  file.write({std::as_bytes(std::span(&head, 1)), std::as_bytes(std::span(parameter.values)),
              std::as_bytes(std::span(parameter.indices))});
  file.close();
}

/// All parameters of a pass by name. Files of ours or of Paddle's that are no parameters (`done`, path.txt, copies of
/// the configuration) are left out, by their names.
/// @throws Error checkpoint.missing when the pass is not complete; as read_v2_parameter()
[[nodiscard]] inline std::map<std::string, V2Parameter> read_v2_pass(std::string const& folder) {
  std::map<std::string, V2Parameter> parameters;
  std::error_code failed;
  if (!std::filesystem::exists(concat(folder, "/done"), failed)) {
    throw Error(Errc::checkpoint_missing, folder,
                ", has no file 'done', so the pass was not saved to its end: load "
                "another one");
  }
  for (auto const& name : detail::names_in(folder)) {
    auto const path = concat(folder, '/', name);
    auto const other = name == "done" || name.ends_with(".txt") || name.ends_with(".py") || name.ends_with(".conf") ||
                       !std::filesystem::is_regular_file(path, failed);
    if (!other) parameters.emplace(name, read_v2_parameter(path));
  }
  return parameters;
}

/// Writes `folder` (.../pass-00000) under a temporary name, `done` last, and renames it.
/// @throws Error checkpoint.file, also when it exists; config.invalid for a name that is no file name
inline void write_v2_pass(std::string const& folder, std::map<std::string, V2Parameter> const& parameters) {
  for (auto const& [name, parameter] : parameters) {
    if (name.empty() || name.starts_with('.') || name.find('/') != name.npos || name == "done") {
      throw Error(Errc::config_invalid, folder, ", parameter '", name, "' cannot be a file of this name: rename it");
    }
  }
  detail::NewFolder to(folder);
  for (auto const& [name, parameter] : parameters) write_v2_parameter(concat(to.path(), '/', name), parameter);
  write_text(to.path() + "/done", concat(version, '\n'));
  to.finish();
}

}  // namespace prdist
