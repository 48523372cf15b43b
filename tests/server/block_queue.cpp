#include <prdist/server/block_queue.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "../support/thrown.hpp"

using namespace prdist;

namespace {

RowBlock block(std::size_t rows) {
  return {.table = 1, .row_bytes = 8, .keys = std::vector<Key>(rows), .rows = std::vector<std::byte>(rows * 8)};
}

}  // namespace

TEST(BlockQueue, GivesBlocksInOrderAndThenTheEnd) {
  BlockQueue queue;
  queue.put(block(1));
  queue.put(block(2));
  queue.end();
  EXPECT_EQ(queue.take()->keys.size(), 1U);
  EXPECT_EQ(queue.take()->keys.size(), 2U);
  EXPECT_FALSE(queue.take());
  EXPECT_FALSE(queue.take());
}

TEST(BlockQueue, AsksForAPauseBeforeItHoldsAnybodyUp) {
  BlockQueue queue(16, 48);
  EXPECT_TRUE(queue.ready());
  queue.put(block(1));
  EXPECT_FALSE(queue.ready());
  queue.put(block(1));  // a row that is about to change comes all the same
  queue.put(block(1));
  std::atomic<bool> through = false;
  std::thread fourth([&] {
    queue.put(block(1));
    through = true;
  });
  EXPECT_FALSE(through);  // it cannot be: nobody has made room
  (void)queue.take();
  fourth.join();
  EXPECT_TRUE(through);
  for (int i = 0; i < 3; ++i) (void)queue.take();
  EXPECT_TRUE(queue.ready());
}

TEST(BlockQueue, TheMemoryOfABlockThatIsThroughIsUsedAgain) {
  BlockQueue queue;
  EXPECT_EQ(queue.spare().rows.capacity(), 0U);
  auto first = block(3);
  auto const* const memory = first.rows.data();
  queue.put(std::move(first));
  queue.end();
  queue.drain([](RowBlock const&) {});
  auto const again = queue.spare();
  EXPECT_EQ(again.rows.data(), memory);
  EXPECT_TRUE(again.keys.empty());
  EXPECT_TRUE(again.rows.empty());
  EXPECT_EQ(queue.spare().rows.capacity(), 0U) << "it was given out once";
}

TEST(BlockQueue, NotEveryBlockThatIsThroughIsKept) {
  BlockQueue queue;
  for (int i = 0; i < 1000; ++i) queue.give_back(block(1));
  int kept = 0;
  while (queue.spare().rows.capacity() > 0) ++kept;
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 1000);
}

TEST(BlockQueue, WhateverTheOneWhoEmptiesItThrowsReachesTheOthers) {
  BlockQueue queue(8, 16);
  queue.put(block(1));
  std::string said;
  std::thread waiting([&] {
    said = test::thrown([&] {
             for (;;) queue.put(block(1));
           }).what();
  });
  EXPECT_THROW(queue.drain([](RowBlock const&) { throw std::bad_alloc(); }), std::bad_alloc);
  waiting.join();
  EXPECT_EQ(said, "prdist[internal.error] std::bad_alloc");
}

TEST(BlockQueue, AFailureReachesBothEnds) {
  auto const queue = std::make_shared<BlockQueue>(8, 16);
  QueueSink sink(queue);
  sink.take(block(1));
  EXPECT_FALSE(sink.ready());
  std::string said;
  std::thread waiting([&] { said = test::thrown([&] { sink.take(block(1)); }).what(); });
  queue->fail(Error(Errc::data_file, "the disk is full"));
  waiting.join();
  EXPECT_EQ(said, "prdist[data.file] the disk is full");
  EXPECT_STREQ(test::thrown([&] { (void)queue->take(); }).what(), "prdist[data.file] the disk is full");
  EXPECT_TRUE(sink.ready());
}
