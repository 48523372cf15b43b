// SPDX-License-Identifier: Apache-2.0
// The rank that a parallel launcher gives a process: Open MPI, PMIx, MPICH and Intel (PMI), MVAPICH, Slurm.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <prdist/core/environment.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>

namespace prdist {

struct Rank {
  std::size_t rank = 0;
  std::optional<std::size_t> size;  ///< of the whole job; PMIx alone does not tell
  std::string_view variable;        ///< that gave the rank
};

/// Nothing when no launcher has set a rank. The most particular name wins: mpirun inside a Slurm job sets both.
/// @throws Error config.invalid, config.contradiction
[[nodiscard]] inline std::optional<Rank> rank_from_env(Environment const& environment) {
  struct Names {
    std::string_view rank;
    std::string_view size;
  };
  static constexpr std::array<Names, 5> known{{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                               {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                               {"PMI_RANK", "PMI_SIZE"},
                                               {"PMIX_RANK", "SLURM_NTASKS"},
                                               {"SLURM_PROCID", "SLURM_NTASKS"}}};
  for (auto const& [rank_name, size_name] : known) {
    auto const rank = number_in(environment, rank_name, 0, 1'000'000);
    if (!rank) continue;
    auto const size = number_in(environment, size_name, 1, 1'000'000);
    if (size && *rank >= *size) {
      throw Error(Errc::config_contradiction, rank_name, "='", *rank, "' but ", size_name, "='", *size,
                  "': start the program by mpirun or srun, which set both");
    }
    return Rank{*rank, size, rank_name};
  }
  return std::nullopt;
}

/// What tells this run of a parallel job from another one in the same folder, the same on every rank; empty when the
/// launcher has no such name.
[[nodiscard]] inline std::string run_id_from_env(Environment const& environment) {
  std::string id;
  for (std::string_view const name : {"PBS_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE"}) {
    if (auto const value = environment(name)) id += concat(id.empty() ? "" : "/", *value);
  }
  return id;
}

}  // namespace prdist
