#include <prdist/launch/guard.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <stdexcept>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

namespace {

/// A process under guard that says its worker's pid and that of a grandchild in a session of its own, and then does
/// nothing until a signal comes; its code is then that signal's number.
struct Guarded {
  TempFolder folder;
  launch_test::Mailbox mailbox{folder / "box"};
  pid_t visible = 0;
  pid_t between = 0;
  pid_t worker = 0;
  pid_t grandchild = 0;

  Guarded() {
    std::fflush(nullptr);
    visible = ::fork();
    if (visible == 0) {
      ::freopen((folder / "stderr").c_str(), "w", stderr);
      JobLedger ledger;
      auto const work = [&] {
        ledger.begin("job", "abcdef");
        GuardWatch const guards(&ledger);
        // It says that it runs when the ledger knows of it: whoever kills its launcher then finds it in the report.
        auto const pid = spawn({"/bin/sh",
                                {"-c",
                                 "setsid sleep 1000 & until [ -e \"$1\" ]; do sleep 0.01; done; "
                                 "echo $PPID >\"$0\"; echo $! >\"$0\"; wait",
                                 (folder / "box").string(), (folder / "joined").string()},
                                {"PATH=/usr/bin:/bin"},
                                STDERR_FILENO,
                                -1});
        ledger.joined({{JobRole::trainer, 0}, pid.value(), {}, 0, false, "log"});
        launch_test::write_file(folder / "joined", "");
        SignalSource signals(hold_signals());
        for (;;) {
          for (int const signal : signals.wait(launch_test::patience)) {
            if (signal == SIGCHLD) continue;
            JobReport report;
            report.outcome = Outcome::interrupted;
            report.signal = signal;
            report.exit_code = 128 + signal;
            guards.explain(report);
            launch_test::write_file(folder / "worker", cause_of(report));
            return kill_children(launch_test::patience) ? signal : 99;
          }
        }
      };
      ::_exit(run_guarded(ledger, work, [&](JobReport const& report) {
        launch_test::write_file(folder / "report",
                                concat(::getpid() == ledger.visible() ? "seen: " : "between: ", to_string(report)));
      }));
    }
    auto const pids = mailbox.pids(2);
    if (pids.size() != 2) return;
    worker = pids[0];
    grandchild = pids[1];
    between = launch_test::parent_of(worker);
  }
  ~Guarded() {
    if (visible > 0) (void)launch_test::reap(visible, std::chrono::milliseconds(0));
  }

  [[nodiscard]] std::string written(std::string const& name) const { return launch_test::read_file(folder / name); }
  [[nodiscard]] bool all_gone() const {
    return launch_test::gone_within(grandchild) && launch_test::gone_within(worker) &&
           launch_test::gone_within(between);
  }

 private:
  static std::string to_string(JobReport const& report) {
    auto text = concat(report.job_id, ' ', report.exit_code, ' ', signal_name(report.launcher.value().signal));
    for (auto const& each : report.members) {
      text += concat(", ", prdist::to_string(each.member), ' ', each.ending ? prdist::to_string(*each.ending) : "?",
                     each.stopped ? " stopped" : "");
    }
    return text;
  }
};

constexpr Ending killed{0, SIGKILL, false};

}  // namespace

TEST(Guard, ReturnsTheWorksCode) {
  EXPECT_EQ(launch_test::in_child([] { return run_guarded([] { return 42; }); }), 42);
}

TEST(Guard, PassesASignalOnOnce) {
  Guarded guarded;
  ASSERT_GT(guarded.grandchild, 1);
  ::kill(guarded.visible, SIGINT);
  EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), (Ending{SIGINT, 0, false}));
}

TEST(Guard, KilledItselfLetsTheWorkerEndInOrder) {
  Guarded guarded;
  ASSERT_GT(guarded.grandchild, 1);
  ::kill(guarded.visible, SIGKILL);
  EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), killed);
  EXPECT_TRUE(guarded.all_gone());
  EXPECT_EQ(guarded.written("worker"), "the job was stopped because prrun itself was killed after 0.0 s");
  EXPECT_EQ(guarded.written("report"), "");
}

TEST(Guard, KilledBetweenLetsTheWorkerEndInOrderAndSaysBywhat) {
  Guarded guarded;
  ASSERT_GT(guarded.between, 1);
  ::kill(guarded.between, SIGKILL);
  EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), (Ending{137, 0, false}));
  EXPECT_TRUE(guarded.all_gone());
  EXPECT_TRUE(guarded.written("worker").starts_with("the launcher was killed by SIGKILL after 0.0 s"))
      << guarded.written("worker");
  EXPECT_EQ(guarded.written("report"), "");
}

