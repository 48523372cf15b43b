#include <prdist/fleet/options.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "../support/thrown.hpp"
#include "environment.hpp"

using namespace prdist;
using namespace std::chrono_literals;
using test::thrown;
using test::Variables;

TEST(Options, DefaultsHoldWithoutVariables) {
  auto const options = options_from_env(Variables{});
  EXPECT_EQ(options.deadline, 60s);
  EXPECT_EQ(options.wait_for_servers, 120s);
  EXPECT_EQ(options.wait_for_workers, 30min);
  EXPECT_EQ(options.wait_for_disk, 10min);
  EXPECT_EQ(options.lost_after, 60s);
  EXPECT_EQ(options.elastic_timeout, 120s);
  EXPECT_EQ(options.retry_every, 3s);
  EXPECT_EQ(options.server_threads, default_server_threads());
  EXPECT_GE(options.server_threads, 1U);
  EXPECT_LE(options.server_threads, 8U);
  EXPECT_EQ(options.seed, 0U);
}

TEST(Options, EachVariableSetsItsOwn) {
  auto const options = options_from_env(Variables{{{"FLAGS_rpc_deadline", "1500"},
                                                   {"PRDIST_WAIT_SERVERS", "11"},
                                                   {"PRDIST_WAIT_WORKERS", "12"},
                                                   {"PRDIST_WAIT_DISK", "15"},
                                                   {"PRDIST_LOST_AFTER", "13"},
                                                   {"PRDIST_ELASTIC_TIMEOUT", "14"},
                                                   {"PRDIST_SERVER_THREADS", "4"}}});
  EXPECT_EQ(options.deadline, 1500ms) << "milliseconds, as Paddle has them";
  EXPECT_EQ(options.wait_for_servers, 11s);
  EXPECT_EQ(options.wait_for_workers, 12s);
  EXPECT_EQ(options.wait_for_disk, 15s);
  EXPECT_EQ(options.lost_after, 13s);
  EXPECT_EQ(options.elastic_timeout, 14s);
  EXPECT_EQ(options.server_threads, 4U);
}

TEST(Options, MemoryForNoTableIsNamedWithWhatWouldDo) {
  Variables const little{{{"PRDIST_SERVER_MEMORY_MB", "5"}, {"PRDIST_SERVER_THREADS", "3"}}};
  EXPECT_STREQ(thrown([&] { (void)options_from_env(little); }).what(),
               "prdist[config.invalid] PRDIST_SERVER_MEMORY_MB='5': a server's tables take 2 MiB at least for each of "
               "its threads, of which there are 3: give "
               "6 or more, or fewer PRDIST_SERVER_THREADS");
  Variables const enough{{{"PRDIST_SERVER_MEMORY_MB", "6"}, {"PRDIST_SERVER_THREADS", "3"}}};
  EXPECT_EQ(options_from_env(enough).server_memory, std::size_t{6} << 20);
}

TEST(Options, NotWaitingForServersIsAllowed) {
  EXPECT_EQ(options_from_env(Variables{{{"PRDIST_WAIT_SERVERS", "0"}}}).wait_for_servers, 0s);
}

TEST(Options, TheLongestTimesDoNotOverflow) {
  auto const options =
      options_from_env(Variables{{{"FLAGS_rpc_deadline", "1000000000"}, {"PRDIST_WAIT_WORKERS", "1000000000"}}});
  EXPECT_EQ(options.deadline, 1000000s);
  EXPECT_EQ(options.wait_for_workers, 1000000000s);
  auto const now = TimePoint(std::chrono::steady_clock::now());
  EXPECT_GT(now + options.wait_for_workers, now);
}

TEST(Options, ThreadsOfAWorkerComeFromCpuNum) {
  EXPECT_FALSE(threads_from_env(Variables{}));
  EXPECT_EQ(threads_from_env(Variables{{{"CPU_NUM", "3"}}}), 3U);
  for (std::string const value : {"", "0", "-1", "1025", "2.5", "all"}) {
    EXPECT_EQ(thrown([&] {
                (void)threads_from_env(Variables{{{"CPU_NUM", value}}});
              }).what(),
              concat("prdist[config.invalid] CPU_NUM='", value, "': a number from 1 to 1024 is expected"));
  }
}

TEST(Options, WhatIsNoNumberInItsBoundsIsNamed) {
  struct Variable {
    char const* name;
    char const* bounds;
    std::vector<std::string> wrong;
  };
  for (auto const& [name, bounds, wrong] :
       std::vector<Variable>{{"FLAGS_rpc_deadline", "1 to 1000000000", {"", "0", "-5", "1s", "1.5", "1000000001"}},
                             {"PRDIST_WAIT_SERVERS", "0 to 1000000000", {"", "-1", "forever", "1000000001"}},
                             {"PRDIST_WAIT_WORKERS", "1 to 1000000000", {"", "0", "-1", "x"}},
                             {"PRDIST_LOST_AFTER", "1 to 1000000000", {"", "0", "-1", "x"}},
                             {"PRDIST_ELASTIC_TIMEOUT", "1 to 1000000000", {"", "0", "-1", "x"}},
                             {"PRDIST_SERVER_THREADS", "1 to 256", {"", "0", "257", "-1", "two", "99999999999"}}}) {
    for (auto const& value : wrong) {
      Variables const variables{{{name, value}}};
      auto const error = thrown([&] { (void)options_from_env(variables); });
      EXPECT_EQ(error.what(),
                concat("prdist[config.invalid] ", name, "='", value, "': a number from ", bounds, " is expected"));
    }
  }
}
