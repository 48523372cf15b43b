#include <prdist/launch/progress.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "support.hpp"

using namespace prdist;
using launch_test::TempFolder;
using std::chrono::milliseconds;

namespace {

Progress everything() {
  Progress progress;
  progress.step = 1200;
  progress.examples = 614400;
  progress.total = 1000000;
  progress.loss = 0.4512;
  progress.rate = 21034;
  progress.phase = "train";
  return progress;
}

ProgressWriter::TimePoint at(int millis) {
  return ProgressWriter::TimePoint(std::chrono::hours(1) + milliseconds(millis));
}

}  // namespace

TEST(Progress, IsOneLineOfFields) {
  EXPECT_EQ(to_string(everything()), "step=1200 examples=614400 total=1000000 loss=0.4512 rate=21034 phase=train");
  EXPECT_EQ(parse_progress(to_string(everything())), everything());
  EXPECT_EQ(to_string(Progress{}), "");
}

TEST(Progress, ReadsWhatItKnowsAndPassesOverTheRest) {
  auto const progress =
      parse_progress("  colour=blue step=7 loss=abc examples=-3 total= rate=1.5x odd =9 phase=a=b\nstep=9");
  Progress expected;
  expected.step = 7;
  expected.phase = "a=b";
  EXPECT_EQ(progress, expected);
  EXPECT_EQ(parse_progress(""), Progress{});
  EXPECT_TRUE(std::isnan(parse_progress("loss=nan").loss.value()));
}

TEST(Progress, KeepsAPhaseOneWord) {
  Progress progress;
  progress.phase = "last step=9\nx";
  EXPECT_EQ(to_string(progress), "phase=last_step=9_x");
}

TEST(Progress, IsReadFromAFileAndIsNothingWithoutOne) {
  TempFolder folder;
  EXPECT_FALSE(read_progress(folder / "progress.0"));
  launch_test::write_file(folder / "progress.0", "step=3\n");
  EXPECT_EQ(read_progress(folder / "progress.0").value().step, 3U);
  EXPECT_FALSE(read_progress(folder.path()));
}

TEST(ProgressWriter, WritesAtMostFiveTimesASecondButEveryChangeOfPhase) {
  TempFolder folder;
  auto const path = folder / "progress.0";
  ProgressWriter writer(path.string());
  auto progress = everything();
  EXPECT_TRUE(writer.write(progress, at(0)));
  progress.step = 1201;
  EXPECT_FALSE(writer.write(progress, at(199)));
  EXPECT_EQ(read_progress(path).value().step, 1200U);
  EXPECT_TRUE(writer.write(progress, at(200)));
  EXPECT_EQ(read_progress(path).value(), progress);
  progress.phase = "save";
  EXPECT_TRUE(writer.write(progress, at(201)));
  EXPECT_EQ(read_progress(path).value(), progress);
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".tmp"));
}

TEST(ProgressWriter, GoesOnWhenItCannotWrite) {
  ProgressWriter nowhere("/dev/null/progress");
  EXPECT_FALSE(nowhere.write(everything(), at(0)));
  ProgressWriter none("");
  EXPECT_FALSE(none.write(everything(), at(0)));
}

TEST(WriteProgress, UsesTheFileTheLauncherNames) {
  TempFolder folder;
  auto const path = folder / "progress.0";
  auto const code = launch_test::in_child([&] {
    ::setenv("PRDIST_PROGRESS", path.c_str(), 1);
    write_progress(everything(), at(0));
    return read_progress(path) == everything() ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(WriteProgress, DoesNothingWithoutALauncher) {
  TempFolder folder;
  auto const code = launch_test::in_child([&] {
    ::unsetenv("PRDIST_PROGRESS");
    ::chdir(folder.path().c_str());
    write_progress(everything(), at(0));
    return std::filesystem::is_empty(folder.path()) ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(WriteProgress, MayBeCalledByManyThreads) {
  TempFolder folder;
  auto const path = folder / "progress.0";
  auto const code = launch_test::in_child([&] {
    ::setenv("PRDIST_PROGRESS", path.c_str(), 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        auto progress = everything();
        for (int i = 0; i < 200; ++i) {
          progress.phase = concat("p", t, '_', i);
          write_progress(progress, at(i));
        }
      });
    }
    for (auto& thread : threads) thread.join();
    return read_progress(path).value().step == 1200U ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}
