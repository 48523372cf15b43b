// SPDX-License-Identifier: Apache-2.0
// Names for what is not complete yet, beside what it will be. Each is made anew and nobody had it before: what is
// removed under it is our own, whatever else lies in the folder.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <prdist/checkpoint/files.hpp>
#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>

namespace prdist::detail {

/// `path`.tmp-PID-N, for the first N with which `make` makes something. `make` returns whether it did, with errno.
template <class Make>
[[nodiscard]] std::string make_beside(std::string const& path, Make&& make) {
  for (unsigned n = 0;; ++n) {
    auto name = concat(path, ".tmp-", ::getpid(), '-', n);
    if (make(name.c_str())) return name;
    if (errno != EEXIST) throw_file_error(name, "cannot be made", "check that its folder exists and is writable");
  }
}

/// An empty file beside `path`. @throws Error checkpoint.file
[[nodiscard]] inline std::string make_file_beside(std::string const& path) {
  return make_beside(path, [](char const* name) {
    return static_cast<bool>(Descriptor(::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)));
  });
}

/// An empty folder beside `path`, removed with all that is in it.
class FolderBeside {
 public:
  /// @throws Error checkpoint.file
  explicit FolderBeside(std::string const& path)
      : path_(make_beside(path, [](char const* name) { return ::mkdir(name, 0777) == 0; })) {}
  FolderBeside(FolderBeside const&) = delete;
  FolderBeside& operator=(FolderBeside const&) = delete;
  ~FolderBeside() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// It has another name now and stays.
  void keep() noexcept { path_.clear(); }

 private:
  std::string path_;
};

/// A folder that gets its name when all its files are complete, as a checkpoint does.
class NewFolder {
 public:
  /// Makes the folders above it. @throws Error checkpoint.file when it exists already: files of two saves must not mix
  explicit NewFolder(std::string folder) : folder_(checked(std::move(folder))), beside_(folder_) {}

  [[nodiscard]] std::string const& path() const noexcept { return beside_.path(); }

  void finish() {
    sync_directory(path());
    publish(path(), folder_);
    beside_.keep();
  }

 private:
  static std::string checked(std::string folder) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    std::error_code failed;
    if (std::filesystem::exists(std::filesystem::symlink_status(folder, failed))) {
      throw Error(Errc::checkpoint_file, folder, ", is there already: choose another folder, or remove it first");
    }
    auto const above = std::filesystem::path(folder).parent_path();
    failed.clear();
    if (!above.empty()) std::filesystem::create_directories(above, failed);
    if (failed) throw Error(Errc::checkpoint_file, folder, ", cannot be made, ", failed.message(), ": check the path");
    return folder;
  }

  std::string folder_;
  FolderBeside beside_;
};

/// A file may take the place of a file, and of nothing else: a device or a pipe would be taken from everybody.
/// @throws Error checkpoint.file
inline void check_replaceable(std::string const& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  throw Error(Errc::checkpoint_file, path, ", is there and is no file: give the name of a file");
}

}  // namespace prdist::detail
