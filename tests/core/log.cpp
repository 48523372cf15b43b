#include <prdist/core/log.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace prdist;

namespace {

/// Puts the default sink back.
struct RestoreLog {
  ~RestoreLog() { set_log(detail::log_to_stderr); }
};

/// Everything written to stderr while it lives, one entry per write().
class StderrWrites {
 public:
  StderrWrites() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends_.data()), 0);
    saved_ = ::dup(STDERR_FILENO);
    ::dup2(ends_[0], STDERR_FILENO);
  }
  ~StderrWrites() {
    restore();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  std::vector<std::string> take() {
    restore();
    std::vector<std::string> writes;
    std::array<char, 4096> text;
    for (ssize_t size; (size = ::recv(ends_[1], text.data(), text.size(), MSG_DONTWAIT)) >= 0;) {
      writes.emplace_back(text.data(), static_cast<std::size_t>(size));
    }
    return writes;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    saved_ = -1;
  }

  std::array<int, 2> ends_{-1, -1};
  int saved_ = -1;
};

}  // namespace

TEST(Log, SinkGetsTheJoinedPartsAndTheLevel) {
  RestoreLog const restore;
  std::vector<std::pair<Level, std::string>> lines;
  set_log([&](Level level, std::string_view text) { lines.emplace_back(level, text); });
  log(Level::warning, "worker ", 3, " is late by ", 0.5, " s");
  log(Level::debug, "kept for sinks that want it");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].first, Level::warning);
  EXPECT_EQ(lines[0].second, "worker 3 is late by 0.5 s");
  EXPECT_EQ(lines[1].first, Level::debug);
}

TEST(Log, AnEmptySinkSilences) {
  RestoreLog const restore;
  StderrWrites stderr_writes;
  set_log({});
  log(Level::error, "nobody hears this");
  EXPECT_TRUE(stderr_writes.take().empty());
}

TEST(Log, DefaultWritesGlogLinesToStderrEachAtOnce) {
  StderrWrites stderr_writes;
  log(Level::debug, "not by default");
  log(Level::info, "Server listening on ", "127.0.0.1:36000");
  log(Level::warning, "careful");
  log(Level::error, "broken");
  auto const writes = stderr_writes.take();
  ASSERT_EQ(writes.size(), 3U);
  EXPECT_EQ(writes[0].front(), 'I');
  EXPECT_EQ(writes[1].front(), 'W');
  EXPECT_EQ(writes[2].front(), 'E');
  auto const stamp = R"([0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} )" + std::to_string(::getpid()) + R"(\] )";
  EXPECT_TRUE(testing::internal::RE::FullMatch(
      writes[0], testing::internal::RE("I" + stamp + "Server listening on 127.0.0.1:36000\n")))
      << writes[0];
}

TEST(Log, SinkMayBeExchangedWhileOthersLog) {
  RestoreLog const restore;
  std::atomic<int> first = 0, second = 0;
  set_log([&](Level, std::string_view) { ++first; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) log(Level::info, "line ", i);
    });
  }
  set_log([&](Level, std::string_view) { ++second; });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(first + second, 600);
}

TEST(Log, SinkMayLogAndSetTheLogItself) {
  RestoreLog const restore;
  std::vector<std::string> lines;
  set_log([&](Level, std::string_view text) {
    lines.emplace_back(text);
    set_log([&](Level, std::string_view later) { lines.emplace_back(later); });
    log(Level::info, "from inside");
  });
  log(Level::info, "outer");
  EXPECT_EQ(lines, (std::vector<std::string>{"outer", "from inside"}));
}
