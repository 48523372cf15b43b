// SPDX-License-Identifier: Apache-2.0
// Jobs that are files in a folder: scripts for mpirun and for PaddleCloud's client, and the machines of an ssh job.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline.hpp"
#include "submit_flags.hpp"

namespace prrun {

/// "job ctr for mpi, 2 servers and 3 trainers".
[[nodiscard]] std::string title(prdist::gen::Job const& job);

[[nodiscard]] std::filesystem::path job_folder(SubmitFlags const& flags, prdist::gen::Job const& job);

/// A folder that this program made may be written again; somebody's own files are not touched. @throws prdist::Error
void write_files(SubmitFlags const& flags, std::filesystem::path const& folder,
                 std::vector<prdist::gen::File> const& files);

/// What --dry-run shows of them.
void plan_of_files(std::string const& what, std::filesystem::path const& folder,
                   std::vector<prdist::gen::File> const& files);

/// Both become the job's script, unless it is a dry run: what they return is the exit code then. @throws prdist::Error
[[nodiscard]] int submit_mpi(SubmitFlags const& flags, prdist::gen::Job const& job,
                             std::vector<prdist::gen::File> files);
[[nodiscard]] int submit_paddlecloud(SubmitFlags const& flags, prdist::gen::Job const& job,
                                     std::vector<prdist::gen::File> const& files);

}  // namespace prrun
