// SPDX-License-Identifier: Apache-2.0
// A checkpoint on its way: the folder that servers write their parts into, until one of them all, or a trainer, makes
// it a checkpoint. Going without commit() removes it.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/files.hpp>
#include <prdist/checkpoint/manifest.hpp>
#include <prdist/core/descriptor.hpp>

namespace prdist {

class PendingCheckpoint {
 public:
  /// Makes `directory`/pass-NNNNN.tmp-`tag` and all folders above. The tag keeps writers apart (a job's name, a process
  /// id); a leftover of the same name is replaced. @throws Error checkpoint.file
  PendingCheckpoint(std::string directory, std::uint64_t pass, std::string_view tag)
      : directory_(std::move(directory)),
        path_(concat(directory_, '/', pass_name(pass), detail::temporary_mark, tag)),
        pass_(pass) {
    std::error_code failed;
    // Locked by a living writer of the same tag, it must not be taken away.
    Descriptor const old(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (old && ::flock(old.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw Error(Errc::checkpoint_file, path_, ", another writer is at work in it: give each its own tag");
    }
    std::filesystem::remove_all(path_, failed);
    if (!failed) std::filesystem::create_directories(path_, failed);
    if (failed) {
      throw Error(Errc::checkpoint_file, path_, ", cannot be made, ", failed.message(),
                  ": check that the folder above exists and is writable");
    }
    lock_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock_) detail::throw_file_error(path_, "cannot be opened", "check the folder's permissions");
    // Without locks (some network file systems) leftovers are not removed either; so nothing is lost by going on.
    (void)::flock(lock_.get(), LOCK_EX | LOCK_NB);
  }

  PendingCheckpoint(PendingCheckpoint const&) = delete;
  PendingCheckpoint& operator=(PendingCheckpoint const&) = delete;
  ~PendingCheckpoint() {
    std::error_code ignored;
    if (!committed_) std::filesystem::remove_all(path_, ignored);
  }

  /// Where the parts go: PartWriter(path(), server).
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

  /// Makes it a checkpoint: looks at every part that the manifest names, writes the manifest, then `done`, waits for
  /// the disk and renames. A checkpoint of the same pass is replaced in one step. Returns what can be loaded now; the
  /// older ones are untouched (see prune()).
  /// @throws Error checkpoint.file, and as open_checkpoint() when a part is not what its server reported; then nothing
  /// has changed for readers
  Checkpoint commit(Manifest manifest) {
    manifest.pass = pass_;
    for (auto const& part : manifest.parts) {
      std::error_code failed;
      if (std::filesystem::exists(concat(path_, '/', part.name), failed)) continue;
      throw Error(Errc::checkpoint_missing, "server ", part.server, " has written ", part.name, ", and it is not in ",
                  path_, " here: save into a folder that all servers and this process share");
    }
    auto const text = to_json(manifest);
    auto const id = hex(checksum(detail::bytes_of_text(text)));
    write_text(concat(path_, "/manifest.json"), text);
    write_text(concat(path_, "/done"), detail::done_text(id));
    // Read back through the eyes of a loader: also shows whether all servers wrote into this very folder.
    auto checkpoint = open_checkpoint(path_);
    sync_directory(path_);
    checkpoint.path = concat(directory_, '/', pass_name(pass_));
    take_name(checkpoint.path);
    committed_ = true;
    lock_.reset();
    return checkpoint;
  }

 private:
  void take_name(std::string const& name) const {
    std::error_code failed;
    if (!std::filesystem::exists(name, failed)) {
      publish(path_, name);
      return;
    }
    // Both names change places at once; afterwards the old one lies under the temporary name.
    auto const exchanged = ::syscall(SYS_renameat2, AT_FDCWD, path_.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE);
    if (exchanged != 0) {
      // Not on this file system. A crash between the two steps costs this pass, never an older one.
      detail::remove_checkpoint(name);
      publish(path_, name);
      return;
    }
    sync_directory(directory_);
    std::filesystem::remove_all(path_, failed);
    if (failed) log(Level::warning, path_, ", cannot be removed, ", failed.message(), ": remove it by hand");
  }

  std::string directory_;
  std::string path_;
  std::uint64_t pass_;
  Descriptor lock_;
  bool committed_ = false;
};

}  // namespace prdist
