// SPDX-License-Identifier: Apache-2.0
// What every kind of checkpoint is made of, as a worker sees it. For checkpointer.ipp and elastic_checkpoints.ipp.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/core/descriptor.hpp>
#include <prdist/core/log.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist::detail {

[[nodiscard]] inline std::string utc_now() {
  auto const now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Makes it if need be, and holds it against other jobs as long as the descriptor lives.
[[nodiscard]] inline Descriptor lock_directory(std::string const& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed || ::access(directory.c_str(), W_OK) != 0) {
    throw Error(Errc::checkpoint_file, directory, ", cannot be written, ",
                failed ? failed.message() : std::generic_category().message(errno), ": give a folder that can");
  }
  Descriptor lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // File systems without locks say something else than EWOULDBLOCK, and are taken as they are.
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(Errc::checkpoint_file, directory, ", another job is saving there: give each its own folder");
  }
  return lock;
}

[[nodiscard]] inline std::uint64_t next_pass(std::string const& directory) {
  auto const passes = passes_in(directory);
  return passes.empty() ? 0 : passes.back() + 1;
}

[[nodiscard]] inline Manifest manifest_of(Client const& client, std::string_view strategy) {
  Manifest manifest;
  manifest.created = utc_now();
  manifest.strategy = strategy;
  manifest.servers = static_cast<std::uint32_t>(client.options().servers.size());
  for (auto const& spec : client.declared()) manifest.tables.push_back({.spec = spec});
  return manifest;
}

/// Marks the moment on all servers, which write it to `folder` in the background. @throws Error
inline void cut(Client& client, std::string_view folder, bool changed_only) {
  try {
    client.cut(folder, changed_only);
  } catch (Error const&) {
    // Servers that have begun end first, so that the next one finds them ready; what they write goes with the folder.
    try {
      (void)client.wait_for_work();
    } catch (Error const&) {
    }
    throw;
  }
}

/// As prune(), but only logs: the new checkpoint is complete whatever becomes of the old ones.
inline void prune_quietly(std::string const& directory, std::size_t keep, std::set<std::uint64_t> const& damaged) {
  try {
    prune(directory, keep, damaged);
  } catch (Error const& error) {
    log(Level::warning, "older checkpoints could not be removed: ", error.what());
  }
}

inline void load(Client& client, Checkpoint const& checkpoint) {
  client.load(checkpoint.path);
  (void)client.wait_for_work();
}

/// Loads the newest checkpoint in `directory` of which every block is sound, after `check` has not refused it: damage
/// inside a block shows only when it is read, and goes into `damaged`. Nothing when none is left.
template <class Check>
[[nodiscard]] std::optional<Checkpoint> load_latest(Client& client, std::string const& directory, Check&& check,
                                                    std::set<std::uint64_t>& damaged) {
  auto below = ~std::uint64_t{0};
  while (auto newest = latest(directory, below)) {
    check(newest->manifest);
    try {
      load(client, *newest);
      return newest;
    } catch (Error const& error) {
      if (error.code() != Errc::checkpoint_damaged) throw;
      log(Level::error, "checkpoint ", pass_name(newest->manifest.pass), " is passed over: ", error.what());
      below = newest->manifest.pass;
      damaged.insert(below);
    }
  }
  return std::nullopt;
}

/// Waits for every server's part and makes the checkpoint complete.
[[nodiscard]] inline Checkpoint complete(Client& client, PendingCheckpoint& pending, Manifest manifest, bool keep) {
  std::uint32_t server = 0;
  for (auto const& part : client.wait_for_work()) {
    add_part(manifest, part_from_json(part, concat("server ", server++)));
  }
  auto checkpoint = pending.commit(std::move(manifest));
  if (keep) client.keep_cut();
  std::uint64_t rows = 0, bytes = 0;
  for (auto const& table : checkpoint.manifest.tables) rows += table.rows;
  for (auto const& part : checkpoint.manifest.parts) bytes += part.bytes;
  log(Level::info, "checkpoint ", checkpoint.path, ": step ", checkpoint.manifest.step, ", ", rows, " rows, ", bytes,
      " bytes", checkpoint.manifest.base ? concat(", changes since ", pass_name(checkpoint.manifest.base->pass)) : "");
  return checkpoint;
}

}  // namespace prdist::detail
