// Paddle's flags and variables, by the program itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <prdist/launch/ports.hpp>

#include "../support.hpp"

using launch_test::has;
using launch_test::run_prrun;
using Variables = launch_test::Prrun::Variables;
using Words = std::vector<std::string>;

namespace {

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

struct Case {
  Words words;
  Variables variables;
  std::string text;
};

}  // namespace

TEST(JobFlags, EachOfPaddlesHasItsVariable) {
  std::vector<Case> const cases{
      {{"--server_num", "2"}, {{"PADDLE_SERVER_NUM", "2"}}, "server_num: 2"},
      {{"--worker-num", "2"}, {{"PADDLE_TRAINER_NUM", "2"}}, "trainer_num: 2"},
      {{"--log-dir", "x"}, {{"PADDLE_LOG_DIR", "x"}}, "log_dir: x"},
      {{"--job_id", "x"}, {{"PADDLE_JOB_ID", "x"}}, "job_id: x"},
      {{"--host", "127.0.0.3"}, {{"POD_IP", "127.0.0.3"}}, "host: 127.0.0.3"},
      {{"--run_mode", "collective"}, {{"PADDLE_RUN_MODE", "collective"}}, "run_mode: collective"},
      {{"--nproc-per-node", "2"}, {{"PADDLE_NPROC_PER_NODE", "2"}}, "nproc_per_node: 2"},
      {{"--with_gloo", "0"}, {{"PADDLE_WITH_GLOO", "0"}}, "with_gloo: 0"},
      {{"--rank", "0"}, {{"PADDLE_RANK", "0"}}, "rank: 0"},
      {{"--max-restart", "3"}, {{"PADDLE_MAX_RESTART", "3"}}, "max_restart: 3"},
      {{"--elastic_level", "1"}, {{"PADDLE_ELASTIC_LEVEL", "1"}}, "elastic_level: 1"},
      {{"--elastic_timeout", "7"}, {{"PADDLE_ELASTIC_TIMEOUT", "7"}}, "elastic_timeout: 7"},
      {{"--log_level", "debug"}, {{"PADDLE_LOG_LEVEL", "debug"}}, "log_level: debug"},
      {{"--log_overwrite", "True"}, {{"PADDLE_LOG_OVERWRITE", "True"}}, "log_overwrite: True"},
  };
  for (auto const& [words, variables, text] : cases) {
    auto flags = words;
    flags.insert(flags.end(), {"--", "true"});
    auto const by_flag = run_prrun(flags);
    EXPECT_EQ(by_flag.code(), 0) << by_flag.error;
    EXPECT_TRUE(has(by_flag.error, " " + text + "\n")) << text << '\n' << by_flag.error;
    auto const by_variable = run_prrun({"true"}, variables);
    EXPECT_EQ(by_variable.code(), 0) << by_variable.error;
    EXPECT_TRUE(has(by_variable.error, " " + text + "\n")) << text << '\n' << by_variable.error;
    EXPECT_FALSE(has(by_variable.error, "of the environment"));
  }
}

TEST(JobFlags, AMastersPasswordIsNotShown) {
  auto const finished =
      run_prrun({"--master", "http://me:hunter2@h:1", "true"}, {{"PADDLE_MASTER", "http://u:pw@h:1"}});
  EXPECT_TRUE(has(finished.error, "master: http://me:***@h:1\n")) << finished.error;
  EXPECT_TRUE(has(finished.error, "--master http://me:***@h:1 is used, not PADDLE_MASTER=http://u:***@h:1 of the "))
      << finished.error;
  EXPECT_FALSE(has(finished.error, "hunter2") || has(finished.error, "u:pw")) << finished.error;
}

TEST(JobFlags, AFlagGoesBeforeItsVariableAndThatIsSaidOnce) {
  auto const finished = run_prrun({"--server_num", "2", "--log_dir", "x", "--max_restart", "1", "true"},
                                  {{"PADDLE_SERVER_NUM", "3"}, {"PADDLE_LOG_DIR", "x"}});
  EXPECT_EQ(finished.code(), 0);
  EXPECT_EQ(count(finished.error, "--server_num 2 is used, not PADDLE_SERVER_NUM=3 of the environment\n"), 1U);
  EXPECT_TRUE(has(finished.error, "LAUNCH WARNING ")) << finished.error;
  EXPECT_EQ(count(finished.error, "of the environment"), 1U);
}

