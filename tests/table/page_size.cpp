#include <prdist/table/page_size.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

using namespace prdist;
using namespace std::chrono_literals;

TEST(PageSize, IsHugeWhileHugePagesAreCheap) {
  PageSize pages;
  for (int chunk = 0; chunk < 100; ++chunk) {
    EXPECT_TRUE(pages.huge());
    EXPECT_TRUE(pages.took(500us));
  }
}

TEST(PageSize, OfADearMachineIsTriedEverMoreSeldom) {
  PageSize pages;
  std::vector<int> tries;
  for (int chunk = 0; chunk < 1000; ++chunk) {
    if (!pages.huge()) continue;
    tries.push_back(chunk);
    EXPECT_FALSE(pages.took(30ms));
  }
  EXPECT_EQ(tries, (std::vector<int>{0, 2, 5, 10, 19, 36, 69, 134, 263, 520}));
}

TEST(PageSize, MemoryThatHasBecomeCheapIsHugeAgain) {
  PageSize pages;
  EXPECT_TRUE(pages.huge());
  EXPECT_FALSE(pages.took(PageSize::dear));
  EXPECT_FALSE(pages.huge());
  for (int chunk = 0; chunk < 10; ++chunk) {
    EXPECT_TRUE(pages.huge());
    EXPECT_TRUE(pages.took(PageSize::dear - 1ns));
  }
}

TEST(PageSize, ATouchedPageIsThereAndZero) {
  auto* const page =
      static_cast<std::byte*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_GE(PageSize::touched(page), 0ns);
  unsigned char there = 0;
  EXPECT_EQ(::mincore(page, 4096, &there), 0);
  EXPECT_EQ(there & 1, 1);
  EXPECT_EQ(*page, std::byte{0});
  ::munmap(page, 4096);
}
