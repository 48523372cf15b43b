// SPDX-License-Identifier: Apache-2.0
// The lines of one text file, through one buffer that is used again and again. Read and not mapped: a mapped file
// that another process shortens ends the reader by SIGBUS, and read() costs a few per cent of parsing.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>

namespace prdist {

struct Line {
  std::string_view text;   ///< without its end, "\n" or "\r\n"; valid until the next call
  std::size_t number = 0;  ///< from 1
  bool cut = false;        ///< the line is longer than the limit; `text` is its beginning
};

class LineReader {
 public:
  static constexpr std::size_t default_limit = std::size_t{1} << 20;

  /// Memory stays below `limit` and a chunk, whatever the file holds.
  explicit LineReader(std::size_t limit = default_limit) : limit_(std::max<std::size_t>(limit, 1)) {}

  LineReader(LineReader&& other) noexcept
      : limit_(other.limit_),
        path_(std::move(other.path_)),
        buffer_(std::move(other.buffer_)),
        begin_(other.begin_),
        end_(other.end_),
        number_(other.number_),
        file_(std::exchange(other.file_, -1)) {}
  LineReader& operator=(LineReader&&) = delete;
  ~LineReader() { close(); }

  /// Closes the file before, if any, and opens `path`.
  /// @throws Error data.file
  void open(std::string path) {
    close();
    path_ = std::move(path);
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail("cannot be opened");
    ::posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  /// What is unread is dropped.
  void close() noexcept {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    begin_ = end_ = number_ = 0;
  }

  [[nodiscard]] std::string const& path() const noexcept { return path_; }

  /// The next line, or false behind the last one. A last line without an end counts as a line.
  /// @throws Error data.file when the system cannot read on
  [[nodiscard]] bool next(Line& line) {
    std::size_t searched = 0;
    while (true) {
      auto const* const from = buffer_.data() + begin_;
      auto const length = end_ - begin_;
      auto const* const newline =
          length > searched ? static_cast<char const*>(std::memchr(from + searched, '\n', length - searched)) : nullptr;
      if (newline != nullptr) {
        auto const size = static_cast<std::size_t>(newline - from);
        begin_ += size + 1;
        finish(line, from, size);
        return true;
      }
      searched = length;
      if (length > limit_ + 1) return cut(line);  // + 1: the last byte may be the \r of a line end
      if (!fill()) {
        if (length == 0) return false;
        begin_ = end_;
        finish(line, buffer_.data() + end_ - length, length);
        return true;
      }
    }
  }

 private:
  static constexpr std::size_t chunk = std::size_t{1} << 18;

  void finish(Line& line, char const* text, std::size_t size) {
    if (size > 0 && text[size - 1] == '\r') --size;
    line.number = ++number_;
    line.cut = size > limit_;
    line.text = {text, std::min(size, limit_)};
  }

  /// The line has passed the limit: keeps its beginning and reads over the rest.
  [[nodiscard]] bool cut(Line& line) {
    cut_.assign(buffer_.data() + begin_, limit_);
    begin_ = end_;
    while (fill()) {
      auto const* const from = buffer_.data() + begin_;
      if (auto const* const newline = static_cast<char const*>(std::memchr(from, '\n', end_ - begin_))) {
        begin_ += static_cast<std::size_t>(newline - from) + 1;
        break;
      }
      begin_ = end_;
    }
    line = {cut_, ++number_, true};
    return true;
  }

  /// Appends a chunk to what is still unread; false at the end of the file.
  [[nodiscard]] bool fill() {
    if (file_ < 0) return false;
    auto const unread = end_ - begin_;
    if (begin_ > 0 && unread > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, unread);
    begin_ = 0;
    end_ = unread;
    if (buffer_.size() < unread + chunk) buffer_.resize(unread + chunk);
    ssize_t got = 0;
    do {
      got = ::read(file_, buffer_.data() + end_, buffer_.size() - end_);
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail("cannot be read");
    end_ += static_cast<std::size_t>(got);
    return got > 0;
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(Errc::data_file, path_, ", ", what, ", ", std::generic_category().message(errno),
                ": check the path and its permissions");
  }

  std::size_t limit_;
  std::string path_;
  std::vector<char> buffer_;
  std::string cut_;
  std::size_t begin_ = 0, end_ = 0, number_ = 0;
  int file_ = -1;
};

}  // namespace prdist