TEST(JobFlags, AWrongVariableIsNamed) {
  auto const finished = run_prrun({"true"}, {{"PADDLE_SERVER_NUM", "many"}});
  EXPECT_EQ(finished.code(), 64);
  EXPECT_TRUE(has(finished.error, "--server_num: 'many' is not a number from 0 to 256 (from PADDLE_SERVER_NUM)\n"))
      << finished.error;
}

TEST(JobFlags, ShowTheConfigurationSortedAndWithoutSecrets) {
  auto const finished = run_prrun({"--", "echo", "--password", "hunter2", "--epochs=3"}, {{"MY_TOKEN", "hunter3"}});
  EXPECT_EQ(finished.code(), 0);
  auto const begin = finished.error.find("-----------  Configuration  ----------------------\n");
  auto const end = finished.error.find(" --------------------------------------------------\n");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  EXPECT_LT(end, finished.error.find(" Job: default, mode ps, replicas 1[1:1], elastic False\n"));
  std::vector<std::string> names;
  std::istringstream lines(finished.error.substr(begin, end - begin));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    // LAUNCH INFO date time name: value
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 4; ++i) fields >> field;
    if (fields >> field) names.push_back(field);
  }
  EXPECT_GT(names.size(), 15U);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_TRUE(has(finished.error, "training_script_args: ['--password', '***', '--epochs=3']\n")) << finished.error;
  EXPECT_FALSE(has(finished.error, "hunter"));
}

TEST(JobFlags, TheLogLevelTakesInfosAwayAndNothingElse) {
  auto const finished = run_prrun({"--log_level", "WARNING", "--", "sh", "-c",
                                   "[ $TRAINING_ROLE = PSERVER ] && exec sleep 1000; echo hello; exit 3"});
  EXPECT_EQ(finished.code(), 3);
  EXPECT_FALSE(has(finished.error, "LAUNCH INFO")) << finished.error;
  EXPECT_TRUE(has(finished.error, "LAUNCH ERROR")) << finished.error;
  EXPECT_TRUE(has(finished.out, "[trainer 0] hello\n"));
}

TEST(JobFlags, WhatMeansNothingHereIsTakenWithALine) {
  std::vector<Case> const cases{
      {{"--legacy", "True"}, {}, "legacy True is not used: there is one launcher"},
      {{"--sort_ip", "true"}, {}, "sort_ip true is not used: nodes stand in the order of the lists"},
      {{"--enable_gpu_log", "True"}, {}, "enable_gpu_log True is not used: no log of the cards is written"},
      {{"--rank", "1"}, {}, "rank 1 is not used: this is the only node"},
      {{"--elastic_level", "1"}, {}, "elastic_level 1 is not used: max_restart starts the whole job again"},
      {{"--elastic_timeout", "60"}, {}, "elastic_timeout is not used: this job is not elastic"},
      {{"--server_num", "1", "--nproc_per_node", "2"}, {}, "nproc_per_node is of collective jobs and not used"},
      {{"--server_num", "1", "--gpus", "0"},
       {},
       "devices is of collective jobs and not used: set CUDA_VISIBLE_DEVICES"},
      {{"--server_num", "1", "--ips", "a,b"}, {}, "ips is of collective jobs and not used"},
  };
  for (auto const& [words, variables, text] : cases) {
    auto flags = words;
    flags.insert(flags.end(), {"--dry_run", "true"});
    auto const finished = run_prrun(flags);
    EXPECT_EQ(finished.code(), 0) << finished.error;
    EXPECT_TRUE(has(finished.error, "prrun: " + text)) << text << '\n' << finished.error;
  }
  EXPECT_EQ(run_prrun({"--legacy", "False", "--dry_run", "true"}).error, "");
}

