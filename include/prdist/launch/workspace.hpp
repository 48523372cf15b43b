// SPDX-License-Identifier: Apache-2.0
// Where a job keeps its files below JOB_PATH/JOB_NAME, as Paddle's Kubernetes document lays them out: the training
// files in TRAIN_CONFIG_DIR, a folder of data per trainer, and output/ with a folder of logs per node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

/// Logs of node N: N is the server's or the trainer's index.
[[nodiscard]] inline std::filesystem::path node_folder(std::filesystem::path const& output, std::size_t index) {
  return output / concat("node_", index);
}

/// The folder of this trainer's data: `JOB/ID/data`, as start_paddle.py reads it, or `JOB/data/ID`, as the document
/// shows it. Nothing when the job has no data folders; others' folders without this one are data.file.
[[nodiscard]] inline Result<std::optional<std::filesystem::path>> find_shard(std::filesystem::path const& job,
                                                                             std::size_t trainer) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  auto const id = concat(trainer);
  for (auto const& folder : {job / id / "data", job / "data" / id}) {
    if (fs::is_directory(folder, ignored)) return std::optional(folder);
  }
  std::vector<std::size_t> others;
  auto const take = [&](fs::path const& parent, bool data_below) {
    std::error_code error;
    for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
      std::size_t number = 0;
      if (!parse_number(entry->path().filename().native(), number)) continue;
      if (fs::is_directory(data_below ? entry->path() / "data" : entry->path(), ignored)) others.push_back(number);
    }
  };
  take(job, true);
  take(job / "data", false);
  if (others.empty()) return std::optional<fs::path>();
  std::ranges::sort(others);
  std::string list;
  for (auto const number : others) list += concat(list.empty() ? "" : ", ", number);
  return Error(Errc::data_file, "launcher: trainer ", id, " has no data: '", (job / id / "data").string(), "' and '",
               (job / "data" / id).string(), "' do not exist, others do (", list,
               "): split the data for every trainer, or take the folders away");
}

/// Copies the contents of `from` into the folder `to`, which is made; files there are replaced.
[[nodiscard]] inline Result<void> copy_folder(std::filesystem::path const& from, std::filesystem::path const& to) {
  namespace fs = std::filesystem;
  try {
    fs::create_directories(to);
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  } catch (fs::filesystem_error const& error) {
    return Error(Errc::data_file, "launcher: '", error.path1().string(), "' cannot be copied to '", to.string(), "', ",
                 error.code().message(), ": give a folder with room that can be written, with --workspace");
  }
  return {};
}

}  // namespace prdist
