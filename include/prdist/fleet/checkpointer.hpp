// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a job that trains. Between two steps all workers meet, the servers mark the moment, and training goes
// on while they write: the checkpoint holds every gradient up to where each worker stood in its data, and none after.
//
//   auto checkpoints = fleet.checkpointer(optimizer, {.directory = "ckpt", .every = 1000});
//   optimizer.prepare(model);
//   if (auto const state = checkpoints.resume()) reader.resume(state->position);
//   for (auto const& batch : reader) {
//     optimizer.minimize(model, batch);
//     if (checkpoints.between_steps([&] { return WorkerState{reader.position()}; }) == Next::stop) {
//       fleet.stop_worker();
//       return StopSignal::exit_code();
//     }
//   }
//   checkpoints.finish({reader.position()});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/checkpoint/manifest.hpp>
#include <prdist/core/decl.hpp>
#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/data/position.hpp>
#include <prdist/fleet/own_copy.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

struct CheckpointOptions {
  std::string directory{};       ///< on a file system that workers and servers share
  std::uint64_t every = 0;       ///< steps of the fastest worker between two; 0: only when the job is asked to stop
  std::size_t keep = 3;          ///< newest ones that stay, 1 or more; older ones go when a new one is complete
  std::uint64_t full_every = 1;  ///< every so many hold all rows, the others what has changed

  /// @throws Error config.invalid when no checkpoint would stay
  void check() const;
};

/// Where a worker stands: what it wants back when it resumes.
struct WorkerState {
  DataPosition position{};
  std::string program = "null";  ///< any JSON value
};

enum class Next { train, stop };

namespace detail {
struct CheckpointWriting;
struct WrittenCopy;
}  // namespace detail

class Checkpointer {
 public:
  /// Worker 0 locks the directory for the life of the job and removes what crashed ones have left there. `settle`
  /// brings every push of this worker to the servers. With `in_step` all workers take the same steps, as Sync does, and
  /// meet at the same one. `keep_up` is DistributedOptimizer::keep_up(), of a strategy whose steps wait for a clock.
  /// @throws Error checkpoint.file when it cannot be written or another job is there, config.invalid
  Checkpointer(Client& client, CheckpointOptions options, std::string_view strategy, bool in_step,
               std::function<void()> settle, OwnCopy copy = {}, std::function<bool()> keep_up = {});
  Checkpointer(Checkpointer const&) = delete;
  Checkpointer& operator=(Checkpointer const&) = delete;
  /// Waits for a checkpoint that is being written.
  ~Checkpointer();

  /// Loads the newest checkpoint into the servers and returns where this worker stood; nothing when there is none. When
  /// the job had another number of workers, what they had left is dealt out to those that are here, see data/deal.hpp.
  /// All workers call it, when their tables are declared. @throws Error checkpoint.*, table.mismatch, data.position,
  /// config.contradiction when there is another number of workers and their programs kept something for themselves
  [[nodiscard]] std::optional<WorkerState> resume();

  /// Call it between two steps. `state` is asked only when there is a checkpoint. As stepped(), due() and meet().
  [[nodiscard]] Next between_steps(std::function<WorkerState()> const& state);

  /// Waits for all workers, as Fleet::barrier() does, and comes to checkpoints meanwhile: for what all do between two
  /// epochs. Next::stop as above. With Sync and Ssp all workers have taken the same steps by then.
  [[nodiscard]] Next barrier(std::string_view name, std::function<WorkerState()> const& state);

  // The same in three, for loops with several threads (TrainOptions::pause_due and pause): one thread at a time. Other
  // loops ask due() again behind each meet(): with Ssp it also waits for those that are behind, as minimize() does.

  /// One more step has been taken.
  void stepped() noexcept { ++step_; }

  /// Whether all workers are to meet now.
  [[nodiscard]] bool due();

  /// Meets the other workers for the checkpoint that is due; no thread of this one is in a step. Next::stop means: a
  /// last one is complete, leave the loop and end with StopSignal::exit_code(). @throws Error when the last one could
  /// not be written; of an earlier one that is only logged
  [[nodiscard]] Next meet(WorkerState const& state);

  /// Whether the others have stopped with a last checkpoint while this worker had no more batches: end as they did,
  /// without save().
  [[nodiscard]] bool stopped() const { return client_.cut_wish().job_stopped(); }

  /// This worker has no more batches: later checkpoints are made without it, and remember `state`. In place of
  /// finish() of the optimizer.
  void finish(WorkerState const& state);

  /// A checkpoint of everything as it is now: all workers call it at the end of training, and one of them writes.
  /// @throws Error, in all of them, when it could not be written, with the code of why; the job may go on then
  void save(WorkerState const& state);

  /// Whether one is still on its way to the disk.
  [[nodiscard]] bool writing() const;

  /// Steps since the beginning, those before resume() included, as the fastest worker has counted them.
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }

 private:
  /// What this worker brings to a meeting: `word`, its step, its copy if there is one, and where it stands.
  [[nodiscard]] std::string text_of(std::string_view word, WorkerState const& state, detail::WrittenCopy const& copy);
  void start_writing(Texts const& texts);
  /// Whether what is in the folder is another job's: told once, by whoever writes the first one of this job.
  [[nodiscard]] bool others_are_there();
  /// Waits for the one that is being written. @throws Error what went wrong
  void wait();
  /// As wait(), but throws nothing.
  void wait_quietly() noexcept;

  Client& client_;
  CheckpointOptions options_;
  std::string strategy_;
  bool in_step_;
  std::function<void()> settle_;
  OwnCopy copy_;
  std::function<bool()> keep_up_;
  std::uint64_t step_ = 0;
  std::set<std::string> damaged_{};  ///< ids of checkpoints that resume() found to be so; all workers know them
  std::uint64_t met_at_ = 0;
  bool asked_to_stop_ = false;
  bool resumed_ = false;  ///< resume() was called: what is in the folder is this job's
  bool has_stopped_ = false;
  bool warned_ = false;
  Descriptor lock_;
  std::shared_ptr<detail::CheckpointWriting> writing_;
};

/// Lets the servers load the newest checkpoint in `path`, or the one that `path` is, and waits for it.
/// @throws Error checkpoint.*, table.mismatch
void load_checkpoint(Client& client, std::string const& path);

/// One checkpoint into `directory`, by one worker, without meeting the others. Returns its path.
/// @throws Error checkpoint.*
std::string save_checkpoint(Client& client, std::string const& directory, std::string_view strategy = {});

/// What an inference engine needs, as `path` (.npz). @throws Error checkpoint.*
void export_model(Client& client, std::string const& path, std::string_view strategy = {});

/// Begins a new day in every declared table that keeps statistics. @throws Error job.state when there is none
void shrink_tables(Client& client, std::uint32_t day);

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/fleet/checkpointer.ipp>
#endif
