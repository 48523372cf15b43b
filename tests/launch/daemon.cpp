#include <prdist/launch/daemon.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <thread>

#include <prdist/core/log.hpp>

#include "../support/thrown.hpp"

using namespace prdist;
using namespace std::chrono_literals;
using test::holds;
using test::thrown;
namespace fs = std::filesystem;

namespace {

std::string text_of(fs::path const& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder of its own, and the daemon's log in it.
class DaemonStarts : public ::testing::Test {
 protected:
  DaemonStarts() {
    char name[] = "/tmp/prdist-daemon-XXXXXX";
    folder = ::mkdtemp(name);
    log_path = folder / "log";
  }
  ~DaemonStarts() override { fs::remove_all(folder); }

  /// Bounded. A daemon is nobody's child here: it is looked for, and may wait for whoever adopted it to notice its end.
  static bool ends(pid_t pid) {
    auto const until = std::chrono::steady_clock::now() + 20s;
    auto const lives = [&] {
      auto const stat = text_of(fs::path("/proc") / std::to_string(pid) / "stat");
      auto const state = stat.rfind(") ");
      return state != std::string::npos && stat[state + 2] != 'Z';
    };
    while (lives()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

  fs::path folder, log_path;
};

}  // namespace

TEST_F(DaemonStarts, ReturnsWhenItIsReadyAndItGoesOn) {
  std::ofstream(log_path) << "before\n";
  auto const go = folder / "go";
  auto const start = start_daemon(log_path, 20s, [&](auto const& ready) {
    log(Level::info, "about to serve");
    std::printf("in session %d, leader %d\n", static_cast<int>(::getsid(0)), ::getpid() == ::getsid(0) ? 1 : 0);
    ready();
    for (int i = 0; i < 20000 && !fs::exists(go); ++i) std::this_thread::sleep_for(1ms);
    log(Level::info, "has served");
    return 0;
  });
  EXPECT_EQ(start.error, "");
  EXPECT_EQ(start.exit_code, 0);
  ASSERT_GT(start.pid, 0);
  EXPECT_EQ(::kill(start.pid, 0), 0) << "it lives";
  EXPECT_NE(::getsid(start.pid), ::getsid(0));
  std::ofstream(go) << "go";
  ASSERT_TRUE(ends(start.pid));
  auto const text = text_of(log_path);
  EXPECT_TRUE(text.starts_with("before\n")) << "the log is appended to";
  EXPECT_TRUE(holds(text, "about to serve"));
  EXPECT_TRUE(holds(text, "leader 0"));
  EXPECT_TRUE(holds(text, "has served"));
}

TEST_F(DaemonStarts, KeepsNoDescriptorOfTheCaller) {
  int both[2];
  ASSERT_EQ(::pipe(both), 0);
  Descriptor const hears(both[0]);
  Descriptor const tells(both[1]);
  Descriptor const high(::fcntl(tells.get(), F_DUPFD, 700));
  std::string const pipe = fs::read_symlink(concat("/proc/self/fd/", hears.get()));
  auto const start = start_daemon(log_path, 20s, [&](auto const& ready) {
    for (auto const& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      std::printf("%s\n", fs::read_symlink(entry, gone).c_str());
    }
    std::printf("that was all\n");
    std::fflush(nullptr);
    ready();
    return 0;
  });
  EXPECT_EQ(start.error, "");
  ASSERT_TRUE(ends(start.pid));
  auto const text = text_of(log_path);
  EXPECT_TRUE(holds(text, "that was all"));
  EXPECT_FALSE(holds(text, pipe)) << text;
}

TEST_F(DaemonStarts, WhatKeepsItFromServingIsTheCallersToHear) {
  auto const start = start_daemon(
      log_path, 20s, [](auto const&) -> int { throw Error(Errc::transport_in_use, "port 7164 is in use"); });
  EXPECT_EQ(start.exit_code, 78);
  EXPECT_EQ(start.error, "prdist[transport.in_use] port 7164 is in use");
  EXPECT_TRUE(holds(text_of(log_path), "port 7164 is in use"));
}

TEST_F(DaemonStarts, OneThatEndsWithoutAWordIsNotTakenForReady) {
  auto const start = start_daemon(log_path, 20s, [](auto const&) -> int { ::_exit(3); });
  EXPECT_EQ(start.exit_code, 70);
  EXPECT_TRUE(holds(start.error, "has ended and has not said why: see its log ")) << start.error;
}

TEST_F(DaemonStarts, OneThatIsNotReadyInTimeIsSaidToBe) {
  auto const go = folder / "go";
  auto const start = start_daemon(log_path, 50ms, [&](auto const&) {
    for (int i = 0; i < 20000 && !fs::exists(go); ++i) std::this_thread::sleep_for(1ms);
    return 0;
  });
  EXPECT_TRUE(holds(start.error, "is not ready in time and has not said why")) << start.error;
  std::ofstream(go) << "go";
  EXPECT_TRUE(ends(start.pid));
}

TEST_F(DaemonStarts, AFifoThatNobodyReadsIsNoLog) {
  auto const path = folder / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(
      thrown([&] { (void)open_daemon_log(path); }).message(),
      concat("log '", path.string(), "' cannot be written: nobody reads it: name a file in a folder that is there"));
}

TEST_F(DaemonStarts, ALogThatCannotBeWrittenIsAnErrorBeforeAnythingStarts) {
  auto const path = folder / "nowhere" / "log";
  auto const error = thrown([&] { (void)start_daemon(path, 20s, [](auto const&) { return 0; }); });
  EXPECT_EQ(error.message(),
            concat("log '", path.string(),
                   "' cannot be written: No such file or directory: name a file in a folder that is there"));
}
