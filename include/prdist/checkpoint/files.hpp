// SPDX-License-Identifier: Apache-2.0
// Files that are written whole or not at all, and read by position. A write that the system cuts short, a full disk
// and a failing one are errors with the path, the byte and what the system says; nothing is left to a destructor.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/regular_file.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

namespace detail {

[[noreturn]] inline void throw_file_error(std::string_view path, std::string_view what, std::string_view next) {
  throw Error(Errc::checkpoint_file, path, ", ", what, ", ", std::generic_category().message(errno), ": ", next);
}

inline ConstBytes bytes_of_text(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}

}  // namespace detail

/// Makes names that were created, renamed or removed in `directory` last through a power cut. Blocks.
/// @throws Error checkpoint.file
inline void sync_directory(std::string const& directory) {
  Descriptor const folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some network file systems do not sync directories and say so by EINVAL: they keep names by themselves.
  if (!folder || (::fsync(folder.get()) != 0 && errno != EINVAL)) {
    detail::throw_file_error(directory, "the folder cannot be written through to the disk", "check the disk");
  }
}

/// One writer. Until close() has returned, the file is not safe on the disk.
class OutputFile {
 public:
  /// Makes `path`, or empties it. @throws Error checkpoint.file
  explicit OutputFile(std::string path) : OutputFile(std::move(path), O_TRUNC) {}

  /// Goes on behind the end of `path`; size() counts from there. @throws Error checkpoint.file
  [[nodiscard]] static OutputFile append_to(std::string path) { return OutputFile(std::move(path), O_APPEND); }

