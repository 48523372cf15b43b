#include <prdist/table/row_pool.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "../support/thrown.hpp"

using namespace prdist;

TEST(RowPool, RowsAreZeroAndApart) {
  for (std::size_t const bytes : {1U, 4U, 8U, 20U, 128U, 70000U}) {
    Arena arena;
    RowPool pool(arena, bytes);
    std::vector<float*> rows;
    for (unsigned char i = 0; i < 40; ++i) {
      rows.push_back(pool.take());
      std::vector<unsigned char> const zeros(bytes);
      ASSERT_EQ(std::memcmp(rows.back(), zeros.data(), bytes), 0) << bytes;
      std::memset(rows.back(), i + 1, bytes);
    }
    for (unsigned char i = 0; i < 40; ++i) {
      std::vector<unsigned char> const expected(bytes, static_cast<unsigned char>(i + 1));
      ASSERT_EQ(std::memcmp(rows[i], expected.data(), bytes), 0) << bytes;
    }
  }
}

TEST(RowPool, WhatIsGivenBackIsTakenAgain) {
  Arena arena;
  RowPool pool(arena, 12);
  std::set<float*> first, second;
  for (int i = 0; i < 100; ++i) first.insert(pool.take());
  for (auto* const row : first) {
    std::memset(row, 0xee, 12);
    pool.give_back(row);
  }
  for (int i = 0; i < 100; ++i) {
    auto* const row = pool.take();
    for (int k = 0; k < 3; ++k) EXPECT_EQ(row[k], 0.0F);
    second.insert(row);
  }
  EXPECT_EQ(second, first);
}

TEST(RowPool, KnowsWhenTheCeilingLeavesNoRoom) {
  Arena arena(std::size_t{2} << 20);
  RowPool pool(arena, 1024);
  std::size_t taken = 0;
  for (; pool.has_room(); ++taken) (void)pool.take();
  EXPECT_GT(taken, 1900U);
  auto const error = test::thrown([&] { (void)pool.take(); });
  EXPECT_EQ(error.code(), Errc::table_memory);
  EXPECT_STREQ(error.what(),
               "prdist[table.memory] cannot take 2 MiB more beside the 2 MiB of this thread's tables, their ceiling "
               "is 2 MiB: raise it or spread the job over more servers");
  EXPECT_EQ(arena.bytes(), std::size_t{2} << 20);
}

TEST(RowPool, KnowsHowManyRowsItHasToSpare) {
  Arena arena(std::size_t{2} << 20);
  RowPool pool(arena, 1024);
  EXPECT_EQ(pool.spare(), 0U);
  EXPECT_TRUE(pool.may_grow());
  auto* const row = pool.take();
  auto const left = pool.spare();
  pool.give_back(row);
  EXPECT_EQ(pool.spare(), left + 1);
  while (pool.has_room()) (void)pool.take();
  EXPECT_FALSE(pool.may_grow());
  EXPECT_EQ(pool.spare(), 0U);
}
