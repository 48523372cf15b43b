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

}  // namespace prdist
