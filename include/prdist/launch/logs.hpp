// SPDX-License-Identifier: Apache-2.0
// The log folder of a job and its files. Processes write their files themselves, so a log is whole even when the
// launcher is killed, and the launcher never slows a process down by reading late.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/printable.hpp>

namespace prdist {

/// Makes the folder and keeps it for this job until the descriptor closes: two jobs would mix their files. Nodes of one
/// job may share it, on a file system that all see: their files have different names.
[[nodiscard]] inline Result<Descriptor> claim_log_dir(std::filesystem::path const& folder, bool shared = false) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Descriptor claim(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!claim) {
    if (!error) error.assign(errno, std::generic_category());
    return Error(Errc::config_invalid, "launcher: the log folder '", printable(folder.native()), "' cannot be used, ",
                 error.message(), ": give another one with --log_dir");
  }
  // File systems that cannot lock a folder answer otherwise; there the claim is not checked.
  if (::flock(claim.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error(Errc::config_contradiction, "launcher: the log folder '", printable(folder.native()),
                 "' is in use by another job: give another one with --log_dir");
  }
  return claim;
}

/// Puts away the logs of the run before in a folder that belongs to one job, whoever's they are: as *.prev, or for good
/// unless `keep`. Those that this run will not write would pass for its own, and an older *.prev for one of the run
/// before.
inline void retire_logs(std::filesystem::path const& folder, bool keep = true) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names, std::greater<>());  // workerlog.1.prev before workerlog.1
  for (std::string_view const name : names) {
    auto const dot = name.find('.');
    auto const kind = name.substr(0, dot);
    bool const log = kind == "serverlog" || kind == "workerlog";
    if (dot == std::string_view::npos || (!log && kind != "progress")) continue;
    bool const previous = log && name.ends_with(".prev");
    auto const number = name.substr(dot + 1, previous ? name.size() - dot - 6 : std::string_view::npos);
    std::size_t index = 0;
    auto const path = folder / name;
    if (!parse_number(number, index) || !std::filesystem::is_regular_file(path, error)) continue;
    if (log && !previous && keep) {
      std::filesystem::rename(path, concat(path.native(), ".prev"), error);
    } else {
      std::filesystem::remove(path, error);
    }
  }
}

/// A fresh log; the one of the run before is kept as FILE.prev unless `keep` is false. Writes append, so that several
/// processes may share it.
[[nodiscard]] inline Result<Descriptor> open_log(std::filesystem::path const& path, bool keep = true) {
  std::error_code error;
  if (keep && std::filesystem::is_regular_file(path, error)) {
    auto previous = path;
    previous += ".prev";
    std::filesystem::rename(path, previous, error);
  }
  Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (log) return log;
  return Error(Errc::config_invalid, "launcher: the log file '", printable(path.native()), "' cannot be written, ",
               std::generic_category().message(errno), ": give another folder with --log_dir");
}

/// A log that one process has written to and another goes on with.
[[nodiscard]] inline Result<Descriptor> continued_log(std::filesystem::path const& path) {
  Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log) return log;
  return Error(Errc::config_invalid, "launcher: the log file '", path.string(), "' cannot be written any more, ",
               std::generic_category().message(errno));
}

/// The last `count` lines, each cut at 400 bytes; fewer when the last 64 KiB hold fewer. Empty for a missing file.
[[nodiscard]] inline std::vector<std::string> last_lines(std::filesystem::path const& path, std::size_t count) {
  constexpr off_t window = 64 * 1024;
  std::vector<std::string> lines;
  Descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return lines;
  std::string text(static_cast<std::size_t>(std::min(window, status.st_size)), '\0');
  auto const got = ::pread(file.get(), text.data(), text.size(), status.st_size - static_cast<off_t>(text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::string_view rest(text);
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  while (!rest.empty() && lines.size() < count) {
    auto const newline = rest.rfind('\n');
    auto const begin = newline == std::string_view::npos ? 0 : newline + 1;
    auto const line = rest.substr(begin);
    lines.push_back(line.size() > 400 ? concat(line.substr(0, 400), " ...") : std::string(line));
    rest = newline == std::string_view::npos ? std::string_view() : rest.substr(0, newline);
  }
  std::ranges::reverse(lines);
  return lines;
}

}  // namespace prdist
