// SPDX-License-Identifier: Apache-2.0
// A member that the system kills because memory ran out: really, in a control group with little of it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <prdist/core/memory_limit.hpp>
#include <prdist/core/text.hpp>

#include "support.hpp"

using launch_test::has;
using launch_test::Prrun;
using launch_test::read_file;
using prdist::concat;

namespace {

/// A control group below this process's own, that may use 300 MiB; none where it cannot be made.
class SmallGroup {
 public:
  SmallGroup() {
    for (auto const& [mount, group, unified] : prdist::detail::memory_groups("/")) {
      auto const folder = mount / std::filesystem::path(group).relative_path() / concat("prdist-test-", ::getpid());
      if (::mkdir(folder.c_str(), 0755) != 0) continue;
      std::ofstream limit(folder / (unified ? "memory.max" : "memory.limit_in_bytes"));
      if (limit << "300M" << std::flush) {
        folder_ = folder;
        return;
      }
      ::rmdir(folder.c_str());
    }
  }
  ~SmallGroup() {
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }
  SmallGroup(SmallGroup const&) = delete;
  SmallGroup& operator=(SmallGroup const&) = delete;

  [[nodiscard]] std::filesystem::path const& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace

TEST(OutOfMemory, IsNamedAsTheCauseOfASigkill) {
  SmallGroup const group;
  if (group.folder().empty()) GTEST_SKIP() << "no control group for memory can be made here";
  // One line without end: tail keeps all of it.
  Prrun prrun({"--server_num", "1", "--trainer_num", "1", "--json", "report.json", "--", "sh", "-c",
               "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; exec tail /dev/zero"},
              {{"GROUP", group.folder().string()}});
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 137) << finished.error;
  EXPECT_TRUE(has(finished.error, "SIGKILL, out of memory  <- first failure")) << finished.error;
  EXPECT_TRUE(
      has(finished.error,
          "(the system killed it because the memory of 300 MiB ran out: give the job more, or start fewer here)"))
      << finished.error;
  EXPECT_TRUE(has(read_file(prrun.folder() / "report.json"), "\"out_of_memory\": true") ||
              has(read_file(prrun.folder() / "report.json"), "\"out_of_memory\":true"));
}

TEST(OutOfMemory, IsNotSaidOfAnotherSigkill) {
  auto const finished = launch_test::run_prrun({"--server_num", "1", "--trainer_num", "1", "--", "sh", "-c",
                                                "[ $TRAINING_ROLE = TRAINER ] || exec sleep 1000; kill -KILL $$"});
  EXPECT_EQ(finished.code(), 137) << finished.error;
  EXPECT_FALSE(has(finished.error, ", out of memory")) << finished.error;
  EXPECT_TRUE(has(finished.error, "if nobody sent it, the machine ran out of memory")) << finished.error;
}
