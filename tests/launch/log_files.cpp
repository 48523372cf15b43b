// SPDX-License-Identifier: Apache-2.0
// Pipes and devices where a log is expected: whoever opened one would wait for its other end.
#include <prdist/launch/logs.hpp>

#include <gtest/gtest.h>

#include <prdist/launch/log_tail.hpp>
#include <prdist/launch/progress.hpp>

#include "support.hpp"

using namespace prdist;
using launch_test::in_child;
using launch_test::Prrun;
using launch_test::TempFolder;

namespace {

/// What `open` says of a log; in a process of its own, that is killed when it waits.
template <class Open>
std::string complaint_of(TempFolder const& folder, Open&& open) {
  auto const code = in_child([&] {
    auto const log = open();
    launch_test::write_file(folder / "said", log ? "opened" : log.error().what());
    return 0;
  });
  EXPECT_EQ(code, 0);
  return launch_test::read_file(folder / "said");
}

std::vector<std::string> shell(std::vector<std::string> flags, std::string const& script) {
  flags.insert(flags.end(), {"--", "sh", "-c", script});
  return flags;
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(LogFiles, APipeIsNamedAndNotWaitedFor) {
  TempFolder folder;
  auto const path = folder / "workerlog.0";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto const said = concat("prdist[config.invalid] launcher: the log file '", path.string(), "' cannot be written");
  EXPECT_EQ(complaint_of(folder, [&] { return open_log(path); }),
            said + ", it is a FIFO: give another folder with --log_dir");
  EXPECT_EQ(complaint_of(folder, [&] { return continued_log(path); }), said + " any more, it is a FIFO");
  // One that somebody reads could be opened, and is no log either.
  Descriptor const reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(complaint_of(folder, [&] { return open_log(path); }),
            said + ", it is a FIFO: give another folder with --log_dir");
}

TEST(LogFiles, ADeviceBehindALinkIsNamed) {
  TempFolder folder;
  auto const path = folder / "workerlog.0";
  std::filesystem::create_symlink("/dev/full", path);
  EXPECT_EQ(complaint_of(folder, [&] { return open_log(path); }),
            concat("prdist[config.invalid] launcher: the log file '", path.string(),
                   "' cannot be written, it is a device: give another folder with --log_dir"));
}

TEST(LogFiles, AnOpenedLogIsAPlainFile) {
  TempFolder folder;
  auto const log = open_log(folder / "workerlog.0").value();
  auto const flags = ::fcntl(log.get(), F_GETFL);
  EXPECT_EQ(flags & (O_NONBLOCK | O_APPEND | O_ACCMODE), O_APPEND | O_WRONLY);
  EXPECT_EQ(::fcntl(log.get(), F_GETFD), FD_CLOEXEC);
}

TEST(LogFiles, NobodyWhoReadsOrWritesWaitsForAPipe) {
  TempFolder folder;
  auto const path = folder / "workerlog.0";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((folder / "progress.0.tmp").c_str(), 0600), 0);
  EXPECT_EQ(in_child([&] { return last_lines(path, 3).empty() ? 0 : 1; }), 0);
  EXPECT_EQ(in_child([&] {
              int lines = 0;
              LogTail(path).finish([&](std::string_view) { ++lines; });
              return lines;
            }),
            0);
  EXPECT_EQ(in_child([&] { return ProgressWriter((folder / "progress.0").string()).write({}, {}) ? 1 : 0; }), 0);
}

TEST(LogFiles, APipeInTheFolderIs78AtTheStart) {
  TempFolder folder;
  std::filesystem::create_directory(folder / "log");
  ASSERT_EQ(::mkfifo((folder / "log/workerlog.0").c_str(), 0600), 0);
  Prrun prrun(folder, shell({}, "sleep 1000"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "the log file 'log/workerlog.0' cannot be written, it is a FIFO")) << finished.error;
}

TEST(LogFiles, APipeInPlaceOfARunningMembersLogLeavesTheReport) {
  TempFolder folder;
  Prrun prrun(folder, shell({"--json", "report.json"},
                            "if [ $TRAINING_ROLE = PSERVER ]; then exec sleep 1000; fi\n"
                            "rm log/workerlog.0; mkfifo log/workerlog.0; exit 3"));
  auto const finished = prrun.finish();
  EXPECT_EQ(finished.code(), 3);
  EXPECT_TRUE(has(finished.error, "trainer 0 ended with exit code 3 after ")) << finished.error;
  EXPECT_TRUE(has(launch_test::read_file(folder / "report.json"), R"("exit_code":3)"));
}
