// SPDX-License-Identifier: Apache-2.0
// Definitions of fleet/elastic_checkpoints.hpp.
#pragma once

#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <set>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/core/log.hpp>
#include <prdist/fleet/checkpoint_steps.ipp>
#include <prdist/fleet/dispatched_files.hpp>
#include <prdist/fleet/elastic_checkpoints.hpp>

namespace prdist {

namespace detail {

/// On its way to the disk. (Not in the header: <future> is a large one.)
struct ElasticWriting {
  std::future<void> done;
};

/// Only one worker writes at a time: the last checkpoint may come while another is on its way.
class WritingDuty {
 public:
  explicit WritingDuty(Client& client) : client_(client) { (void)wait_for_duty(client_, name); }
  WritingDuty(WritingDuty const&) = delete;
  WritingDuty& operator=(WritingDuty const&) = delete;
  ~WritingDuty() {
    try {
      client_.return_duty(name);
    } catch (Error const& error) {
      log(Level::warning, error.what());
    }
  }

 private:
  static constexpr std::string_view name = "writing a checkpoint";
  Client& client_;
};

/// Nobody has to stand still for it: a file that is done by the time of asking is in the cut, whatever comes behind it.
inline void write_elastic(Client& client, CheckpointOptions const& options, std::string_view strategy,
                          std::uint64_t step, std::set<std::uint64_t> const& damaged) {
  WritingDuty const duty(client);
  // Only meanwhile: the next one may be another worker's to write.
  auto const lock = lock_directory(options.directory);
  auto manifest = manifest_of(client, strategy);
  manifest.step = step;
  // First: a file that is done by now is in the cut with all that was learned from it.
  manifest.trainers.push_back({.program = to_json(client.file_state())});
  PendingCheckpoint pending(options.directory, next_pass(options.directory), concat(::getpid()));
  cut(client, pending.path(), false);
  (void)complete(client, pending, std::move(manifest), false);
  prune_quietly(options.directory, options.keep, damaged);
}

}  // namespace detail

PRDIST_DECL ElasticCheckpoints::ElasticCheckpoints(Client& client, CheckpointOptions options, std::string_view strategy)
    : client_(client), options_(std::move(options)), strategy_(strategy) {
  if (options_.full_every != 1) {
    throw Error(Errc::config_contradiction, "checkpoints of an elastic job hold all rows, and full_every is ",
                options_.full_every, ": leave it at 1");
  }
}

PRDIST_DECL void ElasticCheckpoints::begin(bool resume) {
  // A failure is everybody's: the others would find the same.
  std::optional<Error> failed;
  auto const text = once(client_, "begin", [&] {
    try {
      auto const passes = passes_in(options_.directory);
      // Another job's checkpoints would be counted, and removed, as if they were this one's.
      if (!resume && !passes.empty()) {
        throw Error(Errc::config_contradiction, options_.directory, " holds checkpoints up to ",
                    pass_name(passes.back()), ": resume from them, or give another folder");
      }
      return resume ? load_newest() : std::string("0");
    } catch (Error const& error) {
      failed = error;
      return concat("failed\n", error.message());
    }
  });
  if (failed) throw *failed;
  if (text.starts_with("failed\n")) {
    throw Error(Errc::checkpoint_file, "another worker could not begin: ", text.substr(text.find('\n') + 1));
  }
  (void)parse_number(text, step_);
  saved_at_ = step_;
}

PRDIST_DECL std::string ElasticCheckpoints::load_newest() {
  auto const lock = detail::lock_directory(options_.directory);
  remove_leftovers(options_.directory);
  std::optional<FileState> files;
  auto const check = [&](Manifest const& manifest) {
    auto const path = concat(options_.directory, '/', pass_name(manifest.pass));
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
  auto const newest = detail::load_latest(client_, options_.directory, check, damaged_);
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
  auto const write = [&client = client_, options = options_, strategy = strategy_, step = step_, damaged = damaged_] {
    try {
      detail::write_elastic(client, options, strategy, step, damaged);
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
  detail::write_elastic(client_, options_, strategy_, step_, damaged_);
}

}  // namespace prdist
