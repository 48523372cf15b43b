// SPDX-License-Identifier: Apache-2.0
// Definitions of fleet/checkpointer.hpp.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <vector>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/stop_signal.hpp>
#include <prdist/core/text.hpp>
#include <prdist/fleet/checkpoint_steps.ipp>
#include <prdist/fleet/checkpointer.hpp>
#include <prdist/fleet/deal_out.ipp>
#include <prdist/fleet/dispatched_files.hpp>
#include <prdist/fleet/own_copy.ipp>
#include <prdist/fleet/saves_alone.ipp>
#include <prdist/fleet/shared_failure.hpp>

namespace prdist {

namespace detail {

/// On its way to the disk. (Not in the header: <future> is a large one.)
struct CheckpointWriting {
  std::future<void> done;
};

// What a worker brings to the meeting begins with one of these and its step, in a line. One that has finished is
// remembered, and does no work. Some may have heard of the wish before a stop was added to it: when one of them wants
// it, all stop.
inline constexpr std::string_view training_word = "training ", stopping_word = "stopping ", finished_word = "finished ";

/// Bytes of files' names that the workers of a job may bring to a meeting, all together: far below what a message
/// holds, as they come back with other things around them.
inline constexpr std::size_t most_names = std::size_t{8} << 20;

// What worker 0 tells of a resume begins with one of these, in a line.
inline constexpr std::string_view with_copies = "manifest\n", weights_alone = "manifest, weights alone\n";

inline constexpr std::string_view last_not_written = "the last checkpoint was not written";

}  // namespace detail

PRDIST_DECL void CheckpointOptions::check() const {
  if (keep > 0) return;
  throw Error(Errc::config_invalid,
              "checkpoints of which 0 are to be kept would go as soon as they are written: set keep to 1 or more");
}

PRDIST_DECL Checkpointer::Checkpointer(Client& client, CheckpointOptions options, std::string_view strategy,
                                       bool in_step, std::function<void()> settle, OwnCopy copy,
                                       std::function<bool()> keep_up)
    : client_(client),
      options_(std::move(options)),
      strategy_(strategy),
      in_step_(in_step),
      settle_(std::move(settle)),
      copy_(std::move(copy)),
      keep_up_(std::move(keep_up)) {
  options_.check();
  if (client_.options().elastic) {
    throw Error(Errc::job_state, "a Checkpointer, whose workers all meet, in an elastic job: use ElasticCheckpoints");
  }
  if (client_.options().trainer != 0) return;
  lock_ = detail::lock_directory(options_.directory);
  remove_leftovers(options_.directory);
}

PRDIST_DECL Checkpointer::~Checkpointer() {
  wait_quietly();
}

PRDIST_DECL std::optional<WorkerState> Checkpointer::resume() {
  detail::check_declared(client_);
  resumed_ = true;
  // Worker 0 looks and lets the servers load; the others hear what came of it. A failure is everybody's.
  std::string text = "none\n";
  std::optional<Error> failed;
  if (client_.options().trainer == 0) {
    try {
      detail::WritingDuty const duty(client_);
      std::vector<Manifest::Trainer> workers;
      bool copies = static_cast<bool>(copy_.load);
      auto const check = [&](Checkpoint const& checkpoint) {
        detail::check_tables(client_, checkpoint, detail::Tables::all);
        workers = detail::deal_out(checkpoint.manifest, client_.options().trainers, options_.directory);
        // By one for all: those who find out later could not choose another any more.
        if (copies) detail::verify_copies(checkpoint);
      };
      auto newest = detail::load_latest(client_, options_.directory, detail::Resumable::with_places, check, damaged_);
      if (!newest && std::exchange(copies, false)) {
        // Weights without what the optimizers knew are better than nothing.
        std::set<std::string> damaged;
        newest = detail::load_latest(client_, options_.directory, detail::Resumable::with_places, check, damaged);
        if (newest) damaged_.erase(newest->id);
      }
      if (newest) {
        auto const before = newest->manifest.trainers.size();
        newest->manifest.trainers = std::move(workers);
        text = concat(copies ? detail::with_copies : detail::weights_alone, detail::joined(damaged_), '\n',
                      to_json(newest->manifest));
        log(Level::info, "resumed from ", newest->path, ", step ", newest->manifest.step,
            before == 0 ? ", which holds weights alone: all data from its beginning"
            : before == newest->manifest.trainers.size()
                ? std::string()
                : concat(": what ", before, " workers had left of the data is dealt out to ",
                         client_.options().trainers));
      } else if (!passes_in(options_.directory).empty()) {
        throw Error(Errc::checkpoint_missing, options_.directory,
                    ", has checkpoints and none of them can be loaded, as said above: restore one, or train anew in "
                    "another folder");
      } else {
        log(Level::info, options_.directory, " has no checkpoint: training begins anew");
      }
    } catch (Error const& error) {
      failed = error;
      text = detail::failure_text(error);
    }
  }
  auto const texts = client_.meet("resume", text);
  if (failed) throw *failed;
  auto const found = texts.find(0);
  if (found == texts.end() || found->second == "none\n") return std::nullopt;
  detail::throw_failure_in(found->second, "worker 0 could not resume");
  auto const news = std::string_view(found->second).substr(found->second.find('\n') + 1);
  // Any worker may come to write, and prune.
  auto const line = news.find('\n');
  damaged_ = detail::words_in(news.substr(0, line));
  auto const manifest = manifest_from_json(news.substr(line + 1), "the manifest that worker 0 has read");
  step_ = met_at_ = manifest.step;
  if (copy_.load && !found->second.starts_with(detail::with_copies)) {
    log(Level::error, "no checkpoint has all of its workers' copies, see above: the weights go on from ",
        pass_name(manifest.pass), ", and the optimizer begins anew");
  } else if (copy_.load) {
    detail::load_copies(copy_, concat(options_.directory, '/', pass_name(manifest.pass)), client_.options().trainer,
                        client_.options().trainers);
  }
  // Weights alone, from a save that no worker stood for: all data from the beginning.
  if (manifest.trainers.empty()) return std::nullopt;
  for (auto const& trainer : manifest.trainers) {
    if (trainer.index != client_.options().trainer) continue;
    WorkerState state{trainer.position, trainer.program};
    if (state.position.source == 0 && state.position.files) {
      state.position.files = manifest.trainers.front().position.files;  // dealt, see deal_out.ipp
    }
    return state;
  }
  throw Error(Errc::checkpoint_damaged, options_.directory, ": ", pass_name(manifest.pass),
              " does not know where worker ", client_.options().trainer, " stood: load an older one");
}

PRDIST_DECL std::string Checkpointer::text_of(std::string_view word, WorkerState const& state,
                                              detail::WrittenCopy const& copy) {
  if (copy.failed) return concat(word, step_, "\n\n", detail::failure_text(*copy.failed));
  Manifest::Trainer trainer{client_.options().trainer, state.position, state.program, copy.part};
  constexpr std::size_t most_digits = 20;  // of a file's size
  std::size_t bytes = 0;
  if (auto const& files = trainer.position.files) {
    for (auto const& file : *files) bytes += file.size() + most_digits;
  }
  if (bytes > detail::most_names / client_.options().trainers) {
    if (!std::exchange(warned_, true)) {
      log(Level::warning, "the names and sizes of this worker's ", trainer.position.files->size(), " files have ",
          bytes,
          " bytes, too many for a checkpoint: it can be resumed with as many workers only; use fewer, larger files");
    }
    trainer.position.files.reset();
    trainer.position.sizes.clear();
  }
  auto const folder = copy.folder ? detail::last_name(copy.folder->path()) : std::string_view{};
  return concat(word, step_, '\n', folder, '\n', to_json(trainer));
}

PRDIST_DECL Next Checkpointer::between_steps(std::function<WorkerState()> const& state) {
  stepped();
  while (due()) {
    if (meet(state()) == Next::stop) return Next::stop;
  }
  return Next::train;
}

PRDIST_DECL Next Checkpointer::barrier(std::string_view name, std::function<WorkerState()> const& state) {
  auto said = client_.runtime().now();
  std::string missing;
  for (;;) {
    while (due()) {
      if (meet(state()) == Next::stop) return Next::stop;
    }
    if (client_.try_barrier(name, missing)) return Next::train;
    auto const now = client_.runtime().now();
    if (now - said < std::chrono::seconds(30)) continue;
    said = now;
    log(Level::info, "still waiting: ", missing);
  }
}

PRDIST_DECL bool Checkpointer::due() {
  if (has_stopped_) return false;  // the others may be gone
  auto& wish = client_.cut_wish();
  bool const stop = (StopSignal::requested() || wish.server_ends()) && !asked_to_stop_;
  // Whoever comes first: worker 0 may have run out of batches.
  bool const interval = options_.every != 0 && step_ - met_at_ >= options_.every && !wish.wanted();
  if (StopSignal::is_new()) {
    log(Level::info, "worker ", client_.options().trainer, asked_to_stop, StopSignal::name());
  }
  if (stop || interval) {
    asked_to_stop_ = asked_to_stop_ || stop;
    // In step, nobody can be past the step that begins now: all hear of it before they end it, and meet behind it.
    client_.ask_cut(in_step_ ? step_ + 1 : 0, stop);
  }
  auto const wanted = wish.wanted();
  if (wanted && step_ >= wanted->step) return true;
  // A step that was ended early, for this to be asked, is waited for now; unless there is a wish again.
  return keep_up_ && !keep_up_();
}

PRDIST_DECL Next Checkpointer::meet(WorkerState const& state) {
  auto const wanted = client_.cut_wish().wanted().value_or(CutWish::Wanted{});
  auto const own = client_.options().trainer;
  auto const name = concat("checkpoint ", wanted.number);
  settle_();
  auto const word = wanted.stop ? detail::stopping_word : detail::training_word;
  // It stays until all have heard that the moment is marked.
  auto const copy = detail::write_copy(copy_, options_.directory, own);
  auto const texts = client_.meet(name, text_of(word, state, copy), true);
  auto writer = own;
  bool stop = false;
  for (auto const& [worker, text] : texts) {
    stop = stop || text.starts_with(detail::stopping_word);
    if (!text.starts_with(detail::finished_word)) writer = std::min(writer, worker);
  }
  std::string failed;
  if (writer == own) {
    client_.met_for_cut(wanted.number, stop);
    try {
      start_writing(texts);
    } catch (Error const& error) {
      failed = detail::failure_text(error);
    }
  }
  // Nobody goes on before the servers have marked the moment.
  failed = client_.meet(concat(name, " is marked"), failed, true)[writer];
  client_.cut_wish().met(wanted.number);
  met_at_ = step_;
  if (stop) detail::throw_failure_in(failed, detail::last_not_written);
  if (auto const why = detail::failure_in(failed, concat(name, " was not written, the ones before are as they were"))) {
    log(Level::error, why->what());
  }
  if (!stop) return Next::train;
  // All stay until it is on the disk: a launcher that sees the first one go ends the others.
  if (writer == own) {
    try {
      wait();
    } catch (Error const& error) {
      failed = detail::failure_text(error);
    }
  }
  failed = client_.meet(concat(name, " is written"), failed, true)[writer];
  detail::throw_failure_in(failed, detail::last_not_written);
  has_stopped_ = true;
  client_.cut_wish().stopped();
  log(Level::info, "worker ", own, " stops at step ", step_, ", after a last checkpoint: resume() goes on from there");
  return Next::stop;
}

PRDIST_DECL void Checkpointer::start_writing(Texts const& texts) {
  wait_quietly();
  auto duty = std::make_unique<detail::WritingDuty>(client_);
  auto manifest = detail::manifest_of(client_, strategy_);
  std::vector<std::string> copies;
  for (auto const& [worker, text] : texts) {
    detail::Brought const brought(text);
    detail::throw_failure_in(brought.rest, concat("worker ", worker, " could not write what its optimizer knows"));
    // Who writes may have finished long before the others: the step never goes back.
    manifest.step = std::max(manifest.step, brought.step);
    manifest.trainers.push_back(trainer_from_json(brought.rest, concat("worker ", worker)));
    if (auto const& copy = manifest.trainers.back().copy) {
      copies.push_back(concat(options_.directory, '/', brought.folder, '/', copy->name));
    }
  }
  if (manifest.trainers.size() != client_.options().trainers) {
    throw Error(Errc::job_state, "a checkpoint of ", manifest.trainers.size(), " of ", client_.options().trainers,
                " workers: the others have left the job, and nobody knows where they stood");
  }
  // Kept only when a later one shall hold the changes since: servers note every key that goes from then on.
  std::optional<std::uint64_t> links;
  std::string since;
  if (options_.full_every > 1) {
    auto const kept = detail::kept_cut(client_, options_.directory);
    bool const changed = kept && kept->links < options_.full_every;
    if (changed) manifest.base = kept->base;
    if (changed) since = kept->name();
    links = changed ? kept->links + 1 : 1;
  }
  bool const keep_all = others_are_there();
  auto const pass = detail::next_pass(options_.directory);
  auto pending = std::make_unique<PendingCheckpoint>(options_.directory, pass, concat(::getpid()));
  for (auto const& copy : copies) detail::take_in(pending->path(), copy);
  detail::cut(client_, pending->path(), since, links.has_value());
  auto write = [this, duty = std::move(duty), pending = std::move(pending), manifest = std::move(manifest), links,
                keep_all]() mutable {
    // They go at the end of this, and with the folder what was not completed.
    auto const until_then = std::move(duty);
    auto const folder = std::move(pending);
    try {
      (void)detail::complete(client_, *folder, manifest, links);
    } catch (std::exception const& error) {
      log(Level::error, "a checkpoint was not written, the ones before are as they were: ", error.what());
      throw;
    }
    if (!keep_all) detail::prune_quietly(options_.directory, options_.keep, damaged_);
  };
  writing_ = std::make_shared<detail::CheckpointWriting>(
      detail::CheckpointWriting{std::async(std::launch::async, std::move(write))});
}

PRDIST_DECL bool Checkpointer::others_are_there() {
  if (resumed_) return false;
  // Whoever writes later finds this job's own there, and asks server 0.
  return !once(client_, "a look for checkpoints of others", [&]() -> std::string {
            auto const passes = passes_in(options_.directory);
            if (passes.empty()) return {};
            log(Level::warning, options_.directory, " holds checkpoints that this job was not resumed from, up to ",
                pass_name(passes.back()),
                ": none is removed while it runs; call resume() to go on from them, or give another folder");
            return pass_name(passes.back());
          }).empty();
}

PRDIST_DECL bool Checkpointer::writing() const {
  return writing_ && writing_->done.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

PRDIST_DECL void Checkpointer::wait() {
  if (auto const writing = std::exchange(writing_, nullptr)) writing->done.get();
}

PRDIST_DECL void Checkpointer::wait_quietly() noexcept {
  try {
    wait();
  } catch (std::exception const&) {  // it was said when it happened
  }
}

PRDIST_DECL void Checkpointer::finish(WorkerState const& state) {
  settle_();
  // Without its copy: it has no more batches, and there may be many checkpoints yet.
  client_.retire(text_of(detail::finished_word, state, {}));
  wait_quietly();  // behind that: the others must not wait for its disk
}

PRDIST_DECL void Checkpointer::save(WorkerState const& state) {
  settle_();
  auto const own = client_.options().trainer;
  auto const copy = detail::write_copy(copy_, options_.directory, own);
  auto const texts = client_.meet("the last checkpoint", text_of(detail::finished_word, state, copy));
  auto const writer = texts.begin()->first;
  std::string failed;
  if (writer == own) {
    try {
      start_writing(texts);
      wait();
    } catch (Error const& error) {
      failed = detail::failure_text(error);
    }
  }
  // A failure is everybody's, and all may go on: what was trained is still on the servers.
  failed = client_.meet("the last checkpoint is written", failed)[writer];
  detail::throw_failure_in(failed, detail::last_not_written);
}

}  // namespace prdist
