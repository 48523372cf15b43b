#include <prdist/launch/sweeper.hpp>

#include <gtest/gtest.h>

#include <prdist/launch/environment.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::gone_within;
using launch_test::Mailbox;
using launch_test::read_file;
using launch_test::TempFolder;

namespace {

/// A launcher with a sweeper, and what it has started in a session of its own.
class Swept {
 public:
  explicit Swept(bool dismissed = false) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    all_gone_.reset(ends[0]);
    Descriptor const held(ends[1]);
    std::fflush(nullptr);
    launcher_ = ::fork();
    if (launcher_ != 0) {
      left_ = box_.pids(1).at(0);
      return;
    }
    Sweeper sweeper([&] { launch_test::write_file(folder_ / "swept", "swept"); });
    if (dismissed) sweeper.dismiss();
    auto const script =
        R"(setsid sh -c 'echo $PRDIST_JOB_MARK >"$0/mark"; echo $$ >"$0/box"; exec sleep 1000' "$0" & wait)";
    auto const started =
        spawn({"/bin/sh", {"-c", script, folder_.path().string()}, current_environment(), STDERR_FILENO, -1});
    if (!started) ::_exit(1);
    for (;;) ::pause();
  }
  ~Swept() {
    if (launcher_ > 0) (void)launch_test::reap(launcher_, std::chrono::milliseconds(0));
  }
  Swept(Swept const&) = delete;
  Swept& operator=(Swept const&) = delete;

  [[nodiscard]] pid_t left() const { return left_; }
  [[nodiscard]] pid_t launcher() const { return launcher_; }
  [[nodiscard]] std::string written(std::string const& name) const { return read_file(folder_ / name); }
  /// Waits until neither the launcher nor the sweeper is there.
  [[nodiscard]] bool ended() {
    (void)launch_test::reap(std::exchange(launcher_, 0));
    return launch_test::readable_within(all_gone_.get(), launch_test::patience);
  }

 private:
  TempFolder folder_;
  Mailbox box_{folder_ / "box"};
  Descriptor all_gone_;
  pid_t launcher_ = 0;
  pid_t left_ = 0;
};

}  // namespace

TEST(Sweeper, KillsWhatAKilledLauncherLeaves) {
  Swept swept;
  ASSERT_GT(swept.left(), 1);
  ::kill(swept.launcher(), SIGKILL);
  EXPECT_TRUE(gone_within(swept.left()));
  EXPECT_TRUE(swept.ended());
  EXPECT_EQ(swept.written("swept"), "swept");
}

TEST(Sweeper, DismissedItEndsAndTouchesNothing) {
  Swept swept(true);
  ASSERT_GT(swept.left(), 1);
  ::kill(swept.launcher(), SIGKILL);
  EXPECT_TRUE(swept.ended());
  EXPECT_FALSE(gone_within(swept.left(), std::chrono::milliseconds(0)));
  EXPECT_EQ(swept.written("swept"), "");
  ::kill(swept.left(), SIGKILL);
}

// A job may have a launcher in it, whose members are the outer one's as well.
TEST(Sweeper, MarksOfLaunchersAboveStay) {
  ::setenv(job_mark_variable, "7-1", 1);
  {
    Swept swept;
    EXPECT_TRUE(swept.written("mark").starts_with("7-1,")) << swept.written("mark");
    ::kill(swept.launcher(), SIGKILL);
    EXPECT_TRUE(gone_within(swept.left()));
    EXPECT_TRUE(swept.ended());
  }
  ::unsetenv(job_mark_variable);
}
