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
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/regular_file.hpp>
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

namespace detail {

/// What stands where a log file is expected; empty for a file and for nothing. Opening a FIFO would wait for its other
/// end, for ever and with every signal held back.
[[nodiscard]] inline std::string no_log_file(struct stat const& status) {
  return S_ISREG(status.st_mode) ? std::string() : concat("it is ", kind_of_file(status.st_mode));
}

/// Opens a log for writing and never waits for that. `way_out` ends the message.
[[nodiscard]] inline Result<Descriptor> open_log_file(std::filesystem::path const& path, int flags,
                                                      std::string_view way_out) {
  struct stat status {};
  std::string what;
  if (::stat(path.c_str(), &status) == 0) what = no_log_file(status);
  if (what.empty()) {
    Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | flags, 0644));
    if (log && ::fstat(log.get(), &status) == 0) what = no_log_file(status);
    if (log && what.empty()) {
      // The process that writes to it gets the descriptor, and the lock: it is a file like any other to it.
      ::fcntl(log.get(), F_SETFL, O_APPEND);
      ::flock(log.get(), LOCK_EX | LOCK_NB);
      return log;
    }
    if (what.empty()) what = std::generic_category().message(errno);
  }
  return Error(Errc::config_invalid, "launcher: the log file '", printable(path.native()), "' cannot be written",
               way_out.empty() ? " any more, " : ", ", what, way_out);
}

}  // namespace detail

/// Whether a process that prrun has started writes to this log: each holds a lock on its own for as long.
[[nodiscard]] inline bool log_is_in_use(std::filesystem::path const& path) {
  auto const file = open_regular(Errc::config_invalid, path.native(), "");
  return file && ::flock(file->descriptor.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// A fresh log; the one of the run before is kept as FILE.prev unless `keep` is false. Writes append, so that several
/// processes may share it. What is no file is left alone and named.
[[nodiscard]] inline Result<Descriptor> open_log(std::filesystem::path const& path, bool keep = true) {
  std::error_code error;
  if (keep && std::filesystem::is_regular_file(path, error)) {
    auto previous = path;
    previous += ".prev";
    std::filesystem::rename(path, previous, error);
  }
  return detail::open_log_file(path, O_TRUNC, ": give another folder with --log_dir");
}

/// A log that one process has written to and another goes on with.
[[nodiscard]] inline Result<Descriptor> continued_log(std::filesystem::path const& path) {
  return detail::open_log_file(path, 0, "");
}

/// The last `count` lines, each cut at 400 bytes; fewer when the last 64 KiB hold fewer. Empty for a missing file, and
/// for what is none: a FIFO that a member has put there is not waited for.
[[nodiscard]] inline std::vector<std::string> last_lines(std::filesystem::path const& path, std::size_t count) {
  constexpr std::uint64_t window = 64 * 1024;
  std::vector<std::string> lines;
  auto const file = open_regular(Errc::config_invalid, path.native(), "");
  if (!file) return lines;
  std::string text(static_cast<std::size_t>(std::min(window, file->size)), '\0');
  auto const got =
      ::pread(file->descriptor.get(), text.data(), text.size(), static_cast<off_t>(file->size - text.size()));
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
