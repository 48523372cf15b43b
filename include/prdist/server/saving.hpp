// SPDX-License-Identifier: Apache-2.0
// What a server does for a checkpoint: write the rows of its shards into a part while training goes on, and read them
// back out of everybody's parts.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include <prdist/core/decl.hpp>
#include <prdist/core/error.hpp>
#include <prdist/server/background.hpp>
#include <prdist/server/catalog.hpp>
#include <prdist/server/engine.hpp>
#include <prdist/table/placement.hpp>

namespace prdist {

class Saving {
 public:
  /// All must outlive it.
  Saving(Engine& engine, Catalog const& catalog, Placement const& placement, std::uint32_t server)
      : engine_(engine), catalog_(catalog), placement_(placement), server_(server) {}

  /// Sets the marker on every thread and tells `marked`: what is sent to the engine afterwards is not in the cut. The
  /// rows are written to `folder` in the background: all of them, or, when `since` names the cut that was kept last,
  /// those that have changed. One that is not `to_be_kept` costs nothing any more when it is written. @throws Error
  /// checkpoint.file; job.state while other work goes on, and when another cut was kept last: a checkpoint must not say
  /// that it holds the changes since one that it does not build on
  void cut(std::string const& folder, std::string const& since, bool to_be_kept, Engine::Done marked);

  /// The cut for `folder` is part of a complete checkpoint, and is called `name`: the next one of changed rows starts
  /// from it. @throws Error job.state when that is not the last cut that was to be kept
  void keep_cut(std::string const& folder, std::string name, Engine::Done done);

  /// Tells the name of the cut that was kept last; an empty one when there is none, when the tables were loaded since,
  /// or when more keys have gone since than there was memory to note.
  void tell_kept_cut(std::function<void(std::string const&)> tell);

  /// Loads this server's shards from the checkpoint at `path` and those it builds on, in the background. Its tables
  /// have been declared; the rows they had go, and what they had counted. @throws Error job.state
  void load(std::string const& path);

  /// How far the last of these is.
  [[nodiscard]] WorkState state() const { return background_.state(); }

 private:
  [[nodiscard]] std::string load_rows(std::string const& path, std::atomic<std::uint64_t>& rows);
  /// Tables whose admission filters cannot go on with what was saved. @throws Error table.mismatch
  [[nodiscard]] std::set<TableId> check_tables(struct Checkpoint const& checkpoint) const;

  Engine& engine_;
  Catalog const& catalog_;
  Placement const& placement_;
  std::uint32_t server_;
  mutable std::recursive_mutex mutex_;  // an engine without threads answers while it is asked
  std::string last_;                    ///< the folder of the last cut, until it is kept
  std::string kept_;
  Background background_;  // last: its thread uses the others
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/server/saving.ipp>
#endif