  /// Appends the pieces, in order, straight from where they lie. @throws Error checkpoint.file
  void write(std::initializer_list<ConstBytes> pieces) {
    assert(pieces.size() <= most_pieces);
    std::array<iovec, most_pieces> rest{};
    std::size_t count = 0;
    for (auto const piece : pieces) {
      // writev() does not write through iov_base.
      if (!piece.empty()) rest[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    for (auto* at = rest.data(); count > 0;) {
      auto const written = ::writev(file_.get(), at, static_cast<int>(count));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EINVAL && past_cache_) {  // in the middle of a page, or not on this file system
        (void)past_cache(false);
        continue;
      }
      if (written <= 0) fail_to_write();
      size_ += static_cast<std::uint64_t>(written);
      auto done = static_cast<std::size_t>(written);
      while (count > 0 && done >= at->iov_len) {
        done -= at->iov_len;
        ++at, --count;
      }
      if (count > 0) *at = {static_cast<std::byte*>(at->iov_base) + done, at->iov_len - done};
    }
    start_write_back();
  }
  void write(ConstBytes bytes) { write({bytes}); }

  /// Whether what is written goes straight to the disk and not by way of the system's memory. That is for whoever
  /// writes whole pages from the beginning of a page of its own: anything else goes the usual way again. Returns what
  /// it is now: not every file system can.
  bool past_cache(bool wanted) noexcept {
    auto const flags = ::fcntl(file_.get(), F_GETFL);
    bool const changed =
        flags >= 0 && ::fcntl(file_.get(), F_SETFL, wanted ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
    return past_cache_ = wanted && changed;
  }

  /// Overwrites bytes that were written before. @throws Error checkpoint.file
  void write_at(std::uint64_t offset, ConstBytes bytes) {
    assert(offset + bytes.size() <= size_);
    while (!bytes.empty()) {
      auto const written = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail_to_write();
      offset += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  /// Waits until all of it is on the disk; nothing can be written afterwards. @throws Error checkpoint.file
  void close() {
    // Devices cannot be synced, and need not be.
    auto const synced = ::fsync(file_.get()) == 0 || errno == EINVAL || errno == ENOTSUP;
    auto const reason = errno;
    auto const closed = ::close(file_.release()) == 0;
    if (!synced) errno = reason;
    if (!synced || !closed) fail_to_write();
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

 private:
  static constexpr std::size_t most_pieces = 4;
  static constexpr std::uint64_t largest_page = 64 * 1024;
  static constexpr std::uint64_t write_back_step = std::uint64_t{32} << 20;

  OutputFile(std::string path, int mode)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | mode, 0666)) {
    auto const reason = errno;
    // A FIFO would wait for who reads it, for ever; devices such as /dev/null take what comes.
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
      throw Error(Errc::checkpoint_file, path_, ", is ", kind_of_file(status.st_mode),
                  " and not a file: remove it, or give another name");
    }
    errno = reason;
    if (!file_) detail::throw_file_error(path_, "cannot be created", "check that its folder exists and is writable");
  }

  [[noreturn]] void fail_to_write() const {
    detail::throw_file_error(
        path_, concat("cannot be written at byte ", size_),
        "make room, perhaps by keeping fewer checkpoints, or choose another disk; what was saved before is untouched");
  }

  /// Lets the disk begin while the rest is still being made: otherwise all of it waits for close(), and so many dirty
  /// pages stop other writers of the machine. Only a hint, so its failure does not matter.
  void start_write_back() noexcept {
    if (past_cache_ || size_ - begun_ < write_back_step) return;
    // Whole pages only: the next write would have to wait for a page that is on its way.
    auto const until = size_ / largest_page * largest_page;
    ::sync_file_range(file_.get(), static_cast<off_t>(begun_), static_cast<off_t>(until - begun_),
                      SYNC_FILE_RANGE_WRITE);
    begun_ = until;
  }

  std::string path_;
  Descriptor file_;
  std::uint64_t size_ = 0, begun_ = 0;
  bool past_cache_ = false;
};

/// Reads by position; several may read one file.
class InputFile {
 public:
  /// @throws Error checkpoint.file
  explicit InputFile(std::string path)
      : path_(std::move(path)), file_(open_regular(Errc::checkpoint_file, path_, way_out).value()) {}

  /// Fills `out` from `offset` on, or as much of it as the file has; returns how much that was.
  /// @throws Error checkpoint.damaged for bytes that the disk has lost, checkpoint.file
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, Bytes out) const {
    std::size_t done = 0;
    while (done < out.size()) {
      auto const got =
          ::pread(file_.descriptor.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EIO) {
        throw Error(Errc::checkpoint_damaged, path_, ", cannot be read at byte ", offset + done, ", ",
                    std::generic_category().message(EIO), ": check the disk, and load an older checkpoint");
      }
      if (got < 0) detail::throw_file_error(path_, concat("cannot be read at byte ", offset + done), way_out);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  /// As it was when the file was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return file_.size; }
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

 private:
  static constexpr std::string_view way_out = "check the path, its permissions and the disk";

  std::string path_;
  OpenFile file_;
};

/// A small file at once, on the disk when this returns; its folder is not synced. @throws Error checkpoint.file
inline void write_text(std::string const& path, std::string_view text) {
  OutputFile file(path);
  file.write(detail::bytes_of_text(text));
  file.close();
}

/// @throws Error checkpoint.file when it cannot be read, checkpoint.damaged when it has more than `most` bytes
[[nodiscard]] inline std::string read_text(std::string const& path, std::uint64_t most = std::uint64_t{64} << 20) {
  InputFile const file(path);
  if (file.size() > most) {
    throw Error(Errc::checkpoint_damaged, path, ", has ", file.size(), " bytes and may have ", most,
                ": it is no file of a checkpoint");
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

/// Gives a finished file or folder its final name and makes that last. Replaces a file of that name.
/// @throws Error checkpoint.file
inline void publish(std::string const& from, std::string const& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    detail::throw_file_error(to, concat("cannot be made from ", from), "check the folder's permissions");
  }
  auto const slash = to.rfind('/');
  sync_directory(slash == std::string::npos ? "." : slash == 0 ? "/" : to.substr(0, slash));
}

}  // namespace prdist
