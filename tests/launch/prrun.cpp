// The launcher's command line.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json/parse.hpp>

#include "support.hpp"

using launch_test::has;
using launch_test::Prrun;
using launch_test::run_prrun;
using launch_test::TempFolder;
namespace json = boost::json;

namespace {

using Words = std::vector<std::string>;

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

struct Wrong {
  Words words;
  std::string message;
};

}  // namespace

TEST(Prrun, AReportForADeviceLeavesTheDeviceWhereItIs) {
  launch_test::TempFolder folder;
  std::filesystem::create_symlink("/dev/null", folder / "report");
  auto const finished = run_prrun({"--json", (folder / "report").string(), "--", "true"});
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_TRUE(std::filesystem::is_character_file(folder / "report"));
}

TEST(Prrun, WrongFlagsAre64WithTheUsage) {
  std::vector<Wrong> const cases{
      {{}, "a program is required"},
      {{"--"}, "a program is required"},
      {{"--bogus", "true"}, "'--bogus' is not a flag of prrun"},
      {{"-y", "true"}, "'-y' is not a flag of prrun"},
      {{"--server_nun", "2", "true"}, "'--server_nun' is not a flag of prrun: did you mean '--server_num'?"},
      {{"--trainer-mun=2", "true"}, "'--trainer-mun' is not a flag of prrun: did you mean '--trainer-num'?"},
      {{"-grace", "2", "true"}, "'-grace' is not a flag of prrun: did you mean '--grace'?"},
      {{"-x", "NAME", "true"}, "--env: is for jobs over ssh: give --hostfile too"},
      {{"--server_num", "0", "true"}, "--server_num: 0 is for nodes of a job on several (--nnodes)"},
      {{"--trainer_num", "0", "true"}, "--trainer_num: 0 is for nodes of a job on several (--nnodes)"},
      {{"--nnodes", "2", "--server_num", "0", "--trainer_num", "0", "true"},
       "--server_num: 0 with --trainer_num 0: this node would have nothing to run"},
      {{"--server_num", "2000", "true"}, "--server_num: '2000' is not a number from 0 to 256"},
      {{"--trainer_num", "two", "true"}, "--trainer_num: 'two' is not a number from 0 to 1024"},
      {{"--server_num"}, "--server_num: 1 required N missing"},
      {{"--grace", "-1", "true"}, "--grace: '-1' is not a number of seconds from 0 to 31536000"},
      {{"--timeout", "nan", "true"}, "--timeout: 'nan' is not a number of seconds from 0 to 31536000"},
      {{"--job_id", "a b", "true"}, "--job_id: 'a b' is not 1 to 63 letters, digits, '.', '_' and '-'"},
      {{"--log_dir", "", "true"}, "--log_dir"},
  };
  for (auto const& [words, message] : cases) {
    auto const finished = run_prrun(words);
    EXPECT_EQ(finished.code(), 64) << message;
    EXPECT_TRUE(has(finished.error, "prrun: " + message)) << message << '\n' << finished.error;
    EXPECT_TRUE(has(finished.error, "\nUsage: prrun [flags] [--] program [arguments]\nTry: prrun --help\n"));
    EXPECT_EQ(finished.out, "");
  }
}

TEST(Prrun, HelpStartsWithExamples) {
  auto const finished = run_prrun({"--help"});
  EXPECT_EQ(finished.code(), 0);
  EXPECT_TRUE(finished.out.starts_with("Examples:\n  prrun -- ./train")) << finished.out;
  for (auto const* part :
       {"--server_num N", "--trainer_num N", "--grace S=30 ", "--no_listen_fd", "SO_REUSEADDR", "Exit code:"}) {
    EXPECT_TRUE(has(finished.out, part)) << part;
  }
  EXPECT_EQ(finished.error, "");
}

TEST(Prrun, TellsItsVersion) {
  EXPECT_TRUE(run_prrun({"--version"}).out.starts_with("prrun 0."));
}

TEST(Prrun, UnderstandsBothSpellingsAndLeavesTheProgramsFlagsAlone) {
  for (auto const& words : {Words{"--server_num", "2", "--trainer_num", "3"}, Words{"--server-num=2", "--worker-num=3"},
                            Words{"--server_num=9", "--server-num", "2", "--worker_num", "3"}}) {
    auto flags = words;
    flags.insert(flags.end(), {"--dry_run", "true", "--server_num", "7"});
    auto const finished = run_prrun(flags);
    EXPECT_EQ(finished.code(), 0) << finished.error;
    EXPECT_EQ(count(finished.out, "PADDLE_PSERVER_ID="), 2U);
    EXPECT_EQ(count(finished.out, "PADDLE_TRAINER_ID="), 3U);
    EXPECT_TRUE(has(finished.out, "/true '--server_num' '7'\n")) << finished.out;
  }
}