TEST(JobFlags, WhatIsNotThereIsRefusedWithTheWayOut) {
  std::vector<Case> const cases{
      {{"--npus", "0"}, {}, "--npus: cards are CUDA's: give --devices"},
      {{"--heter_worker_num", "2"}, {}, "--heter_worker_num: a job has servers and trainers only: give --trainer_num"},
      {{"--auto_tuner_json", "x"}, {}, "--auto_tuner_json: there is no automatic tuning"},
      {{"--run_mode", "ps-heter"}, {}, "--run_mode: 'ps-heter' is not ps or collective"},
      {{"--run_mode", "collective", "--server_num", "1"}, {}, "--run_mode: a collective job has no servers"},
      {{"--log_level", "LOUD"}, {}, "--log_level: "},
      {{"--log_overwrite", "maybe"}, {}, "--log_overwrite: 'maybe' is not true or false"},
      {{"--servers", "127.0.0.1:1"}, {}, "--servers: needs --trainers too"},
      {{"--trainers", "127.0.0.1:1"}, {}, "--trainers: needs --servers too"},
      {{"--servers", "127.0.0.1", "--trainers", "127.0.0.1:1"}, {}, "launcher: --servers: '127.0.0.1' has no port"},
      {{"--servers", "127.0.0.1:1", "--trainers", "127.0.0.1:2", "--server_num", "2"},
       {},
       "--servers: there are 1, but the number given is 2: leave the number away"},
      {{"--start_port", "65534"}, {}, "--start_port: 65534 leaves no room for 3 ports up to 65535"},
  };
  for (auto const& [words, variables, text] : cases) {
    auto flags = words;
    flags.emplace_back("true");
    auto const finished = run_prrun(flags);
    EXPECT_EQ(finished.code(), 64) << text;
    EXPECT_TRUE(has(finished.error, "prrun: " + text)) << text << '\n' << finished.error;
  }
}

TEST(JobFlags, ListsThatDoNotNameThisMachineAre78) {
  auto const finished = run_prrun({"--servers", "203.0.113.1:1", "--trainers", "203.0.113.2:1", "true"});
  EXPECT_EQ(finished.code(), 78);
  EXPECT_TRUE(has(finished.error, "name 203.0.113.1, 203.0.113.2, and this machine is ")) << finished.error;
}

TEST(JobFlags, PaddlesVariablesForFreePortsAreUnderstood) {
  auto const port = prdist::bind_loopback().value().endpoint.port;
  Variables const fixed{{"FLAGS_FIXED_PORT", std::to_string(port)}};
  auto const finished = run_prrun({"--dry_run", "true"}, fixed);
  if (has(finished.error, "cannot be bound")) GTEST_SKIP() << "somebody has the next port: " << finished.error;
  EXPECT_EQ(finished.code(), 0) << finished.error;
  EXPECT_TRUE(has(finished.out, prdist::concat("PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:", port, '\n'))) << finished.out;
  auto const wrong = run_prrun({"--dry_run", "true"}, {{"FLAGS_FIXED_PORT", "70000"}});
  EXPECT_EQ(wrong.code(), 64);
  EXPECT_TRUE(has(wrong.error, "FLAGS_FIXED_PORT: '70000' is not a port: it is used as --start_port")) << wrong.error;
  auto const range = run_prrun({"--dry_run", "true"}, {{"PORT_RANGE", "35100:64000"}});
  EXPECT_EQ(range.code(), 0);
  EXPECT_TRUE(has(range.error, "PORT_RANGE=35100:64000 is not used: start_port counts ports from a number\n"))
      << range.error;
}

TEST(JobFlags, NodesOfACollectiveJobCountPortsFromTheSameStart) {
  auto const port = prdist::bind_loopback().value().endpoint.port;
  auto const finished = run_prrun({"--ips", "127.0.0.1,127.0.0.2", "--nproc_per_node", "2", "--host", "127.0.0.2",
                                   "--start_port", std::to_string(port), "--dry_run", "true"});
  if (has(finished.error, "cannot be bound")) GTEST_SKIP() << "somebody has the next port: " << finished.error;
  EXPECT_EQ(finished.code(), 0) << finished.error;
  auto const list =
      prdist::concat("127.0.0.1:", port, ",127.0.0.1:", port + 1, ",127.0.0.2:", port, ",127.0.0.2:", port + 1);
  EXPECT_TRUE(has(finished.out, "PADDLE_TRAINER_ENDPOINTS=" + list + '\n')) << finished.out;
  EXPECT_EQ(count(finished.out, "PADDLE_GLOBAL_RANK="), 2U);
  EXPECT_TRUE(has(finished.out, "PADDLE_GLOBAL_RANK=3\n  PADDLE_LOCAL_RANK=1\n")) << finished.out;
  EXPECT_FALSE(has(finished.out, "PADDLE_MASTER=")) << finished.out;
}