TEST(Guard, EndsAndReportsWhatAKilledWorkerLeaves) {
  Guarded guarded;
  ASSERT_GT(guarded.grandchild, 1);
  ::kill(guarded.worker, SIGKILL);
  EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), (Ending{137, 0, false}));
  EXPECT_TRUE(launch_test::gone_within(guarded.grandchild, std::chrono::milliseconds(0)));
  EXPECT_EQ(guarded.written("report"), "between: job 137 SIGKILL, trainer 0 SIGKILL stopped");
  EXPECT_EQ(guarded.written("stderr"), "");
}

TEST(Guard, SurvivesTheLossOfAnyTwo) {
  {
    Guarded guarded;
    ASSERT_GT(guarded.between, 1);
    ::kill(guarded.visible, SIGKILL);
    ::kill(guarded.worker, SIGKILL);
    EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), killed);
    EXPECT_TRUE(guarded.all_gone());
    EXPECT_EQ(guarded.written("report"), "between: job 137 SIGKILL, trainer 0 SIGKILL stopped");
  }
  {
    Guarded guarded;
    ASSERT_GT(guarded.between, 1);
    // Stopped first, so that neither sees the other's end.
    ::kill(guarded.between, SIGSTOP);
    ::kill(guarded.worker, SIGKILL);
    ::kill(guarded.between, SIGKILL);
    EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), (Ending{137, 0, false}));
    EXPECT_TRUE(guarded.all_gone());
    EXPECT_EQ(guarded.written("report"), "seen: job 137 SIGKILL, trainer 0 SIGKILL stopped");
  }
  {
    Guarded guarded;
    ASSERT_GT(guarded.between, 1);
    ::kill(guarded.between, SIGSTOP);
    ::kill(guarded.visible, SIGKILL);
    ::kill(guarded.between, SIGKILL);
    EXPECT_EQ(launch_test::reap(std::exchange(guarded.visible, 0)), killed);
    EXPECT_TRUE(guarded.all_gone());
    EXPECT_EQ(guarded.written("worker"), "the job was stopped because prrun itself was killed after 0.0 s");
  }
}

TEST(Guard, TheOneBetweenHasANameOfItsOwn) {
  Guarded guarded;
  ASSERT_GT(guarded.between, 1);
  EXPECT_EQ(launch_test::read_file(concat("/proc/", guarded.between, "/comm")), "prdist-guard\n");
  EXPECT_NE(launch_test::read_file(concat("/proc/", guarded.worker, "/comm")), "prdist-guard\n");
}

TEST(Guard, WithoutAJobAKilledWorkerIsSaidInALine) {
  TempFolder folder;
  auto const code = launch_test::in_child([&] {
    ::freopen((folder / "stderr").c_str(), "w", stderr);
    return run_guarded([]() -> int { return ::kill(::getpid(), SIGKILL); });
  });
  EXPECT_EQ(code, 137);
  EXPECT_EQ(launch_test::read_file(folder / "stderr"),
            "prdist[internal.error] launcher: its supervising process was killed by SIGKILL: every process of the job "
            "has been ended\n");
}

TEST(Guard, AnExceptionIsSaidAndCodes70) {
  TempFolder folder;
  auto const code = launch_test::in_child([&] {
    ::freopen((folder / "stderr").c_str(), "w", stderr);
    return run_guarded([]() -> int { throw std::runtime_error("it went wrong"); });
  });
  EXPECT_EQ(code, 70);
  EXPECT_EQ(launch_test::read_file(folder / "stderr"), "it went wrong\n");
}

TEST(Guard, WhereNoProcessCanBeStartedThatIsSaidAndCodes70) {
  TempFolder folder;
  auto const code = launch_test::in_child([&] {
    ::freopen((folder / "stderr").c_str(), "w", stderr);
    rlimit const none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    // It does not bind root.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
    return run_guarded([] { return 0; });
  });
  EXPECT_EQ(code, 70);
  EXPECT_EQ(launch_test::read_file(folder / "stderr"),
            "prdist[internal.error] launcher: no process could be started: Resource temporarily unavailable. Raise "
            "ulimit -u\n");
}

TEST(Guard, OpensStandardDescriptorsThatWereClosed) {
  auto const code = launch_test::in_child([] {
    ::close(0);
    ::close(1);
    return run_guarded([] { return ::open("/dev/null", O_RDONLY) > 2 ? 0 : 1; });
  });
  EXPECT_EQ(code, 0);
}
