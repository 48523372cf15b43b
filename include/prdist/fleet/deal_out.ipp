// SPDX-License-Identifier: Apache-2.0
// Where the workers of a job begin that goes on from a checkpoint: where they stood, or, when there is another number
// of them, with a share of what is left. For checkpointer.ipp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/manifest.hpp>
#include <prdist/core/error.hpp>
#include <prdist/data/deal.hpp>
#include <prdist/data/position.hpp>

namespace prdist::detail {

/// @throws Error data.position
[[nodiscard]] inline std::uint64_t size_of_file(std::string const& name) {
  std::error_code failed;
  auto const size = std::filesystem::file_size(name, failed);
  if (!failed) return size;
  throw Error(Errc::data_position, name, ", a file of the job that was stopped, ", failed.message(),
              ": bring it back to where all workers see it, or load the weights alone with Fleet::load()");
}

/// What each of `workers` is to go on with. @throws Error config.contradiction, data.position when it cannot be told
[[nodiscard]] inline std::vector<Manifest::Trainer> deal_out(Manifest const& manifest, std::uint32_t workers,
                                                             std::string const& directory) {
  if (manifest.trainers.empty() || manifest.trainers.size() == workers) {
    auto same = manifest.trainers;
    for (auto& trainer : same) {
      trainer.position.files.reset();  // each knows its own
      trainer.copy.reset();            // and looks for it in the folder
    }
    return same;
  }
  auto const refuse = [&](auto const&... why) {
    throw Error(Errc::config_contradiction, directory, ": the job that saved ", pass_name(manifest.pass), " had ",
                manifest.trainers.size(), " workers, this one has ", workers, ", and ", why...,
                ": start as many, or load the weights alone with Fleet::load()");
  };
  std::vector<DataPosition> positions;
  for (auto const& trainer : manifest.trainers) {
    if (trainer.program != "null") {
      refuse("what the program of worker ", trainer.index, " kept for itself cannot be dealt out");
    }
    positions.push_back(trainer.position);
  }
  std::vector<DataPosition> dealt(workers);
  // A program may read no data that has a position, and say nothing of it.
  if (std::ranges::any_of(positions, [](auto const& position) { return position != DataPosition{}; })) {
    for (auto const& trainer : manifest.trainers) {
      if (!trainer.position.files) {
        refuse("it is not known which files worker ", trainer.index, " had, so nobody can go on for it");
      }
    }
    dealt = deal(positions, workers, size_of_file);
  }
  std::vector<Manifest::Trainer> out;
  for (std::uint32_t index = 0; index < workers; ++index) {
    // All know the same files, and hear of them once.
    if (index > 0 && dealt[index].files) dealt[index].files->clear();
    out.push_back({.index = index, .position = std::move(dealt[index])});
  }
  return out;
}

}  // namespace prdist::detail
