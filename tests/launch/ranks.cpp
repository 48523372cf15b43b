// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/ranks.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::environment_of;
using launch_test::error_of;

TEST(Ranks, EveryLaunchersNamesAreKnown) {
  for (auto const& [rank_name, size_name] :
       std::vector<std::pair<std::string, std::string>>{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                        {"PMI_RANK", "PMI_SIZE"},
                                                        {"PMIX_RANK", "SLURM_NTASKS"},
                                                        {"SLURM_PROCID", "SLURM_NTASKS"}}) {
    auto const rank = rank_from_env(environment_of({{rank_name, "2"}, {size_name, "3"}}));
    ASSERT_TRUE(rank) << rank_name;
    EXPECT_EQ(rank->rank, 2U);
    EXPECT_EQ(rank->size, 3U);
    EXPECT_EQ(rank->variable, rank_name);
  }
  EXPECT_FALSE(rank_from_env(environment_of({})));
}

// sbatch sets SLURM_PROCID=0 for the script that calls mpirun: the rank of mpirun's own wins.
TEST(Ranks, MpirunInsideOfSlurmIsHeard) {
  auto const rank = rank_from_env(environment_of(
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "6"}}));
  EXPECT_EQ(rank->rank, 4U);
  EXPECT_EQ(rank->size, 6U);
}

TEST(Ranks, ARankWithoutASizeIsOne) {
  EXPECT_EQ(rank_from_env(environment_of({{"PMIX_RANK", "1"}}))->size, std::nullopt);
}

TEST(Ranks, AreCheckedAgainstTheirSize) {
  EXPECT_EQ(
      error_of([] {
        return rank_from_env(environment_of({{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}}));
      }),
      "prdist[config.contradiction] PMI_RANK='3' but PMI_SIZE='3': start the program by mpirun or srun, which set "
      "both");
  EXPECT_EQ(error_of([] {
              return rank_from_env(environment_of({{"PMI_RANK", "first"}}));
            }),
            "prdist[config.invalid] PMI_RANK='first': a number from 0 to 1000000 is expected");
}

TEST(Ranks, OneRunIsToldFromAnother) {
  EXPECT_EQ(run_id_from_env(environment_of({{"PMIX_NAMESPACE", "1563099137"}})), "1563099137");
  EXPECT_EQ(run_id_from_env(environment_of({{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "1"}})), "7/1");
  EXPECT_EQ(run_id_from_env(environment_of({})), "");
}
