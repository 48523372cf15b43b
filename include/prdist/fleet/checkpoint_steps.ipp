// SPDX-License-Identifier: Apache-2.0
// What every kind of checkpoint is made of, as a worker sees it. For checkpointer.ipp and elastic_checkpoints.ipp.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
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
#include <prdist/core/text.hpp>
#include <prdist/fleet/dispatched_files.hpp>
#include <prdist/table/spec_json.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist::detail {

[[nodiscard]] inline std::string utc_now() {
  auto const now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Takes a lock on a file of `directory`, or on that itself: LOCK_EX or LOCK_SH. @throws Error checkpoint.file
inline void hold(Descriptor const& file, std::string const& directory, int how) {
  // File systems without locks say something else than EWOULDBLOCK, and are taken as they are.
  if (file && ::flock(file.get(), how | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(Errc::checkpoint_file, directory, ", another job is saving there: give each its own folder");
  }
}

/// Makes it if need be. @throws Error checkpoint.file
inline void make_writable(std::string const& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed || ::access(directory.c_str(), W_OK) != 0) {
    throw Error(Errc::checkpoint_file, directory, ", cannot be written, ",
                failed ? failed.message() : std::generic_category().message(errno), ": give a folder that can");
  }
}

/// Makes it if need be, and holds it against other jobs as long as the descriptor lives: alone, or with LOCK_SH
/// together with the other workers of this job. @throws Error checkpoint.file
[[nodiscard]] inline Descriptor lock_directory(std::string const& directory, int how = LOCK_EX) {
  make_writable(directory);
  Descriptor lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  hold(lock, directory, how);
  return lock;
}

/// @throws Error checkpoint.file
[[nodiscard]] inline std::uint64_t next_pass(std::string const& directory) {
  auto const passes = passes_in(directory);
  if (passes.empty()) return 0;
  if (passes.back() == ~std::uint64_t{0}) {
    throw Error(Errc::checkpoint_file, directory, ", holds ", pass_name(passes.back()),
                ", behind which there is no number: rename it, or give another folder");
  }
  return passes.back() + 1;
}

/// Only one save or load of the job goes on at a time, whichever worker asks and whatever for: servers do one thing,
/// and two that name the next pass would name the same. The others wait.
class WritingDuty {
 public:
  explicit WritingDuty(Client& client) : client_(client) {
    // Among the threads of this worker first: to the servers they are one.
    while (!client_.begin_work()) {
      Gate never;
      (void)client_.runtime().wait(never, client_.runtime().now() + DispatchedFiles::ask_again);
    }
    try {
      (void)wait_for_duty(client_, name);
    } catch (...) {
      client_.end_work();
      throw;
    }
  }
  WritingDuty(WritingDuty const&) = delete;
  WritingDuty& operator=(WritingDuty const&) = delete;
  ~WritingDuty() {
    try {
      client_.return_duty(name);
    } catch (Error const& error) {
      log(Level::warning, error.what());
    }
    client_.end_work();
  }

 private:
  static constexpr std::string_view name = "writing a checkpoint";
  Client& client_;
};

/// Words as a text, and back.
[[nodiscard]] inline std::string joined(std::set<std::string> const& words) {
  std::string text;
  for (auto const& each : words) text += concat(text.empty() ? "" : " ", each);
  return text;
}
[[nodiscard]] inline std::set<std::string> words_in(std::string_view text) {
  std::set<std::string> words;
  while (!text.empty()) {
    auto const end = std::min(text.find(' '), text.size());
    words.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// Rows go into tables that this job has declared: without any, nothing at all would be loaded or saved, and training
/// would go on from its first weights. @throws Error job.state
inline void check_declared(Client const& client) {
  if (!client.declared().empty()) return;
  throw Error(Errc::job_state,
              "there is no table yet that a checkpoint could be of: call optimizer.prepare(model), or declare tables, "
              "before");
}

/// How many of a checkpoint's tables a job has to have: one that is resumed goes on with all of them.
enum class Tables { all, some };

/// @throws Error table.mismatch when the job has too few of them
inline void check_tables(Client const& client, Checkpoint const& checkpoint, Tables needed) {
  std::set<std::string> own;
  for (auto const& spec : client.declared()) own.insert(name_of(spec));
  std::string missing;
  std::size_t count = 0;
  for (auto const& table : checkpoint.manifest.tables) {
    auto const& name = name_of(table.spec);
    if (own.contains(name)) continue;
    missing += concat(missing.empty() ? "'" : ", '", name, "'");
    ++count;
  }
  if (count == 0) return;
  if (needed == Tables::all || count == checkpoint.manifest.tables.size()) {
    throw Error(Errc::table_mismatch, checkpoint.path, " has ", count == 1 ? "table " : "tables ", missing,
                ", which this program does not declare: ",
                needed == Tables::all ? "resume it with the model that it was saved with, or load the tables that both "
                                        "have with Fleet::load()"
                                      : "load what was saved with a model of the same table names");
  }
  log(Level::warning, checkpoint.path, " has ", count == 1 ? "table " : "tables ", missing,
      ", which this program does not declare: left out");
}

/// @throws Error job.state as check_declared()
[[nodiscard]] inline Manifest manifest_of(Client const& client, std::string_view strategy) {
  check_declared(client);
  Manifest manifest;
  manifest.created = utc_now();
  manifest.strategy = strategy;
  manifest.servers = static_cast<std::uint32_t>(client.options().servers.size());
  for (auto const& spec : client.declared()) manifest.tables.push_back({.spec = spec});
  return manifest;
}

/// The checkpoint that the next one of changed rows builds on. It is what the servers call the cut they have kept, and
/// known nowhere else: whichever worker writes, a checkpoint names as its base what its rows have changed since.
struct KeptCut {
  CheckpointBase base{};
  std::uint64_t links = 1;  ///< of its chain, the full one included

  [[nodiscard]] std::string name() const { return concat(base.pass, ' ', base.id, ' ', links); }
};

/// Nothing when there is none, the servers do not agree on it, or it cannot be loaded from `directory` any more: what
/// would be built on it could not be either. That is told in a line of the log.
[[nodiscard]] inline std::optional<KeptCut> kept_cut(Client& client, std::string const& directory) {
  auto const name = client.kept_cut();
  auto const first = name.find(' '), last = name.rfind(' ');
  KeptCut kept;
  if (first == last || !parse_number(std::string_view(name).substr(0, first), kept.base.pass) ||
      !parse_number(std::string_view(name).substr(last + 1), kept.links)) {
    return std::nullopt;
  }
  kept.base.id = name.substr(first + 1, last - first - 1);
  auto const path = concat(directory, '/', pass_name(kept.base.pass));
  try {
    // All of its chain, as somebody may have removed an older one. The indexes of parts are read for it, and no rows.
    if (chain_of(open_checkpoint(path)).back().id == kept.base.id) return kept;
    log(Level::info, "the next checkpoint holds all rows: ", path, " is not the one that the servers kept");
  } catch (Error const& error) {
    log(Level::warning, "the next checkpoint holds all rows: ", error.what());
  }
  return std::nullopt;
}

/// Marks the moment on all servers, which write it to `folder` in the background: all rows, or those changed since the
/// cut called `since`; others may build on it when it is `to_be_kept`. @throws Error
inline void cut(Client& client, std::string_view folder, std::string_view since = {}, bool to_be_kept = false) {
  try {
    client.cut(folder, since, to_be_kept);
  } catch (Error const&) {
    // Servers that have begun end first, so that the next one finds them ready; what they write goes with the folder.
    try {
      (void)client.wait_for_work();
    } catch (Error const&) {
    }
    throw;
  }
}

/// The same for all rows; returns what the checkpoint will say of itself. @throws Error
[[nodiscard]] inline Manifest cut_all(Client& client, PendingCheckpoint const& pending, std::string_view strategy) {
  auto manifest = manifest_of(client, strategy);
  cut(client, pending.path());
  return manifest;
}

/// As prune(), but only logs: the new checkpoint is complete whatever becomes of the old ones.
inline void prune_quietly(std::string const& directory, std::size_t keep, std::set<std::string> const& damaged) {
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

/// Weights alone, as save_persistables() leaves them, beside an older checkpoint that knows where the workers stood: a
/// job that went on from the first would train on all of its data again.
[[nodiscard]] inline bool knows_less_than_an_older_one(Checkpoint const& checkpoint, std::string const& directory) {
  if (!checkpoint.manifest.trainers.empty()) return false;
  auto older = latest(directory, checkpoint.manifest.pass);
  while (older && older->manifest.trainers.empty()) older = latest(directory, older->manifest.pass);
  if (older) {
    log(Level::warning, checkpoint.path,
        " holds weights alone, of a save that no worker stood for: it is passed over for ",
        pass_name(older->manifest.pass), ", which knows where the workers were in their data; Fleet::load() takes it");
  }
  return older.has_value();
}

/// Which checkpoints a job goes on from.
enum class Resumable { any, with_places };

/// Loads the newest checkpoint in `directory` of which every block is sound, after `check` has not refused it: damage
/// inside a block shows only when it is read, there or by `check`, and its id goes into `damaged`. Nothing when none is
/// left.
template <class Check>
[[nodiscard]] std::optional<Checkpoint> load_latest(Client& client, std::string const& directory, Resumable which,
                                                    Check&& check, std::set<std::string>& damaged) {
  auto below = ~std::uint64_t{0};
  while (auto newest = latest(directory, below)) {
    if (which == Resumable::with_places && knows_less_than_an_older_one(*newest, directory)) {
      below = newest->manifest.pass;
      continue;
    }
    try {
      check(*newest);
      load(client, *newest);
      return newest;
    } catch (Error const& error) {
      if (error.code() != Errc::checkpoint_damaged) throw;
      log(Level::error, "checkpoint ", pass_name(newest->manifest.pass), " is passed over: ", error.what());
      below = newest->manifest.pass;
      damaged.insert(newest->id);
    }
  }
  return std::nullopt;
}

/// Waits for every server's part and puts all of them together, without a word.
[[nodiscard]] inline Checkpoint gather_parts(Client& client, PendingCheckpoint& pending, Manifest manifest) {
  std::uint32_t server = 0;
  for (auto const& part : client.wait_for_work()) {
    add_part(manifest, part_from_json(part, concat("server ", server++)));
  }
  return pending.commit(std::move(manifest));
}

[[nodiscard]] inline std::uint64_t rows_in(Manifest const& manifest) {
  std::uint64_t rows = 0;
  for (auto const& table : manifest.tables) rows += table.rows;
  return rows;
}

/// Waits for every server's part and makes the checkpoint complete. The next one may build on it when `links` says how
/// long its chain is.
[[nodiscard]] inline Checkpoint complete(Client& client, PendingCheckpoint& pending, Manifest manifest,
                                         std::optional<std::uint64_t> links = {}) {
  auto checkpoint = gather_parts(client, pending, std::move(manifest));
  if (links) {
    try {
      client.keep_cut(pending.path(), KeptCut{{checkpoint.manifest.pass, checkpoint.id}, *links}.name());
    } catch (Error const& error) {
      // It is complete all the same, and the next one builds on what all servers have kept, or on nothing.
      log(Level::warning, checkpoint.path, " is complete, and no other will build on it: ", error.what());
    }
  }
  std::uint64_t bytes = 0;
  for (auto const* const part : checkpoint.manifest.files()) bytes += part->bytes;
  log(Level::info, "checkpoint ", checkpoint.path, ": step ", checkpoint.manifest.step, ", ",
      rows_in(checkpoint.manifest), " rows, ", bytes, " bytes",
      checkpoint.manifest.base ? concat(", changes since ", pass_name(checkpoint.manifest.base->pass)) : "");
  return checkpoint;
}

}  // namespace prdist::detail
