// SPDX-License-Identifier: Apache-2.0
// Copies a folder piece by piece, so that whoever copies a large one can stop in between and tell how far it is.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>

namespace prdist {

struct Copied {
  std::uint64_t files = 0;  ///< whole ones
  std::uint64_t bytes = 0;
};

/// Asked before each file and each MiB; false ends the copying.
using CopyWatch = std::function<bool(Copied const&)>;

namespace detail {

class FolderCopy {
 public:
  explicit FolderCopy(CopyWatch const& go_on) : go_on_(go_on) {}

  /// False when the watch has ended it. @throws std::filesystem::filesystem_error
  [[nodiscard]] bool folder(std::filesystem::path const& from, std::filesystem::path const& to) {
    for (auto const& entry : std::filesystem::directory_iterator(from)) {
      if (!goes_on()) return false;
      auto const target = to / entry.path().filename();
      auto const kind = std::filesystem::status(entry.path());
      if (std::filesystem::is_directory(kind)) {
        require(!leads_back(entry), entry.path(), ELOOP);
        std::filesystem::create_directory(target, entry.path());
        if (!folder(entry.path(), target)) return false;
      } else if (!file(entry.path(), target)) {
        return false;
      }
    }
    return true;
  }

  /// Whether `path` is `above` or below it.
  [[nodiscard]] static bool is_within(std::filesystem::path const& path, std::filesystem::path const& above) {
    auto const real = std::filesystem::canonical(above);
    return std::ranges::mismatch(std::filesystem::canonical(path), real).in2 == real.end();
  }

 private:
  static constexpr std::size_t piece = 1 << 20;

  /// A link to a folder that it is below would be followed without end.
  [[nodiscard]] static bool leads_back(std::filesystem::directory_entry const& entry) {
    return entry.is_symlink() && is_within(entry.path().parent_path(), entry.path());
  }

  [[nodiscard]] bool goes_on() const { return !go_on_ || go_on_(copied_); }

  static void require(bool fine, std::filesystem::path const& from, int error = errno) {
    if (!fine) throw std::filesystem::filesystem_error("copy", from, std::error_code(error, std::generic_category()));
  }

  /// Pipes are neither waited for nor copied, and a file is not copied over itself, which would empty it.
  [[nodiscard]] bool file(std::filesystem::path const& from, std::filesystem::path const& to) {
    struct stat source {};
    struct stat target {};
    Descriptor const in(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    require(in && ::fstat(in.get(), &source) == 0, from);
    require(S_ISREG(source.st_mode), from, ENOTSUP);
    Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, source.st_mode & 0777));
    require(out && ::fstat(out.get(), &target) == 0, from);
    require(S_ISREG(target.st_mode), from, ENOTSUP);
    require(source.st_dev != target.st_dev || source.st_ino != target.st_ino, from, EEXIST);
    require(::ftruncate(out.get(), 0) == 0, from);
    require(::fchmod(out.get(), source.st_mode & 07777) == 0, from);
    buffer_.resize(piece);
    for (;;) {
      auto const got = ::read(in.get(), buffer_.data(), buffer_.size());
      require(got >= 0, from);
      if (got == 0) break;
      write(out, {buffer_.data(), static_cast<std::size_t>(got)}, from);
      copied_.bytes += static_cast<std::uint64_t>(got);
      if (!goes_on()) return false;
    }
    require(::close(out.release()) == 0, from);  // where a network's file system says that there was no room
    ++copied_.files;
    return true;
  }

  static void write(Descriptor const& out, std::string_view text, std::filesystem::path const& from) {
    while (!text.empty()) {
      auto const put = ::write(out.get(), text.data(), text.size());
      require(put > 0, from);
      text.remove_prefix(static_cast<std::size_t>(put));
    }
  }

  CopyWatch const& go_on_;
  Copied copied_;
  std::vector<char> buffer_;
};

}  // namespace detail

/// Copies the contents of `from` into the folder `to`, which is made and may not be within `from`; files there are
/// replaced, links followed. False when `go_on` has ended it: some files are there then, the last perhaps in part.
[[nodiscard]] inline Result<bool> copy_folder(std::filesystem::path const& from, std::filesystem::path const& to,
                                              CopyWatch const& go_on = {}) {
  try {
    std::filesystem::create_directories(to);
    if (detail::FolderCopy::is_within(to, from)) {
      return Error(Errc::config_invalid, "launcher: '", from.string(), "' cannot be copied to '", to.string(),
                   "', which is within it: give a folder elsewhere, with --workspace");
    }
    return detail::FolderCopy(go_on).folder(from, to);
  } catch (std::filesystem::filesystem_error const& error) {
    return Error(Errc::data_file, "launcher: '", error.path1().string(), "' cannot be copied to '", to.string(), "', ",
                 error.code().message(), ": give a folder with room that can be written, with --workspace");
  }
}

}  // namespace prdist
