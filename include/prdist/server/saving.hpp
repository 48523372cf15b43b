// SPDX-License-Identifier: Apache-2.0
// What a server does for a checkpoint: write the rows of its shards into a part while training goes on, and read them
// back out of everybody's parts.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include <prdist/core/decl.hpp>
#include <prdist/core/error.hpp>
#include <prdist/server/background.hpp>
#include <prdist/server/catalog.hpp>
#include <prdist/server/engine.hpp>
#include <prdist/table/cut.hpp>
#include <prdist/table/placement.hpp>

namespace prdist {

class Saving {
 public:
  /// All must outlive it.
  Saving(Engine& engine, Catalog const& catalog, Placement const& placement, std::uint32_t server)
      : engine_(engine), catalog_(catalog), placement_(placement), server_(server) {}

  /// Sets the marker on every thread and tells `marked`: what is sent to the engine afterwards is not in the cut. The
  /// rows are written to `folder` in the background. @throws Error checkpoint.file, job.state
  void cut(std::string const& folder, CutKind kind, Engine::Done marked);

  /// The last cut is part of a complete checkpoint: the next one of changed rows starts from it.
  void keep_cut(Engine::Done done);

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
  Background background_;
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/server/saving.ipp>
#endif
