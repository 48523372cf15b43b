// SPDX-License-Identifier: Apache-2.0
// How a job that fails is tried again: after pauses that grow as long as it keeps failing, and with the logs of its
// first try put aside, as what went wrong first may be the cause of all the rest.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/report.hpp>

namespace prdist {

/// How long to wait before a next try. Each pause is twice the one before.
class RestartPauses {
 public:
  static constexpr std::chrono::milliseconds longest{30'000};
  /// One that ran for so long has shown that the job can: what ended it is something new.
  static constexpr std::chrono::seconds long_run{60};

  /// None at all when the first takes no time.
  explicit RestartPauses(std::chrono::milliseconds first) : first_(first), next_(first) {}

  /// The pause after a try that ran for so long.
  [[nodiscard]] std::chrono::milliseconds after(std::chrono::duration<double> ran) {
    if (ran >= long_run) next_ = first_;
    auto const pause = next_;
    next_ = std::max(first_, std::min(longest, next_ * 2));
    return pause;
  }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds next_;
};

/// "in 4 s", "in 0.5 s", "at once".
[[nodiscard]] inline std::string pause_text(std::chrono::milliseconds pause) {
  if (pause.count() == 0) return "at once";
  return concat("in ", std::chrono::duration<double>(pause).count(), " s");
}

inline constexpr std::string_view first_try = ".try1";

/// Puts the logs of a job's first try aside, as FILE.try1.
inline void keep_first_try(std::vector<MemberReport> const& members) {
  std::error_code error;
  for (auto const& each : members) {
    if (!std::filesystem::is_regular_file(each.log, error)) continue;
    std::filesystem::rename(each.log, concat(each.log.native(), first_try), error);
  }
}

/// What a run before has put aside would pass for this one's: it is FILE.try1.prev from now on, or gone unless `keep`.
inline void retire_first_try(std::filesystem::path const& log, bool keep) {
  std::error_code error;
  auto const path = concat(log.native(), first_try);
  auto const previous = concat(path, ".prev");
  std::filesystem::remove(previous, error);
  if (!std::filesystem::is_regular_file(path, error)) return;
  if (keep) std::filesystem::rename(path, previous, error);
  if (!keep) std::filesystem::remove(path, error);
}

/// Likewise of all members that a job in this folder has ever had.
inline void retire_first_tries(std::filesystem::path const& folder, bool keep) {
  std::vector<std::string> logs;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    auto const path = entry->path().native();
    auto const name = entry->path().filename().native();
    auto const at = path.rfind(first_try);
    bool const log = name.starts_with("serverlog.") || name.starts_with("workerlog.");
    if (!log || at == std::string::npos) continue;
    auto const rest = std::string_view(path).substr(at + first_try.size());
    if (rest.empty() || rest == ".prev") logs.push_back(path.substr(0, at));
  }
  for (auto const& log : logs) retire_first_try(log, keep);
}

}  // namespace prdist
