// SPDX-License-Identifier: Apache-2.0
// The files of workers' copies: each worker writes its own before all meet, and whoever writes the checkpoint takes
// them in. For checkpointer.ipp.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/part_reader.hpp>
#include <prdist/checkpoint/part_writer.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/fleet/own_copy.hpp>

namespace prdist::detail {

/// What a worker has brought to a meeting: its word and step in the first line, the folder with its copy in the second.
struct Brought {
  explicit Brought(std::string_view text) {
    auto const line = next_line(text);
    (void)parse_number(line.substr(line.find(' ') + 1), step);
    folder = next_line(text);
    rest = text;
  }

  std::uint64_t step = 0;
  std::string_view folder{};
  std::string_view rest{};  ///< where it stands, as JSON; or why its copy could not be written

 private:
  static std::string_view next_line(std::string_view& text) {
    auto const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
  }
};

/// A worker's copy in a folder of its own, beside the checkpoints, before there is a checkpoint to put it into. It goes
/// with this, unless somebody has taken it in.
struct WrittenCopy {
  std::unique_ptr<PendingCheckpoint> folder{};
  std::optional<PartSummary> part{};
  std::optional<Error> failed{};  ///< for all to hear: nobody is to go on with a part of them
};

[[nodiscard]] inline WrittenCopy write_copy(OwnCopy const& own, std::string const& directory, std::uint32_t worker) {
  WrittenCopy copy;
  if (!own.save) return copy;
  try {
    copy.folder = std::make_unique<PendingCheckpoint>(directory, 0, concat("copy-", worker, '-', ::getpid()));
    PartWriter writer(copy.folder->path(), worker, copy_name(worker));
    own.save(writer);
    copy.part = writer.close();
  } catch (Error const& error) {
    copy.failed = error;
  }
  return copy;
}

/// Moves `file` into the folder of a checkpoint, which syncs it with the rest. @throws Error checkpoint.file
inline void take_in(std::string const& folder, std::string const& file) {
  auto const to = concat(folder, '/', last_name(file));
  if (std::rename(file.c_str(), to.c_str()) == 0) return;
  throw_file_error(to, concat("cannot be made from ", file), "save into a folder that all workers share");
}

/// Reads every block of them. @throws Error checkpoint.damaged whatever is the matter: an older one may be whole
inline void verify_copies(Checkpoint const& checkpoint) {
  try {
    for (auto const& trainer : checkpoint.manifest.trainers) {
      if (trainer.copy) verify(checkpoint, *trainer.copy);
    }
  } catch (Error const& error) {
    throw Error(Errc::checkpoint_damaged, error.message());
  }
}

/// Goes on with the copies in `path` that are the worker's, one of `workers`. @throws Error as GeoCopy::load()
inline void load_copies(OwnCopy const& own, std::string const& path, std::uint32_t worker, std::uint32_t workers) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) {
    throw Error(Errc::checkpoint_missing, "worker ", worker, " does not see ", path,
                ", which worker 0 has read: resume from a folder that all workers share");
  }
  auto const checkpoint = read_manifest(path);
  auto const& trainers = checkpoint.manifest.trainers;
  std::uint64_t loaded = 0;
  for (auto const& trainer : trainers) {
    if (!trainer.copy || !takes_over(worker, trainer.index, trainers.size(), workers)) continue;
    auto const reader = checkpoint.read(*trainer.copy);
    own.load(reader);
    loaded += reader.rows();
  }
  if (loaded > 0) return;
  log(Level::warning, "worker ", worker, ": ", path,
      " does not hold what its optimizer knew: the weights go on, and the optimizer begins anew");
}

}  // namespace prdist::detail
