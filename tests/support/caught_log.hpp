// Sends the log to a list while it lives. The threads of a job in one process write into it beside each other.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/log.hpp>

class CaughtLog {
 public:
  CaughtLog() {
    prdist::set_log([said = said_](prdist::Level, std::string_view text) {
      std::lock_guard const lock(said->mutex);
      said->lines.emplace_back(text);
    });
  }
  CaughtLog(CaughtLog const&) = delete;
  CaughtLog& operator=(CaughtLog const&) = delete;
  ~CaughtLog() { prdist::set_log(prdist::detail::log_to_stderr); }

  /// What was said up to now.
  std::vector<std::string> lines() const {
    std::lock_guard const lock(said_->mutex);
    return said_->lines;
  }
  void clear() {
    std::lock_guard const lock(said_->mutex);
    said_->lines.clear();
  }

 private:
  struct Said {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  // Shared with the sink: a thread that fetched it before set_log() took it away may still call it afterwards.
  std::shared_ptr<Said> said_ = std::make_shared<Said>();
};
