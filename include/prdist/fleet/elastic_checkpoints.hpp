// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a job whose workers come and go. Nobody meets: one worker lets the servers write, the others train on.
// Where the job stood is which files were done. Those that were in work are read again from their beginning when the
// job is resumed, by any number of workers: at least once, where Checkpointer says exactly once.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <prdist/core/decl.hpp>
#include <prdist/core/descriptor.hpp>
#include <prdist/core/error.hpp>
#include <prdist/fleet/checkpointer.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

namespace detail {
struct ElasticWriting;
}

/// Going waits for the one that is being written.
class ElasticCheckpoints {
 public:
  /// @throws Error config.contradiction when options.full_every is not 1
  ElasticCheckpoints(Client& client, CheckpointOptions options, std::string_view strategy);

  /// Before the first file is asked for, when the tables are declared. The first worker of the job loads the newest
  /// checkpoint when `resume` says so, the others wait for it; who comes later finds it done. Without `resume` a
  /// directory that holds checkpoints is refused, and in any case one in which another job saves: it is this job's as
  /// long as one of its workers is there. @throws Error checkpoint.*, table.mismatch, config.contradiction
  void begin(bool resume);

  /// One more step has been taken.
  void stepped() noexcept { ++step_; }

  /// Whether this worker is to call save(): `every` steps of its own after the last one.
  [[nodiscard]] bool due() const noexcept { return options_.every != 0 && step_ - saved_at_ >= options_.every; }

  /// Begins one, when this is the worker that writes them: the first who wanted to, until it is gone. Training goes on
  /// meanwhile; only when the one before is not complete yet, it is waited for. What goes wrong is logged.
  void save();

  /// Whether one is still on its way to the disk.
  [[nodiscard]] bool writing() const;

  /// Waits for it: before this worker leaves, as nobody else would end it.
  void wait();

  /// Whether the whole job is about to end, and not this worker alone: when all were asked at the same moment, the
  /// servers have a second to say so.
  [[nodiscard]] bool job_ends();

  /// Writes one and waits for it, whoever calls. @throws Error checkpoint.*
  void save_last();

 private:
  [[nodiscard]] std::string load_newest();

  Client& client_;
  CheckpointOptions options_;
  std::string strategy_;
  std::uint64_t step_ = 0;
  std::set<std::string> damaged_{};  ///< ids of checkpoints that begin() found to be so; all workers know them
  std::string owner_{};              ///< what the directory says of whose it is; all workers know it
  Descriptor hold_{};                ///< shared by all workers against other jobs
  std::uint64_t saved_at_ = 0;
  std::shared_ptr<detail::ElasticWriting> writing_;
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/fleet/elastic_checkpoints.ipp>
#endif
