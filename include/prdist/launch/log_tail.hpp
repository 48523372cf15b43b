// SPDX-License-Identifier: Apache-2.0
// Follows a growing log line by line, to show it while it is written.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/regular_file.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

class LogTail {
 public:
  /// Follows `path` from its beginning. A missing file has no lines, nor has what is no file: a FIFO is not waited for.
  explicit LogTail(std::filesystem::path path) : path_(std::move(path)) {
    if (auto file = open_regular(Errc::config_invalid, path_.native(), "")) file_ = std::move(file->descriptor);
  }

  /// Passes every line completed since the last call to `show`, without its end. Of a line that was rewritten with
  /// carriage returns, as progress bars do, the last state. A reader that is more than 4 MiB behind skips to the last
  /// 64 KiB and says so: the launcher has other work than copying a flood.
  template <class Show>
  void poll(Show&& show) {
    struct stat status {};
    if (!file_ || ::fstat(file_.get(), &status) != 0) return;
    if (auto const behind = status.st_size - offset_; behind > most_behind) {
      auto const skipped = behind - kept;
      offset_ += skipped;
      partial_.clear();
      show(concat("... ", skipped, " bytes not shown: see ", path_.string()));
    }
    char chunk[16 * 1024];
    for (ssize_t got = 0; (got = ::pread(file_.get(), chunk, sizeof chunk, offset_)) > 0;) {
      offset_ += got;
      take({chunk, static_cast<std::size_t>(got)}, show);
    }
  }

  /// As poll(), and then a last line that lacks its end.
  template <class Show>
  void finish(Show&& show) {
    poll(show);
    if (!partial_.empty()) emit(std::exchange(partial_, {}), show);
  }

 private:
  template <class Show>
  void take(std::string_view text, Show& show) {
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      partial_ += text.substr(0, end);
      text.remove_prefix(end + 1);
      emit(std::exchange(partial_, {}), show);
    }
    partial_ += text;
    // Memory stays bounded when no line end ever comes.
    if (partial_.size() > longest_line) emit(std::exchange(partial_, {}), show);
  }

  template <class Show>
  static void emit(std::string_view line, Show& show) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto const back = line.rfind('\r'); back != std::string_view::npos) line.remove_prefix(back + 1);
    show(line);
  }

  static constexpr off_t most_behind = 4 << 20;
  static constexpr off_t kept = 64 << 10;
  static constexpr std::size_t longest_line = 64 << 10;

  Descriptor file_;
  std::filesystem::path path_;
  off_t offset_ = 0;
  std::string partial_;
};

}  // namespace prdist
