// SPDX-License-Identifier: Apache-2.0
// What the launcher shows: lines on standard output and standard error, and on a terminal a few status lines below
// them that are rewritten. Writing never blocks: a pager or a stopped terminal must not stop the supervision.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/text.hpp>
#include <prdist/launch/printable.hpp>

namespace prdist {

namespace detail {

/// Bytes on their way to a descriptor that may not take them now.
class OutputQueue {
 public:
  explicit OutputQueue(int fd) : fd_(fd) {
    // A terminal that polls writable may have room for a few bytes and sleep over the others. By an opening of its own:
    // whoever shares the other one expects it to wait.
    if (::isatty(fd) != 1) return;
    own_.reset(::open(concat("/proc/self/fd/", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own_) fd_ = own_.get();
  }

  void put(std::string_view text) {
    if (open_) pending_ += text;
  }
  [[nodiscard]] std::size_t size() const noexcept { return pending_.size() - done_; }

  /// Writes what can be written within `patience`.
  void flush(std::chrono::milliseconds patience) {
    auto const deadline = std::chrono::steady_clock::now() + patience;
    while (size() != 0) {
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd entry{fd_, POLLOUT, 0};
      if (::poll(&entry, 1, static_cast<int>(std::max<long>(0, left.count()))) <= 0) return;
      // A pipe that polls writable takes this much at once without blocking.
      auto const written = ::write(fd_, pending_.data() + done_, std::min<std::size_t>(size(), 4096));
      if (written > 0) done_ += static_cast<std::size_t>(written);
      if (written < 0 && errno == EAGAIN) {
        auto const soon = std::min<long>(left.count(), 10);
        if (soon <= 0) return;
        ::poll(nullptr, 0, static_cast<int>(soon));
        continue;
      }
      // When nobody reads any more the job goes on without.
      if (written < 0 && errno != EINTR) open_ = false;
      if (size() == 0 || !open_) {
        pending_.clear();
        done_ = 0;
      }
    }
  }

 private:
  int fd_;
  Descriptor own_;
  bool open_ = true;
  std::string pending_;
  std::size_t done_ = 0;
};

[[nodiscard]] inline bool same_file(int first, int second) noexcept {
  struct stat a {
  }, b{};
  return ::fstat(first, &a) == 0 && ::fstat(second, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace detail

class Console {
 public:
  explicit Console(int out = STDOUT_FILENO, int error = STDERR_FILENO)
      : out_(out), error_(error), error_fd_(error), one_file_(detail::same_file(out, error)), terminal_([&] {
          char const* const kind = std::getenv("TERM");
          return ::isatty(error) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
        }()) {}
  ~Console() {
    status({});
    flush(std::chrono::seconds(2));
  }
  Console(Console const&) = delete;
  Console& operator=(Console const&) = delete;

  /// Whether status() has lines to rewrite.
  [[nodiscard]] bool terminal() const noexcept { return terminal_; }
  /// Whether so much waits to be taken that the caller had better hold back lines for standard output.
  [[nodiscard]] bool congested() const noexcept { return (one_file_ ? error_ : out_).size() > (64 << 10); }

  /// Lines of the terminal.
  [[nodiscard]] std::size_t rows() const {
    winsize size{};
    return ::ioctl(error_fd_, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24U;
  }

  /// A line, as printable() has it: what others have written must not do anything to the terminal.
  void out(std::string_view line) {
    if (one_file_) return error(line);
    out_.put(printable(line));
    out_.put("\n");
    out_.flush({});
  }

  void error(std::string_view line) {
    error_.put(erase());
    error_.put(printable(line));
    error_.put("\n");
    error_.put(status_);
    error_.flush({});
  }

  /// A text of several lines.
  void error_lines(std::string_view text) {
    while (!text.empty()) {
      auto const line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      error(line);
    }
  }

  /// The status, each of its lines cut to the terminal's width; an empty one takes it away. Nothing without a terminal.
  void status(std::string_view text) {
    if (!terminal_ || (status_.empty() && text.empty())) return;
    winsize size{};
    std::size_t const width = ::ioctl(error_fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79U;
    auto const before = erase();
    status_.clear();
    for (bool more = !text.empty(); more;) {
      auto const line = text.substr(0, text.find('\n'));
      more = line.size() < text.size();
      text.remove_prefix(line.size() + (more ? 1 : 0));
      status_ += line.substr(0, width);
      if (more) status_ += '\n';
    }
    // A terminal that takes nothing gets the newest state when it takes something again.
    if (error_.size() == 0) {
      error_.put(before);
      error_.put(status_);
    }
    error_.flush({});
  }

  void flush(std::chrono::milliseconds patience) {
    error_.flush(patience);
    out_.flush(patience);
  }

 private:
  /// Back to where the status begins, and all behind it away.
  [[nodiscard]] std::string erase() const {
    if (status_.empty()) return {};
    auto const above = std::ranges::count(status_, '\n');
    return above == 0 ? "\r\x1b[K" : concat("\r\x1b[", above, "A\x1b[J");
  }

  detail::OutputQueue out_;
  detail::OutputQueue error_;
  int error_fd_;
  bool one_file_;  ///< both go one way, which keeps their order
  bool terminal_;
  std::string status_;
};

}  // namespace prdist
