// SPDX-License-Identifier: Apache-2.0
// What one worker saves and loads alone, without meeting the others. For checkpointer.ipp.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/export_npz.hpp>
#include <prdist/checkpoint/pending.hpp>
#include <prdist/checkpoint/temporary.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/log.hpp>
#include <prdist/core/text.hpp>
#include <prdist/fleet/checkpoint_steps.ipp>
#include <prdist/fleet/checkpointer.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

PRDIST_DECL void load_checkpoint(Client& client, std::string const& path) {
  detail::check_declared(client);
  detail::WritingDuty const duty(client);
  auto const check = [&](Checkpoint const& checkpoint) {
    detail::check_tables(client, checkpoint, detail::Tables::some);
  };
  if (std::filesystem::exists(concat(path, "/manifest.json"))) {
    auto const checkpoint = open_checkpoint(path);
    check(checkpoint);
    return detail::load(client, checkpoint);
  }
  std::set<std::string> damaged;
  if (!detail::load_latest(client, path, detail::Resumable::any, check, damaged)) {
    throw Error(Errc::checkpoint_missing, path, ", has no complete checkpoint: save one first, or check the path");
  }
}

PRDIST_DECL std::string save_checkpoint(Client& client, std::string const& directory, std::string_view strategy) {
  detail::WritingDuty const duty(client);
  PendingCheckpoint pending(directory, detail::next_pass(directory), concat(::getpid()));
  return detail::complete(client, pending, detail::cut_all(client, pending, strategy)).path;
}

PRDIST_DECL void export_model(Client& client, std::string const& path, std::string_view strategy) {
  detail::check_replaceable(path);  // before the servers write for it
  std::error_code ignored;          // what cannot be made is told by what would lie in it
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  // By way of a checkpoint beside it, so that the rows of a moment go to the file and not through this worker's memory.
  detail::FolderBeside const folder(path);
  PendingCheckpoint pending(folder.path(), 0, concat(::getpid()));
  auto const parts = [&] {
    detail::WritingDuty const duty(client);
    return detail::gather_parts(client, pending, detail::cut_all(client, pending, strategy));
  }();
  export_npz(std::span(&parts, 1), path);
  log(Level::info, "model in ", path, ": ", detail::rows_in(parts.manifest), " rows");
}

PRDIST_DECL void shrink_tables(Client& client, std::uint32_t day) {
  bool any = false;
  for (auto const& spec : client.declared()) {
    auto const* const sparse = std::get_if<SparseSpec>(&spec);
    if (sparse == nullptr || !sparse->statistics.kept) continue;
    client.shrink({table_id(sparse->name), sparse->dim, sparse->name}, day);
    any = true;
  }
  if (!any) throw Error(Errc::job_state, "shrink: no table keeps statistics: declare one with them");
}

}  // namespace prdist
