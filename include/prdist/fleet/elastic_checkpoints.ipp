// SPDX-License-Identifier: Apache-2.0
// Definitions of fleet/elastic_checkpoints.hpp.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <set>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/core/escaped.hpp>
#include <prdist/core/log.hpp>
#include <prdist/fleet/checkpoint_steps.ipp>
#include <prdist/fleet/dispatched_files.hpp>
#include <prdist/fleet/elastic_checkpoints.hpp>
#include <prdist/fleet/shared_failure.hpp>

namespace prdist {

namespace detail {

/// On its way to the disk. (Not in the header: <future> is a large one.)
struct ElasticWriting {
  std::future<void> done;
};

// Whose a folder is. All workers of a job share a lock on it from begin() on, which keeps other jobs from beginning
// there. That is not enough where the file system has no locks, or when all workers were gone for a while: so the
// folder also names its job, in a text that all its workers know.

[[nodiscard]] inline std::string owner_file(std::string const& directory) {
  return concat(directory, "/owner");
}

/// A text that no other job has.
[[nodiscard]] inline std::string new_owner() {
  std::uint64_t number = 0;
  // It does not fail for so few bytes; if it did, time and process would tell jobs apart.
  [[maybe_unused]] auto const bytes = ::getrandom(&number, sizeof number, 0);
  return concat("an elastic job, begun ", utc_now(), " by process ", ::getpid(), ", ", hex(number));
}

inline void name_owner(std::string const& directory, std::string_view owner) {
  write_text(owner_file(directory), concat(owner, '\n'));
}

/// @throws Error checkpoint.file when it is another's by now
inline void check_owner(std::string const& directory, std::string_view owner) {
  auto named = read_text(owner_file(directory));
  if (named.ends_with('\n')) named.pop_back();
  if (named.empty()) return name_owner(directory, owner);  // somebody has emptied the folder, or the disk was full
  if (named == owner) return;
  throw Error(Errc::checkpoint_file, directory, ", another job has taken it over, says ", owner_file(directory), ", '",
              escaped(named), "': give each its own folder");
}

/// For one writer at a time: one that counts as lost may live, and write. @throws Error as check_owner()
[[nodiscard]] inline Descriptor lock_for_writing(std::string const& directory, std::string_view owner) {
  make_writable(directory);
  Descriptor lock(::open(owner_file(directory).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  hold(lock, directory, LOCK_EX);
  check_owner(directory, owner);
  return lock;
}

/// Nobody has to stand still for it: a file that is done by the time of asking is in the cut, whatever comes behind it.
inline void write_elastic(Client& client, CheckpointOptions const& options, std::string_view strategy,
                          std::string_view owner, std::uint64_t step, std::set<std::string> const& damaged) {
  WritingDuty const duty(client);
  // Only meanwhile: the next one may be another worker's to write.
  auto const lock = lock_for_writing(options.directory, owner);
  auto manifest = manifest_of(client, strategy);
  manifest.step = step;
  // First: a file that is done by now is in the cut with all that was learned from it.
  manifest.trainers.push_back({.program = to_json(client.file_state())});
  PendingCheckpoint pending(options.directory, next_pass(options.directory), concat(::getpid()));
  cut(client, pending.path());
  (void)complete(client, pending, std::move(manifest));
  try {
    check_owner(options.directory, owner);  // writing may have taken long
    prune_quietly(options.directory, options.keep, damaged);
  } catch (Error const& error) {
    log(Level::warning, "older checkpoints stay: ", error.what());
  }
}

}  // namespace detail

PRDIST_DECL ElasticCheckpoints::ElasticCheckpoints(Client& client, CheckpointOptions options, std::string_view strategy)
    : client_(client), options_(std::move(options)), strategy_(strategy) {
  if (options_.full_every != 1) {
    throw Error(Errc::config_contradiction, "checkpoints of an elastic job hold all rows, and full_every is ",
                options_.full_every, ": leave it at 1");
  }
  options_.check();
}

PRDIST_DECL void ElasticCheckpoints::begin(bool resume) {
  // A failure is everybody's: the others would find the same.
  std::optional<Error> failed;
  auto const text = once(client_, "begin", [&] {
    try {
      auto lock = detail::lock_directory(options_.directory);
      remove_leftovers(options_.directory);
      auto const passes = passes_in(options_.directory);
      // Another job's checkpoints would be counted, and removed, as if they were this one's.
      if (!resume && !passes.empty()) {
        throw Error(Errc::config_contradiction, options_.directory, " holds checkpoints up to ",
                    pass_name(passes.back()), ": resume from them, or give another folder");
      }
      auto const step = resume ? load_newest() : std::string("0");
      owner_ = detail::new_owner();
      detail::name_owner(options_.directory, owner_);
      detail::hold(lock, options_.directory, LOCK_SH);
      hold_ = std::move(lock);
      return concat(step, '\n', owner_, '\n', detail::joined(damaged_));
    } catch (Error const& error) {
      failed = error;
      return detail::failure_text(error);
    }
  });
  if (failed) throw *failed;
  detail::throw_failure_in(text, "another worker could not begin");
  std::string_view rest(text);
  auto const next_line = [&] {
    auto const line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    return line;
  };
  (void)parse_number(next_line(), step_);
  owner_ = next_line();
  damaged_ = detail::words_in(next_line());
  if (!hold_) hold_ = detail::lock_directory(options_.directory, LOCK_SH);
  saved_at_ = step_;
}

PRDIST_DECL std::string ElasticCheckpoints::load_newest() {
  std::optional<FileState> files;
  detail::check_declared(client_);
  auto const check = [&](Checkpoint const& checkpoint) {
    detail::check_tables(client_, checkpoint, detail::Tables::all);
    auto const& [path, id, manifest] = checkpoint;
    files.reset();
    try {
      if (manifest.trainers.size() == 1) files = file_state_from_json(manifest.trainers[0].program, path);
    } catch (Error const&) {
    }
    if (manifest.trainers.empty() || files) return;
    throw Error(Errc::config_contradiction, path, " was saved by a job that is not elastic, whose ",
                manifest.trainers.size(),
                " workers each have a place in their own files: resume it as it was, or load its "
                "weights alone with Fleet::load()");
  };
  detail::WritingDuty const duty(client_);
  auto const newest = detail::load_latest(client_, options_.directory, detail::Resumable::with_places, check, damaged_);
  if (!newest) {
    if (!passes_in(options_.directory).empty()) {
      throw Error(Errc::checkpoint_missing, options_.directory,
                  ", has checkpoints and none of them can be loaded, as said above: restore one, or train anew in "
                  "another folder");
    }
    log(Level::info, options_.directory, " has no checkpoint: training begins anew");
    return "0";
  }
  if (files) client_.restore_files(*files);
  log(Level::info, "resumed from ", newest->path, ", step ", newest->manifest.step);
  return concat(newest->manifest.step);
}

PRDIST_DECL void ElasticCheckpoints::save() {
  saved_at_ = step_;
  if (client_.ask_duty("checkpoints").what != DutyAnswer::What::yours) return;
  wait();
  auto const write = [&client = client_, options = options_, strategy = strategy_, owner = owner_, step = step_,
                      damaged = damaged_] {
    try {
      detail::write_elastic(client, options, strategy, owner, step, damaged);
    } catch (std::exception const& error) {
      log(Level::error, "a checkpoint was not written, the ones before are as they were: ", error.what());
    }
  };
  writing_ = std::make_shared<detail::ElasticWriting>(detail::ElasticWriting{std::async(std::launch::async, write)});
}

PRDIST_DECL bool ElasticCheckpoints::writing() const {
  return writing_ && writing_->done.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

PRDIST_DECL void ElasticCheckpoints::wait() {
  if (auto const writing = std::exchange(writing_, nullptr)) writing->done.wait();
}

PRDIST_DECL bool ElasticCheckpoints::job_ends() {
  auto& runtime = client_.runtime();
  for (auto const until = runtime.now() + std::chrono::seconds(1);;) {
    if (client_.cut_wish().server_ends()) return true;
    if (runtime.now() >= until) return false;
    Gate never;
    (void)runtime.wait(never, runtime.now() + DispatchedFiles::ask_again);
    (void)client_.file_state();  // every answer would tell
  }
}

PRDIST_DECL void ElasticCheckpoints::save_last() {
  wait();
  detail::write_elastic(client_, options_, strategy_, owner_, step_, damaged_);
}

}  // namespace prdist
