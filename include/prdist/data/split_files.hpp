// SPDX-License-Identifier: Apache-2.0
// Which files a worker reads: a path or pattern into a sorted list, and two rules that share the list out. Sorted
// by bytes, so that every worker cuts the same list whatever its locale.
#pragma once

#include <glob.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

namespace detail {

[[nodiscard]] inline std::optional<Error> check_share(std::size_t workers, std::size_t worker) {
  if (worker < workers) return std::nullopt;
  return Error(Errc::config_invalid, "worker ", worker, " of ", workers,
               " has no share of the files: the index runs from 0 to the number of workers less 1");
}

}  // namespace detail

/// Contiguous blocks, as fleet.util.get_file_shard cuts them: the first (files mod workers) workers get one file
/// more. With fewer files than workers the last ones get none.
[[nodiscard]] inline Result<std::vector<std::string>> split_files(std::span<std::string const> files,
                                                                  std::size_t workers, std::size_t worker) {
  if (auto const wrong = detail::check_share(workers, worker)) return *wrong;
  auto const each = files.size() / workers;
  auto const longer = files.size() % workers;
  auto const first = worker * each + std::min(worker, longer);
  auto const mine = files.subspan(first, each + (worker < longer ? 1 : 0));
  return std::vector<std::string>(mine.begin(), mine.end());
}

/// The rule of Paddle's older examples: `part-00017` belongs to worker 17 mod workers. The number is what follows
/// the last '-' of the file's name.
[[nodiscard]] inline Result<std::vector<std::string>> split_files_by_suffix(std::span<std::string const> files,
                                                                            std::size_t workers, std::size_t worker) {
  if (auto const wrong = detail::check_share(workers, worker)) return *wrong;
  std::vector<std::string> mine;
  for (auto const& file : files) {
    auto const name = std::string_view(file).substr(file.rfind('/') + 1);  // npos + 1 is 0
    auto const dash = name.rfind('-');
    std::size_t number = 0;
    if (dash == std::string_view::npos || !parse_number(name.substr(dash + 1), number)) {
      return Error(Errc::data_file, file,
                   ", its name does not end in '-' and a number: rename it as in part-00017, or split by blocks");
    }
    if (number % workers == worker) mine.push_back(file);
  }
  return mine;
}

/// A file as it is, the files in a directory (not in those below it, and none whose name begins with a dot), or
/// what a pattern such as `train/part-*` matches; sorted. Nothing found is an error.
[[nodiscard]] inline Result<std::vector<std::string>> expand_files(std::string const& what) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::vector<std::string> files;
  auto const add = [&](fs::path const& path) {
    std::error_code ignored;
    if (!path.filename().native().starts_with('.') && !fs::is_directory(path, ignored)) files.push_back(path.native());
  };
  if (what.empty()) {
    return Error(Errc::config_missing, "the path of the data is empty: give a file, a directory or a pattern");
  }
  bool const is_directory = fs::is_directory(what, failed);
  if (is_directory) {
    for (fs::directory_iterator entry(what, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed)) {
      add(entry->path());
    }
    if (failed) {
      return Error(Errc::data_file, what, ", cannot be listed, ", failed.message(), ": check its permissions");
    }
  } else if (fs::exists(what, failed)) {
    files.push_back(what);
  } else {
    ::glob_t found{};
    if (::glob(what.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) add(found.gl_pathv[i]);
    }
    ::globfree(&found);
  }
  if (files.empty()) {
    return Error(Errc::data_file, what, is_directory ? ", the directory holds no file" : ", no file matches",
                 ": check the path, seen from ", fs::current_path(failed).native());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace prdist
