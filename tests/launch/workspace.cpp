// SPDX-License-Identifier: Apache-2.0
#include <prdist/launch/workspace.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;
namespace fs = std::filesystem;

TEST(Workspace, FindsADataShardInBothLayouts) {
  TempFolder job;
  fs::create_directories(job / "0/data");
  fs::create_directories(job / "data/1");
  EXPECT_EQ(find_shard(job.path(), 0).value(), job / "0/data");
  EXPECT_EQ(find_shard(job.path(), 1).value(), job / "data/1");
}

TEST(Workspace, AJobWithoutShardsIsFine) {
  TempFolder job;
  EXPECT_EQ(find_shard(job.path(), 0).value(), std::nullopt);
  EXPECT_EQ(find_shard(job / "missing", 0).value(), std::nullopt);
  fs::create_directories(job / "data/criteo");
  fs::create_directories(job / "7/models");
  EXPECT_EQ(find_shard(job.path(), 0).value(), std::nullopt) << "folders of other things are no shards";
}

TEST(Workspace, AMissingShardAmongOthersIsNamed) {
  TempFolder job;
  for (auto const* const id : {"10", "9"}) fs::create_directories(job / (std::string("data/") + id));
  EXPECT_EQ(std::string(find_shard(job.path(), 2).error().what()),
            concat("prdist[data.file] launcher: trainer 2 has no data: '", (job / "2/data").string(), "' and '",
                   (job / "data/2").string(),
                   "' do not exist, others do (9, 10): split the data for every trainer, or take the folders away"));
}
