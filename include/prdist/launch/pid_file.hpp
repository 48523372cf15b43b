// SPDX-License-Identifier: Apache-2.0
// A file that holds the process id of a program while it runs, and that no second one takes over meanwhile.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

class PidFile {
 public:
  /// Writes this process's id; an empty path stands for no file. What a killed process left is replaced: the lock on
  /// the file went with it. @throws Error config.contradiction when a living process has the file, config.invalid when
  /// it cannot be written
  explicit PidFile(std::filesystem::path path) : path_(std::move(path)) {
    if (path_.empty()) return;
    // One that ends takes its file away: the lock counts only when the file is still the one of that name.
    do {
      file_.reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
      if (!file_) throw unwritable();
      // File systems that cannot lock answer otherwise; there nobody is kept out.
      if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) throw in_use();
    } while (!is_current());
    auto const text = concat(::getpid(), '\n');
    if (::ftruncate(file_.get(), 0) != 0 ||
        ::write(file_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      throw unwritable();
    }
  }
  PidFile(PidFile const&) = delete;
  PidFile& operator=(PidFile const&) = delete;
  ~PidFile() {
    std::error_code ignored;
    if (file_ && is_current()) std::filesystem::remove(path_, ignored);
  }

 private:
  [[nodiscard]] bool is_current() const noexcept {
    struct stat own {
    }, there{};
    return ::fstat(file_.get(), &own) == 0 && ::stat(path_.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
  }

  [[nodiscard]] Error unwritable() const {
    return {Errc::config_invalid, "--pid_file '", path_.string(),
            "' cannot be written: name a file in a folder that is there"};
  }

  [[nodiscard]] Error in_use() const {
    long pid = 0;
    std::ifstream(path_) >> pid;
    return {Errc::config_contradiction,
            "--pid_file '",
            path_.string(),
            "' is held by process ",
            pid,
            ", which runs: end it first, or name another file"};
  }

  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace prdist
