// SPDX-License-Identifier: Apache-2.0
// The lines of one text file, through one buffer that is used again and again; of the text inside when the name ends
// in .gz. Read and not mapped: a mapped file that another process shortens ends the reader by SIGBUS, and read() costs
// a few per cent of parsing.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/regular_file.hpp>

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

  /// Closes the file before, if any, and opens `path`. A pipe is read as well, such as a shell's <(zcat rows.gz): who
  /// opens one that nobody writes waits, after a line in the log. @throws Error data.file
  void open(std::string path) {
    close();
    path_ = std::move(path);
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 && S_ISFIFO(status.st_mode)) {
      log(Level::info, path_, " is a pipe: reads what is written into it");
    }
    file_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_ || ::fstat(file_.get(), &status) != 0) fail("cannot be opened");
    file_size_ = static_cast<std::uint64_t>(status.st_size);
    begin();
  }

  /// The same for what must be a file: never waits. @throws Error data.file
  void open_file(std::string path) {
    close();
    path_ = std::move(path);
    auto opened = open_regular(Errc::data_file, path_, way_out).value();
    file_ = std::move(opened.descriptor);
    file_size_ = opened.size;
    begin();
  }

  /// After open() and before the first next(): goes to where another reader stood, that told its offset() and its
  /// lines(). Of a .gz the text before is unpacked and dropped.
  /// @throws Error data.file when the system cannot read; data.position when no line begins there
  void seek(std::uint64_t offset, std::size_t lines) {
    if (offset == 0) return;
    // To one byte before: it is the end of a line when the file is still what it was.
    if (!gzip_) {
      read_ = offset - 1;
      if (::lseek(file_.get(), static_cast<off_t>(read_), SEEK_SET) < 0) fail("cannot be read");
    }
    while (read_ < offset) {
      begin_ = end_;
      if (!fill()) break;
    }
    auto const back = read_ >= offset ? read_ - offset : end_ + 1;
    if (back >= end_ || (buffer_[end_ - static_cast<std::size_t>(back) - 1] != '\n' && !at_end_after(back))) {
      throw Error(Errc::data_position, path_, ", no line ends at byte ", offset,
                  ", so the file has changed since: bring the old one back, or start without the position");
    }
    begin_ = end_ - static_cast<std::size_t>(back);
    number_ = lines;
  }

  /// What is unread is dropped.
  void close() noexcept {
    gzip_.reset();
    file_.reset();
    begin_ = end_ = number_ = 0;
    read_ = file_size_ = 0;
  }

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// Bytes of text up to the end of the last line that next() gave.
  [[nodiscard]] std::uint64_t offset() const noexcept { return read_ - (end_ - begin_); }
  /// The number of that line.
  [[nodiscard]] std::size_t lines() const noexcept { return number_; }
  /// Bytes on the disk, when the file was opened.
  [[nodiscard]] std::uint64_t file_size() const noexcept { return file_size_; }

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
  static constexpr std::string_view way_out = "check the path and its permissions";

  void begin() {
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    if (!path_.ends_with(".gz")) return;
    gzip_.reset(::gzdopen(file_.get(), "rb"));
    if (!gzip_) fail("cannot be opened");
    (void)file_.release();  // gzclose() closes it
    ::gzbuffer(gzip_.get(), chunk);
  }

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
    if (!file_ && !gzip_) return false;
    auto const unread = end_ - begin_;
    if (begin_ > 0 && unread > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, unread);
    begin_ = 0;
    end_ = unread;
    if (buffer_.size() < unread + chunk) buffer_.resize(unread + chunk);
    auto const got = gzip_ ? read_gzip() : read_plain();
    end_ += got;
    read_ += got;
    return got > 0;
  }

  [[nodiscard]] std::size_t read_plain() {
    ssize_t got = 0;
    do {
      got = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail("cannot be read");
    return static_cast<std::size_t>(got);
  }

  [[nodiscard]] std::size_t read_gzip() {
    auto const got = ::gzread(gzip_.get(), buffer_.data() + end_, static_cast<unsigned>(buffer_.size() - end_));
    int problem = Z_OK;
    auto const* const what = ::gzerror(gzip_.get(), &problem);
    if (problem == Z_ERRNO) fail("cannot be read");
    // A file that ends early gives what it has, and only then says so.
    if (got < 0 || (got == 0 && problem != Z_OK)) {
      throw Error(Errc::data_file, path_, ", cannot be unpacked behind byte ", read_, " of its text, ",
                  got < 0 ? what : "it ends too early", ": the file is damaged, make it again");
    }
    return static_cast<std::size_t>(got);
  }

  /// Whether the text ends `back` bytes before what is in the buffer ends: a last line needs no end.
  [[nodiscard]] bool at_end_after(std::uint64_t back) {
    if (back > 0) return false;
    begin_ = end_ - 1;
    return !fill();
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(Errc::data_file, path_, ", ", what, ", ", std::generic_category().message(errno), ": ", way_out);
  }

  struct CloseGzip {
    void operator()(gzFile file) const noexcept { ::gzclose(file); }
  };

  std::size_t limit_;
  std::string path_;
  std::vector<char> buffer_;
  std::string cut_;
  std::size_t begin_ = 0, end_ = 0, number_ = 0;
  std::uint64_t read_ = 0, file_size_ = 0;  // bytes of text that came into the buffer; bytes on the disk
  Descriptor file_;
  std::unique_ptr<gzFile_s, CloseGzip> gzip_;
};

}  // namespace prdist
