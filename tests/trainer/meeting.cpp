#include <prdist/trainer/meeting.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace prdist;

TEST(Meeting, OneLeadsForAllAndNobodyPassesBefore) {
  SystemRuntime runtime;
  Meeting meeting(runtime);
  constexpr std::size_t members = 5;
  for (std::size_t i = 0; i < members; ++i) meeting.join(i);
  std::atomic<int> arrived = 0, led = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < members; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 1; round <= 50; ++round) {
        ++arrived;
        meeting.meet(i, [&](auto const& here) {
          EXPECT_EQ(here.size(), members);
          EXPECT_EQ(arrived, round * static_cast<int>(members));
          ++led;
        });
        EXPECT_GE(led, round);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(led, 50);
}

TEST(Meeting, WhoLeavesIsNotWaitedForAndLeadsWhenTheOthersWaitAlready) {
  SystemRuntime runtime;
  Meeting meeting(runtime);
  for (std::size_t i = 0; i < 3; ++i) meeting.join(i);
  std::atomic<int> led = 0;
  auto const lead = [&](std::set<std::size_t> const& here) {
    EXPECT_EQ(here, (std::set<std::size_t>{0, 2}));
    ++led;
  };
  std::thread first([&] { meeting.meet(0, lead); });
  std::thread third([&] { meeting.meet(2, lead); });
  meeting.leave(1);
  first.join();
  third.join();
  EXPECT_EQ(led, 1);
}

TEST(Meeting, WhatTheLeadThrowsIsThrownToAll) {
  SystemRuntime runtime;
  Meeting meeting(runtime);
  for (std::size_t i = 0; i < 3; ++i) meeting.join(i);
  std::atomic<int> caught = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      try {
        meeting.meet(i, [](auto const&) { throw std::runtime_error("no"); });
      } catch (std::runtime_error const&) {
        ++caught;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(caught, 3);
}
