#include <prdist/wire/buffer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "../support/random.hpp"

using namespace prdist;

namespace {

std::atomic<int> live_buffers = 0;

}  // namespace

// The form of new that only buffers use in this program: so the test sees which of them are alive.
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  auto const align = static_cast<std::size_t>(alignment);
  auto* const memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
  ++live_buffers;
  return memory;
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  if (memory != nullptr) --live_buffers;
  std::free(memory);
}

TEST(Buffer, IsAlignedAndShowsItsPartsAsValues) {
  BufferPool pool;
  for (std::size_t const size : {0U, 1U, 8U, 4096U, 4097U, 1000000U}) {
    auto const buffer = pool.take(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->bytes().data()) % 64, 0U);
    EXPECT_EQ(buffer->bytes().size(), size);
    EXPECT_GE(buffer->capacity(), size);
    std::fill(buffer->bytes().begin(), buffer->bytes().end(), std::byte{0x5a});  // all of it is ours
  }
  auto const buffer = pool.take(8 + 12);
  buffer->as<std::uint64_t>(0, 1)[0] = 7;
  auto const floats = buffer->as<float>(8, 3);
  std::fill(floats.begin(), floats.end(), 0.5F);
  EXPECT_EQ(buffer->as<std::uint64_t>(0, 1)[0], 7U);
  float last = 0;
  std::memcpy(&last, buffer->bytes().data() + 16, sizeof last);
  EXPECT_EQ(last, 0.5F);
}

TEST(BufferPool, UsesABufferAgain) {
  BufferPool pool;
  auto first = pool.take(100000);
  auto const* const memory = first->bytes().data();
  first.reset();
  auto const again = pool.take(120000);  // the same when rounded up to a power of two
  EXPECT_EQ(again->bytes().data(), memory);
  EXPECT_EQ(again->bytes().size(), 120000U);
  EXPECT_NE(pool.take(100000)->bytes().data(), memory) << "it is in use";
}

TEST(BufferPool, DoesNotHandOutABufferThatIsTooSmall) {
  BufferPool pool;
  pool.take(5000).reset();
  EXPECT_GE(pool.take(50000)->capacity(), 50000U);
}

TEST(BufferPool, AnyOwnerKeepsTheBuffer) {
  BufferPool pool;
  auto first = pool.take(10);
  auto const second = first;
  auto const* const memory = first->bytes().data();
  first.reset();
  EXPECT_NE(pool.take(10)->bytes().data(), memory);
}

TEST(BufferPool, KeepsNoMoreThanItsBound) {
  ASSERT_EQ(live_buffers, 0);
  {
    BufferPool pool(2 * 4096);  // room for two of the smallest
    std::vector<std::shared_ptr<Buffer>> taken;
    for (int i = 0; i < 5; ++i) taken.push_back(pool.take(4096));
    EXPECT_EQ(live_buffers, 5);
    taken.clear();
    EXPECT_EQ(live_buffers, 2);
    taken.push_back(pool.take(1));
    EXPECT_EQ(live_buffers, 2) << "a spare one was there";
    pool.take(10000).reset();
    EXPECT_EQ(live_buffers, 2) << "larger than the room that is left";
    taken.clear();
    EXPECT_EQ(live_buffers, 2);
  }
  EXPECT_EQ(live_buffers, 0) << "the pool took its spare ones with it";
}

TEST(BufferPool, ABufferMayOutliveThePool) {
  ASSERT_EQ(live_buffers, 0);
  std::shared_ptr<Buffer> buffer;
  {
    BufferPool pool;
    buffer = pool.take(1000);
    pool.take(9000).reset();
  }
  std::fill(buffer->bytes().begin(), buffer->bytes().end(), std::byte{1});
  EXPECT_EQ(buffer->bytes().size(), 1000U);
  buffer.reset();
  EXPECT_EQ(live_buffers, 0);
}

TEST(BufferPool, ThreadsDoNotShareABuffer) {
  BufferPool pool;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, &wrong, t] {
      test::Random random(t);
      for (int i = 0; i < 300; ++i) {
        auto const buffer = pool.take(1 + random.below(20000));
        auto const mark = static_cast<std::byte>(t + 1);
        std::fill(buffer->bytes().begin(), buffer->bytes().end(), mark);
        for (auto const each : buffer->bytes()) wrong[t] += each == mark ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}
