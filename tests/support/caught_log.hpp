// Sends the log to a list while it lives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <prdist/core/log.hpp>

class CaughtLog {
 public:
  CaughtLog() {
    prdist::set_log([this](prdist::Level, std::string_view text) { lines.emplace_back(text); });
  }
  CaughtLog(CaughtLog const&) = delete;
  CaughtLog& operator=(CaughtLog const&) = delete;
  ~CaughtLog() { prdist::set_log(prdist::detail::log_to_stderr); }
  std::vector<std::string> lines;
};
