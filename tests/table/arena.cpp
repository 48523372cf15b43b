#include <prdist/table/arena.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "../support/random.hpp"
#include "../support/thrown.hpp"

using namespace prdist;
using test::holds;
using test::thrown;

namespace {

bool all_zero(void const* block, std::size_t bytes) {
  auto const* const start = static_cast<unsigned char const*>(block);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (start[i] != 0) return false;
  }
  return true;
}

}  // namespace

TEST(Arena, BlocksAreAlignedZeroedAndApart) {
  struct Block {
    void* start;
    std::size_t bytes;
    int mark;
  };
  Arena arena;
  test::Random random(1);
  std::vector<Block> blocks;
  for (int i = 0; i < 2000; ++i) {
    Block const block{nullptr, 1 + random.below(5000), 1 + i % 250};
    blocks.push_back(block);
    auto& it = blocks.back();
    it.start = arena.allocate(it.bytes);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(it.start) % 64, 0U);
    ASSERT_TRUE(all_zero(it.start, it.bytes)) << i;
    std::memset(it.start, it.mark, it.bytes);
  }
  for (auto const& block : blocks) {
    std::vector<unsigned char> const expected(block.bytes, static_cast<unsigned char>(block.mark));
    ASSERT_EQ(std::memcmp(block.start, expected.data(), block.bytes), 0);
  }
}

TEST(Arena, CountsWhatItTookFromTheSystem) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  Arena arena;
  EXPECT_EQ(arena.bytes(), 0U);
  (void)arena.allocate(1);
  EXPECT_EQ(arena.bytes(), huge_page);
  (void)arena.allocate(huge_page - 64);
  EXPECT_EQ(arena.bytes(), huge_page) << "one chunk holds both";
  (void)arena.allocate(1);
  EXPECT_EQ(arena.bytes(), 2 * huge_page);
  (void)arena.allocate(5 * huge_page + 1);
  EXPECT_EQ(arena.bytes(), 8 * huge_page);
}

TEST(Arena, GivesEverythingBackInTheEnd) {
  void* block = nullptr;
  unsigned char resident = 0;
  {
    Arena arena;
    block = arena.allocate(4096);
    std::memset(block, 1, 4096);
    auto* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(block) / 4096 * 4096);
    EXPECT_EQ(::mincore(page, 4096, &resident), 0);
    block = page;
  }
  EXPECT_EQ(::mincore(block, 4096, &resident), -1);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Arena, RefusesWhatTheSystemDoesNotHaveAndGoesOn) {
  Arena arena;
  (void)arena.allocate(64);
  auto const error = thrown([&] { (void)arena.allocate(std::size_t{1} << 47); });
  EXPECT_EQ(error.code(), Errc::table_memory);
  EXPECT_STREQ(error.what(),
               "prdist[table.memory] cannot take 134217728 MiB more beside the 2 MiB of this thread's tables: give the "
               "server more memory or spread the job over more servers");
  // Sizes that wrap around when they are rounded up.
  for (std::size_t const less : {0U, 1U, 63U, 64U, 1U << 20U, 3U << 20U}) {
    auto const bytes = std::numeric_limits<std::size_t>::max() - less;
    EXPECT_EQ(thrown([&] { (void)arena.allocate(bytes); }).code(), Errc::table_memory) << less;
  }
  EXPECT_TRUE(all_zero(arena.allocate(1000), 1000));
  EXPECT_EQ(arena.bytes(), std::size_t{2} << 20);
}
