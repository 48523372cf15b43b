#include <prdist/launch/view.hpp>

#include <gtest/gtest.h>

#include <cctype>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;

namespace {

/// Every "2022-05-18 11:53:09,783" as "TIME".
std::string without_times(std::string text) {
  static constexpr std::string_view form = "dddd-dd-dd dd:dd:dd,ddd";
  for (std::size_t at = 0; at + form.size() <= text.size(); ++at) {
    bool fits = true;
    for (std::size_t i = 0; i < form.size() && fits; ++i) {
      fits = form[i] == 'd' ? std::isdigit(static_cast<unsigned char>(text[at + i])) != 0 : form[i] == text[at + i];
    }
    if (fits) text.replace(at, form.size(), "TIME");
  }
  return text;
}

/// A view whose console writes into files, and what they hold in the end without the times.
struct Shown {
  TempFolder folder;
  LaunchPlan plan;
  std::string out;
  std::string error;

  Shown() {
    plan.pod_name = "abcdef";
    plan.log_dir = folder.path();
    plan.servers = {{"127.0.0.1", 1}};
    plan.trainers = {{"127.0.0.1", 2}};
  }

  template <class Show>
  void show(bool quiet, Show&& show) {
    Descriptor const first(::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    Descriptor const second(::open((folder / "error").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    {
      Console console(first.get(), second.get());
      JobView view(plan, console, quiet);
      show(view);
    }
    out = launch_test::read_file(folder / "out");
    error = without_times(launch_test::read_file(folder / "error"));
  }

  JobReport report(Outcome outcome, int code) const {
    JobReport report;
    report.outcome = outcome;
    report.exit_code = code;
    report.seconds = 1;
    report.members = {{{JobRole::server, 0}, 11, Ending{}, 1, false, log_path(plan, {JobRole::server, 0})},
                      {{JobRole::trainer, 0}, 12, Ending{code, 0, false}, 1, false, "workerlog.0"}};
    if (outcome == Outcome::failed) report.first_failure = 1;
    return report;
  }
};

}  // namespace

TEST(LaunchLine, HasPaddlesForm) {
  using std::chrono::system_clock;
  auto const line = launch_line("INFO", "Exit code 0", system_clock::time_point(std::chrono::milliseconds(7)));
  EXPECT_EQ(without_times(line), "LAUNCH INFO TIME Exit code 0");
  EXPECT_NE(line.find(",007 Exit"), std::string::npos) << line;
}

TEST(JobView, SaysWhatPaddlesLauncherSays) {
  Shown shown;
  shown.show(false, [&](JobView& view) {
    view.ready();
    launch_test::write_file(log_path(shown.plan, {JobRole::trainer, 0}), "epoch 1\nepoch 2");
    launch_test::write_file(progress_path(shown.plan, {JobRole::trainer, 0}), "examples=10 total=10");
    view.running();
    view.ended(shown.report(Outcome::succeeded, 0));
  });
  EXPECT_EQ(shown.out, "[trainer 0] epoch 1\n[trainer 0] epoch 2\n");
  EXPECT_EQ(shown.error, concat("LAUNCH INFO TIME Job: default, mode ps, replicas 1[1:1], elastic False\n"
                                "LAUNCH INFO TIME Run Pod: abcdef, replicas 2, status ready\n"
                                "LAUNCH INFO TIME Watching Pod: abcdef, replicas 2, status running\n"
                                "LAUNCH INFO TIME Servers 1, trainers 1, logs in ",
                                shown.folder.path().string(), "\n",
                                "LAUNCH INFO TIME Progress: 100% 10/10 examples\n"
                                "LAUNCH INFO TIME Pod completed\n",
                                table_of(shown.report(Outcome::succeeded, 0)), "LAUNCH INFO TIME Exit code 0\n"));
}

TEST(JobView, EndsAFailedJobWithItsCauseAndCode) {
  Shown shown;
  auto const report = shown.report(Outcome::failed, 7);
  shown.show(false, [&](JobView& view) { view.ended(report); });
  EXPECT_EQ(shown.error, concat("LAUNCH INFO TIME Pod failed\n", table_of(report), "workerlog.0 is empty\n",
                                "LAUNCH ERROR TIME ", cause_of(report), "\nLAUNCH INFO TIME Exit code 7\n"));
}

TEST(JobView, AJobThatStoppedWhenAskedHasNotFailed) {
  Shown shown;
  auto report = shown.report(Outcome::interrupted, 130);
  shown.show(false, [&](JobView& view) { view.ended(report); });
  EXPECT_TRUE(shown.error.starts_with("LAUNCH INFO TIME Pod stopped\n")) << shown.error;
  report.exit_code = 78;
  EXPECT_EQ(pod_line(report), "Pod failed") << "it could not save";
  report.exit_code = 137;
  report.launcher_killed = true;
  EXPECT_EQ(pod_line(report), "Pod failed");
  report = shown.report(Outcome::failed, 143);
  EXPECT_EQ(pod_line(report), "Pod failed");
  report.stopped_in_order = true;
  EXPECT_EQ(pod_line(report), "Pod stopped") << "a member was asked, and saved";
  report.exit_code = 137;
  report.members[1].too_late = true;
  EXPECT_EQ(pod_line(report), "Pod failed") << "it was killed before that";
  report = shown.report(Outcome::interrupted, 137);
  report.leftovers_too_late = true;
  EXPECT_EQ(pod_line(report), "Pod failed");
  EXPECT_EQ(pod_line(shown.report(Outcome::timed_out, 124)), "Pod failed");
}

TEST(JobView, SaysHowLongALastCheckpointMayTake) {
  EXPECT_EQ(ending_steps(std::chrono::seconds(30), true),
            "SIGTERM to all that is left, which has up to 30 s (--grace) for a last checkpoint; Ctrl-C kills it at "
            "once");
  EXPECT_EQ(ending_steps(std::chrono::milliseconds(200), false),
            "SIGTERM to all that is left, SIGKILL after 0.2 s (--grace); Ctrl-C kills it at once");
}

TEST(JobView, QuietShowsOnlyAFailure) {
  Shown success;
  success.show(true, [&](JobView& view) {
    view.ready();
    view.running();
    view.ended(success.report(Outcome::succeeded, 0));
  });
  EXPECT_EQ(success.out + success.error, "");
  Shown failure;
  auto const report = failure.report(Outcome::failed, 7);
  failure.show(true, [&](JobView& view) { view.ended(report); });
  EXPECT_EQ(failure.error,
            concat(table_of(report), "workerlog.0 is empty\nLAUNCH ERROR TIME ", cause_of(report), '\n'));
}
