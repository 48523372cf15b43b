#include <prdist/core/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

using namespace prdist;
using namespace std::chrono_literals;

namespace {

// Far enough that only a hang reaches it.
TimePoint long_after(Runtime const& runtime) {
  return runtime.now() + 60s;
}

}  // namespace

TEST(Gate, OpenedByAnotherThreadEndsTheWaiting) {
  SystemRuntime runtime;
  Gate gate;
  EXPECT_FALSE(gate.is_open());
  std::thread opener([&] { gate.open(); });
  EXPECT_TRUE(runtime.wait(gate, long_after(runtime)));
  opener.join();
  EXPECT_TRUE(gate.is_open());
}

TEST(Gate, StaysOpenAndLetsEveryWaiterThrough) {
  SystemRuntime runtime;
  Gate gate;
  std::atomic<int> through = 0;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] { through += runtime.wait(gate, long_after(runtime)) ? 1 : 0; });
  }
  gate.open();
  for (auto& waiter : waiters) waiter.join();
  EXPECT_EQ(through, 4);
  gate.open();
  // Open counts more than late.
  EXPECT_TRUE(runtime.wait(gate, runtime.now() - 1s));
}

TEST(Gate, ShutAtTheDeadlineIsFalse) {
  SystemRuntime runtime;
  Gate gate;
  EXPECT_FALSE(runtime.wait(gate, runtime.now() - 1s));
  auto const deadline = runtime.now() + 5ms;
  EXPECT_FALSE(runtime.wait(gate, deadline));
  EXPECT_GE(runtime.now(), deadline);
}

// Under the thread sanitizer, mostly: whoever opened it must not touch it any more once it is seen open.
TEST(Gate, MayBeDestroyedAsSoonAsItIsSeenOpen) {
  for (int i = 0; i < 200; ++i) {
    std::thread opener;
    {
      auto const gate = std::make_unique<Gate>();
      opener = std::thread([&gate = *gate] { gate.open(); });
      EXPECT_TRUE(gate->wait_until(std::chrono::steady_clock::now() + 60s));
    }
    opener.join();
  }
}

TEST(SystemRuntime, CallsInTheOrderTheyAreDue) {
  SystemRuntime runtime;
  Gate all_set, done;
  std::vector<int> order;
  runtime.after(-10h, [&] { EXPECT_TRUE(all_set.wait_until(long_after(runtime))); });
  // All overdue, hours apart: how fast this thread runs does not matter.
  runtime.after(-1h, [&] {
    order.push_back(3);
    done.open();
  });
  runtime.after(-3h, [&] { order.push_back(1); });
  runtime.after(-2h, [&] { order.push_back(2); });
  all_set.open();
  ASSERT_TRUE(runtime.wait(done, long_after(runtime)));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(SystemRuntime, NeverCallsTooEarlyAndANearCallPassesAFarOne) {
  SystemRuntime runtime;
  Gate near;
  std::atomic<bool> far_called = false;
  runtime.after(1h, [&] { far_called = true; });
  auto const due = runtime.now() + 5ms;
  TimePoint called{};
  runtime.after(5ms, [&] {
    called = runtime.now();
    near.open();
  });
  ASSERT_TRUE(runtime.wait(near, long_after(runtime)));
  EXPECT_GE(called, due);
  EXPECT_FALSE(far_called);
}

TEST(SystemRuntime, ACallMaySetTheNext) {
  SystemRuntime runtime;
  Gate done;
  int left = 50;
  std::function<void()> again = [&] {
    if (--left == 0) {
      done.open();
    } else {
      runtime.after(0ns, again);
    }
  };
  runtime.after(0ns, again);
  ASSERT_TRUE(runtime.wait(done, long_after(runtime)));
  EXPECT_EQ(left, 0);
}

TEST(SystemRuntime, EveryCallOfManyThreadsComesOnce) {
  Gate done;
  std::atomic<int> calls = 0;
  std::vector<std::thread> threads;
  {
    SystemRuntime runtime;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          runtime.after(std::chrono::microseconds(i), [&] {
            if (++calls == 400) done.open();
          });
        }
      });
    }
    EXPECT_TRUE(runtime.wait(done, long_after(runtime)));
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(calls, 400);
}

TEST(SystemRuntime, EndsAtOnceAndDropsWhatIsStillWaiting) {
  auto const kept = std::make_shared<int>(0);
  auto const start = std::chrono::steady_clock::now();
  {
    SystemRuntime runtime;
    runtime.after(1h, [kept] { ++*kept; });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 60s);
  EXPECT_EQ(*kept, 0);
  EXPECT_EQ(kept.use_count(), 1) << "a dropped call must let go of what it holds";
}

TEST(Runtime, SecondsKeepTheFraction) {
  static_assert(seconds(1500ms) == 1.5);
  static_assert(seconds(0ns) == 0.0);
  static_assert(seconds(1ns) == 1e-9);
}
