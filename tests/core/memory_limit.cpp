#include <prdist/core/memory_limit.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace prdist;
namespace fs = std::filesystem;

namespace {

/// A root of a file system with just what is looked at.
class MemoryLimit : public ::testing::Test {
 protected:
  void SetUp() override {
    auto path = (fs::path(::testing::TempDir()) / "memory_limit_XXXXXX").native();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(std::string const& path, std::string const& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

}  // namespace

TEST_F(MemoryLimit, IsTheMachinesWhenNothingElseIsSet) {
  EXPECT_EQ(memory_limit(root_), 0U) << "nobody tells";
  write("proc/meminfo", "MemFree:  5 kB\nMemTotal:       2048 kB\nMemAvailable: 7 kB\n");
  EXPECT_EQ(memory_limit(root_), 2048U * 1024);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(memory_limit(root_), 2048U * 1024);
}

TEST_F(MemoryLimit, IsTheSmallestOfTheContainersAround) {
  write("proc/meminfo", "MemTotal: 2048 kB\n");
  write("proc/self/cgroup", "0::/pods/one\n");
  write("sys/fs/cgroup/pods/memory.max", "1000000\n");
  write("sys/fs/cgroup/pods/one/memory.max", "max\n");
  EXPECT_EQ(memory_limit(root_), 1000000U);
  write("sys/fs/cgroup/pods/one/memory.max", "5000\n");
  EXPECT_EQ(memory_limit(root_), 5000U);
  write("proc/self/cgroup", "no colons\n0::/pods/gone\n");
  EXPECT_EQ(memory_limit(root_), 1000000U) << "its own folder cannot be seen from within some containers";
}

TEST_F(MemoryLimit, UnderstandsTheFirstVersionOfControlGroups) {
  write("proc/meminfo", "MemTotal: 2048 kB\n");
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(memory_limit(root_), 4096U);
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_limit(root_), 2048U * 1024) << "how it writes no limit";
}

TEST_F(MemoryLimit, KillsAreCountedInTheContainerOrOnTheMachine) {
  EXPECT_EQ(out_of_memory_kills(root_), 0U) << "nobody tells";
  write("proc/vmstat", "oom_killer 5\noom_kill 7\n");
  EXPECT_EQ(out_of_memory_kills(root_), 7U);
  write("proc/self/cgroup", "4:memory:/a\n");
  write("sys/fs/cgroup/memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  EXPECT_EQ(out_of_memory_kills(root_), 3U);
  write("proc/self/cgroup", "0::/pod\n");
  write("sys/fs/cgroup/pod/memory.events", "low 1\noom 9\noom_kill 2\n");
  EXPECT_EQ(out_of_memory_kills(root_), 2U);
  write("proc/self/cgroup", "0::/not/seen/from/within\n");
  write("sys/fs/cgroup/memory.events", "oom_kill 1\n");
  EXPECT_EQ(out_of_memory_kills(root_), 1U);
}

TEST(MemoryLimitHere, IsToldByThisMachine) {
  EXPECT_GT(memory_limit(), std::size_t{64} << 20);
}
