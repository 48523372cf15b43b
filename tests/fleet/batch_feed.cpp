#include <prdist/fleet/batch_feed.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

using namespace prdist;
using namespace std::chrono_literals;

namespace {

auto counting(int& at, int end) {
  return [&at, end]() -> std::optional<int> { return at < end ? std::optional(at++) : std::nullopt; };
}

void nothing() {}
void no_wait(Duration) {
  FAIL() << "there is nothing to wait for";
}

}  // namespace

TEST(BatchFeed, GivesEveryBatchOnce) {
  int at = 0;
  auto next = counting(at, 3);
  TrainOptions const options;
  BatchFeed feed(next, options);
  EXPECT_EQ(feed.take(), 0);
  EXPECT_EQ(feed.fetch(nothing, no_wait), 1);
  EXPECT_EQ(feed.take(), 2);
  EXPECT_EQ(feed.take(), std::nullopt);
  EXPECT_EQ(feed.fetch(nothing, no_wait), std::nullopt);
}

// A pause that becomes due after the thread has looked for one once ended the training, with batches left.
TEST(BatchFeed, APauseThatBecomesDueIsNotTheEnd) {
  int at = 0;
  auto next = counting(at, 2);
  int asked = 0, pauses = 0;
  TrainOptions options;
  options.pause_due = [&] { return ++asked == 2; };
  options.pause = [&] { ++pauses; };
  BatchFeed feed(next, options);
  auto const look = [&] {
    if (feed.pause_due()) feed.pause();
  };
  EXPECT_EQ(feed.fetch(look, no_wait), 0);
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(feed.fetch(look, no_wait), 1);
  EXPECT_EQ(feed.fetch(look, no_wait), std::nullopt);
}

TEST(BatchFeed, NobodyTakesABatchWhileAPauseIsDue) {
  int at = 0;
  auto next = counting(at, 2);
  bool due = true;
  TrainOptions options;
  options.pause_due = [&] { return due; };
  options.pause = [] {};
  BatchFeed feed(next, options);
  EXPECT_EQ(feed.take(), std::nullopt);
  due = false;
  EXPECT_TRUE(feed.pause_due()) << "until they have met";
  EXPECT_EQ(feed.take(), std::nullopt);
  feed.pause();
  EXPECT_EQ(feed.take(), 0);
}

TEST(BatchFeed, WaitsWhileThereMayBeMore) {
  int at = 0, end = 1;
  auto next = [&]() -> std::optional<int> { return at < end ? std::optional(at++) : std::nullopt; };
  std::vector<std::optional<Duration>> answers{5ms, Duration{0}, std::nullopt};
  std::size_t asked = 0;
  TrainOptions options;
  options.more = [&] { return answers.at(asked++); };
  BatchFeed feed(next, options);
  EXPECT_EQ(feed.fetch(nothing, no_wait), 0);
  std::vector<Duration> waited;
  auto const wait = [&](Duration time) {
    waited.push_back(time);
    ++end;
  };
  EXPECT_EQ(feed.fetch(nothing, wait), 1);
  EXPECT_EQ(feed.fetch(nothing, wait), std::nullopt);
  EXPECT_EQ(waited, std::vector<Duration>{5ms}) << "no time is nothing to wait for";
  EXPECT_EQ(asked, 3U);
}

TEST(BatchFeed, IsEmptyWhenItIsStopped) {
  int at = 0;
  auto next = counting(at, 2);
  TrainOptions const options;
  BatchFeed feed(next, options);
  feed.stop();
  EXPECT_EQ(feed.take(), std::nullopt);
  EXPECT_EQ(feed.fetch(nothing, no_wait), std::nullopt);
  bool told = false;
  feed.tell([&] { told = true; });
  EXPECT_TRUE(told);
}