TEST(Prrun, TakesPaddlesVariablesForFlagsThatAreNotGiven) {
  auto const finished =
      run_prrun({"--trainer_num", "1", "--dry-run", "true"},
                {{"PADDLE_SERVER_NUM", "3"}, {"PADDLE_TRAINER_NUM", "5"}, {"PADDLE_LOG_DIR", "elsewhere"}});
  EXPECT_EQ(count(finished.out, "PADDLE_PSERVER_ID="), 3U);
  EXPECT_EQ(count(finished.out, "PADDLE_TRAINER_ID="), 1U);
  EXPECT_TRUE(has(finished.out, "log elsewhere/serverlog.0"));
}

TEST(Prrun, ADryRunWarnsAsTheRunDoesAndShowsNoSecret) {
  auto const finished =
      run_prrun({"--server_num", "2", "--dry_run", "true", "--token=abc", "x\x1b[2J"}, {{"PADDLE_SERVER_NUM", "3"}});
  EXPECT_EQ(finished.code(), 0);
  EXPECT_EQ(finished.error, "prrun: --server_num 2 is used, not PADDLE_SERVER_NUM=3 of the environment\n");
  EXPECT_TRUE(has(finished.out, "true '--token=***' 'x\\x1b[2J'\n")) << finished.out;
}

