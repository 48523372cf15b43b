// SPDX-License-Identifier: Apache-2.0
// prrun k8s while it copies this pod's data: what ends it before the program runs.
#include "../support.hpp"

using launch_test::Prrun;
using launch_test::read_file;
using launch_test::TempFolder;
using prdist::concat;
namespace fs = std::filesystem;

namespace {

/// The pod of a job's only trainer.
Prrun::Variables trainer_pod(TempFolder const& folder) {
  return {{"JOB_COMPLETION_INDEX", "1"},
          {"PADDLE_PSERVERS_NUM", "1"},
          {"PADDLE_TRAINERS_NUM", "1"},
          {"PADDLE_PSERVERS_IP_PORT_LIST", "ctr-0.ctr:30240"},
          {"JOB_NAME", "ctr"},
          {"JOB_PATH", folder.path().string()},
          {"TMPDIR", folder.path().string()},
          {"PRDIST_TERMINATION_LOG", (folder / "cause").string()}};
}

/// Data that takes long to copy and little room: ten folders, each with three links to the next one.
void plant_slow_data(TempFolder const& folder) {
  constexpr int depth = 10;
  fs::create_directories(folder / "ctr/0");
  for (int level = 0; level < depth; ++level) {
    auto const here = folder / concat("level-", level);
    fs::create_directory(here);
    for (auto const* const name : {"a", "b", "c"}) {
      if (level + 1 < depth) fs::create_directory_symlink(folder / concat("level-", level + 1), here / name);
    }
  }
  launch_test::write_file(folder / concat("level-", depth - 1) / "part", "row\n");
  fs::create_directory_symlink(folder / "level-0", folder / "ctr/0/data");
}

}  // namespace

TEST(PrrunK8sCopy, EndsOnSigtermAndStartsNothing) {
  TempFolder folder;
  plant_slow_data(folder);
  Prrun prrun(folder, {"k8s", "--", "sh", "-c", "echo >started; sleep 1000"}, trainer_pod(folder));
  auto const deadline = std::chrono::steady_clock::now() + launch_test::patience;
  while (!fs::exists(folder / "data") && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 5);
  prrun.signal(SIGTERM);
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 143);
  EXPECT_FALSE(fs::exists(folder / "started"));
  auto const cause = concat("the job was stopped by SIGTERM while '", (folder / "ctr/0/data").string(),
                            "' was copied: the program was not started\n");
  EXPECT_EQ(read_file(folder / "cause"), cause);
  EXPECT_TRUE(finished.error.ends_with(cause)) << finished.error;
}

TEST(PrrunK8sCopy, CountsForTheTimeLimit) {
  TempFolder folder;
  plant_slow_data(folder);
  Prrun prrun(folder, {"k8s", "--timeout", "0.2", "--", "sh", "-c", "echo >started; sleep 1000"}, trainer_pod(folder));
  EXPECT_EQ(prrun.finish().code(), 124);
  EXPECT_FALSE(fs::exists(folder / "started"));
  EXPECT_EQ(read_file(folder / "cause"),
            concat("the job passed its time limit while '", (folder / "ctr/0/data").string(),
                   "' was copied: raise --timeout; the program was not started\n"));
}
