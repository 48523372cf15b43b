// SPDX-License-Identifier: Apache-2.0
// One sink for everything the library has to say. The default writes lines in glog's form to stderr, so that
// people find the lines they know ("Server listening on ..."); set_log() sends them elsewhere.
// Nothing is logged per batch.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include <prdist/core/text.hpp>

namespace prdist {

enum class Level { debug, info, warning, error };

using LogSink = std::function<void(Level, std::string_view)>;

namespace detail {

/// `I1116 08:26:34.123456 4711] text`: glog's prefix without the file name, which would name our headers.
inline void log_to_stderr(Level level, std::string_view text) {
  if (level == Level::debug) return;
  auto const now = std::chrono::system_clock::now();
  auto const seconds = std::chrono::system_clock::to_time_t(now);
  auto const micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1000000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char stamp[64];
  std::snprintf(stamp, sizeof stamp, "%c%02d%02d %02d:%02d:%02d.%06d %d] ", "DIWE"[static_cast<int>(level)],
                local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, static_cast<int>(micros),
                static_cast<int>(::getpid()));
  // One write per line: lines of processes that share a log file do not mix.
  auto const line = concat(std::string_view(stamp), text, '\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

struct Log {
  std::mutex mutex;
  std::shared_ptr<LogSink const> sink = std::make_shared<LogSink const>(log_to_stderr);
};

inline Log& the_log() {
  static Log log;
  return log;
}

}  // namespace detail

/// Sends every later line to `sink`, which several threads may call at the same time; an empty one silences the
/// library. May be called at any time, by any thread.
inline void set_log(LogSink sink) {
  auto& log = detail::the_log();
  std::lock_guard const lock(log.mutex);
  log.sink = std::make_shared<LogSink const>(std::move(sink));
}

/// The parts, joined by concat(), as one line.
template <class... Parts>
void log(Level level, Parts const&... parts) {
  auto& log = detail::the_log();
  std::shared_ptr<LogSink const> sink;
  {
    std::lock_guard const lock(log.mutex);
    sink = log.sink;
  }
  if (*sink) (*sink)(level, concat(parts...));
}

}  // namespace prdist