TEST(Prrun, ADryRunStartsNothing) {
  TempFolder folder;
  EXPECT_EQ(Prrun(folder, {"--dry_run", "touch", "started"}).finish().code(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
  EXPECT_FALSE(std::filesystem::exists(folder / "log"));
}

TEST(Prrun, AProgramThatCannotRunIs78) {
  TempFolder folder;
  launch_test::write_file(folder / "broken", "no program\n");
  std::filesystem::permissions(folder / "broken", std::filesystem::perms::owner_all);
  for (auto const& [program, message] :
       {std::pair<std::string, std::string>{"no_such_program", "there is no program 'no_such_program' in PATH"},
        {"./no_such_program", "there is no program './no_such_program'"},
        {(folder / "broken").string(), "Exec format error"}}) {
    auto const finished = run_prrun({"--", program});
    EXPECT_EQ(finished.code(), 78) << program;
    EXPECT_TRUE(has(finished.error, message)) << finished.error;
  }
}

TEST(Prrun, FindsProgramsBesideItself) {
  TempFolder folder;
  std::filesystem::copy_file(PRRUN_PATH, folder / "prrun");
  launch_test::write_file(folder / "prdist_test_tool", "#!/bin/sh\necho found\n");
  std::filesystem::permissions(folder / "prdist_test_tool", std::filesystem::perms::owner_all);
  auto const pid = prdist::spawn({(folder / "prrun").string(),
                                  {"--quiet", "--log_dir", (folder / "log").string(), "prdist_test_tool"},
                                  {"PATH=/usr/bin:/bin"},
                                  STDERR_FILENO,
                                  -1})
                       .value();
  EXPECT_EQ(launch_test::reap(pid), (prdist::Ending{0, 0, false}));
  EXPECT_EQ(launch_test::read_file(folder / "log/workerlog.0"), "found\n");
}

TEST(Prrun, AFolderThatCannotBeWrittenIs78) {
  auto const logs = run_prrun({"--log_dir", "/dev/null/log", "true"});
  EXPECT_EQ(logs.code(), 78);
  EXPECT_TRUE(has(logs.error, "the log folder '/dev/null/log' cannot be used, Not a directory")) << logs.error;
  auto const report = run_prrun({"--json", "/dev/null/report.json", "true"});
  EXPECT_EQ(report.code(), 78);
  EXPECT_TRUE(has(report.error,
                  "[config.invalid] launcher: the report '/dev/null/report.json' cannot be written: give "
                  "another file with --json\n"))
      << report.error;
  auto const folder = run_prrun({"--json", ".", "true"});
  EXPECT_EQ(folder.code(), 78);
  EXPECT_TRUE(
      has(folder.error, "launcher: the report '.' cannot be written, it is a folder: give another file with --json\n"))
      << folder.error;
}

TEST(Prrun, AReportIsNotWrittenToAFifoWhoseReaderMayNeverCome) {
  TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  auto const finished = Prrun(folder, {"--json", "fifo", "--", "touch", "started"}).finish();
  EXPECT_EQ(finished.code(), 78);
  EXPECT_EQ(
      finished.error,
      "prdist[config.invalid] launcher: the report 'fifo' cannot be written, it is a FIFO: give another file with "
      "--json\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
  // Nor to one in the place of the file that a report is first written to, which is left alone.
  std::filesystem::rename(folder / "fifo", folder / "report.json.tmp");
  auto const other = Prrun(folder, {"--json", "report.json", "--", "touch", "started"}).finish();
  EXPECT_EQ(other.code(), 78) << other.error;
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "report.json.tmp"));
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
}

TEST(Prrun, AReportGoesWhereADescriptorLeads) {
  TempFolder folder;
  auto const run = [&](std::string const& script) {
    auto const pid = prdist::spawn({"/bin/sh",
                                    {"-c", "cd \"$1\" && " + script, PRRUN_PATH, folder.path().string()},
                                    {"PATH=/usr/bin:/bin"},
                                    STDERR_FILENO,
                                    -1});
    return launch_test::reap(pid.value());
  };
  auto const is_report = [&](std::string const& name) {
    return json::parse(launch_test::read_file(folder / name)).at("exit_code").as_int64() == 0;
  };
  constexpr prdist::Ending fine{0, 0, false};
  EXPECT_EQ(run("\"$0\" --quiet --json /dev/stdout -- true | cat >pipe"), fine);
  EXPECT_TRUE(is_report("pipe"));
  EXPECT_EQ(run("\"$0\" --quiet --json /dev/fd/3 -- true 3>file"), fine);
  EXPECT_TRUE(is_report("file"));
  EXPECT_EQ(run("\"$0\" --quiet --json /dev/null -- true"), fine);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Prrun, WritesTheReportAsJson) {
  Prrun prrun({"--json", "report.json", "--job_id", "nightly-1", "--", "sh", "-c",
               "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000; exit 6"});
  EXPECT_EQ(prrun.finish().code(), 6);
  auto const report = json::parse(launch_test::read_file(prrun.folder() / "report.json"));
  EXPECT_EQ(report.at("job_id").as_string(), "nightly-1");
  EXPECT_EQ(report.at("outcome").as_string(), "failed");
  EXPECT_EQ(report.at("exit_code").as_int64(), 6);
  EXPECT_EQ(report.at("first_failure").to_number<int>(), 1);
  ASSERT_EQ(report.at("members").as_array().size(), 2U);
  EXPECT_EQ(report.at("members").at(0).at("signal").as_string(), "SIGTERM");
  EXPECT_EQ(report.at("members").at(1).at("exit_code").as_int64(), 6);
}

TEST(Prrun, TakesAnOldReportAwayBeforeTheJobRuns) {
  TempFolder folder;
  launch_test::write_file(folder / "report.json", "old");
  Prrun prrun(folder, {"--json", "report.json", "--", "sh", "-c", "test ! -e report.json"});
  EXPECT_EQ(prrun.finish().code(), 0);
  EXPECT_TRUE(json::parse(launch_test::read_file(folder / "report.json")).is_object());
}

TEST(Prrun, QuietSaysNothingOfASuccess) {
  auto const finished = run_prrun({"--quiet", "--", "echo", "hello"});
  EXPECT_EQ(finished.code(), 0);
  EXPECT_EQ(finished.out + finished.error, "");
}

// `prrun ... | head -1` must not end the job.
TEST(Prrun, GoesOnWhenItsReaderIsGone) {
  TempFolder folder;
  auto const pid =
      prdist::spawn(
          {"/bin/sh",
           {"-c",
            R"(cd "$1" && { "$0" sh -c 'seq 100000; echo done >>finished' 2>&1; echo $? >code; } | head -1 >first)",
            PRRUN_PATH, folder.path().string()},
           {"PATH=/usr/bin:/bin"},
           STDERR_FILENO,
           -1})
          .value();
  EXPECT_TRUE(launch_test::reap(pid).has_value());
  EXPECT_EQ(launch_test::read_file(folder / "code"), "0\n");
  EXPECT_TRUE(has(launch_test::read_file(folder / "first"), "LAUNCH INFO ")) << "head saw nothing";
  EXPECT_EQ(launch_test::read_file(folder / "finished"), "done\ndone\n");
}
