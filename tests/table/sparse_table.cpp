#include <prdist/table/sparse_table.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../support/random.hpp"
#include "../support/thrown.hpp"

using namespace prdist;
using test::holds;
using test::key_with_hash;
using test::Random;
using test::thrown;

namespace {

float* insert(SparseTable& table, Key key) {
  return table.insert(hash_key(key), key);
}

float* find(SparseTable const& table, Key key) {
  return table.find(hash_key(key), key).row();
}

/// What ids look like in the wild, and what they should not.
std::vector<Key> all_sorts_of_keys() {
  std::set<Key> keys{0, std::numeric_limits<Key>::max(), Key{1} << 63};
  Random random(3);
  for (Key i = 0; i < 50000; ++i) keys.insert(i);                              // sequential
  for (Key i = 0; i < 50000; ++i) keys.insert(0xabcd000000000000ULL | i * 7);  // a field number in the high bits
  for (Key i = 0; i < 30000; ++i) keys.insert(i << 32);                        // only high bits differ
  for (Key i = 1; i < 20000; ++i) keys.insert(0 - i);                          // all ones in front
  while (keys.size() < 210000) keys.insert(random.bits());
  std::vector<Key> shuffled(keys.begin(), keys.end());
  for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  return shuffled;
}

}  // namespace

TEST(SparseTable, AgreesWithAnUnorderedMap) {
  constexpr std::size_t floats = 3;
  Arena arena;
  RowPool pool(arena, (floats) * sizeof(float));
  SparseTable table(arena, pool, 0);
  std::unordered_map<Key, std::pair<float*, float>> model;
  auto const keys = all_sorts_of_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const key = keys[i];
    ASSERT_EQ(find(table, key), nullptr) << key;
    auto* const row = insert(table, key);
    for (std::size_t k = 0; k < floats; ++k) ASSERT_EQ(row[k], 0.0F) << "a new row is zero";
    auto const mark = static_cast<float>(i);
    row[0] = row[1] = row[2] = mark;
    model[key] = {row, mark};
    ASSERT_EQ(table.size(), model.size());
  }
  // Growth has moved no row and mixed none up.
  for (auto const& [key, expected] : model) {
    auto const* const row = find(table, key);
    ASSERT_EQ(row, expected.first) << key;
    for (std::size_t k = 0; k < floats; ++k) ASSERT_EQ(row[k], expected.second) << key;
  }
  Random random(4);
  for (int i = 0; i < 100000; ++i) {
    auto const key = random.bits();
    if (!model.contains(key)) {
      ASSERT_EQ(find(table, key), nullptr) << key;
    }
  }
  std::size_t visited = 0;
  table.for_each([&](Key key, float const* row) {
    ++visited;
    auto const it = model.find(key);
    ASSERT_NE(it, model.end());
    ASSERT_EQ(it->second.first, row);
    model.erase(it);
  });
  EXPECT_EQ(visited, keys.size());
  EXPECT_TRUE(model.empty());
}

// As in a shard: all keys agree in the bits that chose it.
TEST(SparseTable, GrowsByTheBitsBelowThoseThatChoseTheShard) {
  Arena arena;
  RowPool pool(arena, (2) * sizeof(float));
  SparseTable table(arena, pool, 8);
  Random random(5);
  std::vector<std::pair<Key, float*>> rows;
  for (int i = 0; i < 30000; ++i) {
    auto const key = key_with_hash(0x5aULL << 56 | random.bits() >> 8);
    rows.emplace_back(key, insert(table, key));
  }
  for (auto const& [key, row] : rows) ASSERT_EQ(find(table, key), row);
  // 30000 rows of 16 bytes with their slots; one segment per row would be 120 MB.
  EXPECT_LE(arena.bytes(), std::size_t{4} << 20);
}

TEST(SparseTable, FullBucketsOverflowIntoTheNext) {
  Arena arena;
  RowPool pool(arena, (1) * sizeof(float));
  SparseTable table(arena, pool, 0);
  // The last bucket of a segment is the home of them all: they fill it, and go on at the segment's start.
  auto const crowded = [](std::uint64_t i) { return key_with_hash(i << 40 | (SparseTable::segment_buckets - 1)); };
  std::vector<float*> rows;
  for (std::uint64_t i = 0; i < 300; ++i) rows.push_back(insert(table, crowded(i)));
  for (std::uint64_t i = 0; i < 300; ++i) EXPECT_EQ(find(table, crowded(i)), rows[i]);
  EXPECT_EQ(find(table, crowded(300)), nullptr);
}

// Few buckets are the home of most keys, so that they overflow and move back all the time, around the end as well.
TEST(SparseTable, InsertAndEraseAgreeWithAMap) {
  for (bool const crowded : {true, false}) {
    Arena arena;
    RowPool pool(arena, sizeof(float));
    SparseTable table(arena, pool, 0);
    std::map<Key, float> model;
    Random random(crowded ? 8 : 9);
    auto const some_key = [&] {
      auto const number = random.below(crowded ? 330 : 3000);
      auto const bucket = SparseTable::segment_buckets - 3 + number % 5;
      return crowded ? key_with_hash(number << 40 | bucket % SparseTable::segment_buckets) : Key{number};
    };
    for (int step = 0; step < 60000; ++step) {
      auto const key = some_key();
      auto* const row = find(table, key);
      ASSERT_EQ(row != nullptr, model.contains(key)) << "step " << step;
      if (row == nullptr) {
        auto* const made = insert(table, key);
        ASSERT_EQ(*made, 0.0F) << "a row that was used before is zero again";
        *made = model[key] = static_cast<float>(step + 1);
      } else {
        ASSERT_EQ(*row, model[key]);
        table.erase(hash_key(key), key);
        model.erase(key);
      }
      ASSERT_EQ(table.size(), model.size());
      if (step % 1000 != 0) continue;
      for (auto const& [each, value] : model) {
        ASSERT_NE(find(table, each), nullptr) << "step " << step;
        ASSERT_EQ(*find(table, each), value);
      }
      std::size_t visited = 0;
      table.for_each([&](Key, float const*) { ++visited; });
      ASSERT_EQ(visited, model.size());
    }
  }
}

TEST(SparseTable, WhatIsErasedMakesRoomForOthers) {
  Arena arena;
  RowPool pool(arena, 128);
  SparseTable table(arena, pool, 0);
  for (Key key = 0; key < 20000; ++key) insert(table, key);
  auto const bytes = arena.bytes();
  for (Key round = 1; round < 20; ++round) {
    for (Key key = 0; key < 20000; ++key) {
      auto const old = (round - 1) * 20000 + key;
      table.erase(hash_key(old), old);
      insert(table, round * 20000 + key);
    }
  }
  EXPECT_EQ(table.size(), 20000U);
  EXPECT_LE(arena.bytes(), bytes + (std::size_t{2} << 20)) << "19 times as many keys took no more memory";
}

TEST(SparseTable, KeyZeroIsAKeyLikeOthers) {
  Arena arena;
  RowPool pool(arena, (1) * sizeof(float));
  SparseTable table(arena, pool, 0);
  EXPECT_EQ(find(table, 0), nullptr) << "free slots hold zeros, and no row";
  auto* const row = insert(table, 0);
  EXPECT_EQ(find(table, 0), row);
}

TEST(SparseTable, RowsOfWholeLinesStartAtALine) {
  Arena arena;
  RowPool pool(arena, (16) * sizeof(float));
  SparseTable table(arena, pool, 0);
  for (Key key = 0; key < 2000; ++key) ASSERT_EQ(reinterpret_cast<std::uintptr_t>(insert(table, key)) % 64, 0U);
}

TEST(SparseTable, OrderOfVisitsDependsOnTheInsertionsAlone) {
  auto const order = [] {
    Arena arena;
    RowPool pool(arena, (1) * sizeof(float));
    SparseTable table(arena, pool, 0);
    Random random(6);
    for (int i = 0; i < 5000; ++i) insert(table, random.bits());
    std::vector<Key> keys;
    table.for_each([&](Key key, float const*) { keys.push_back(key); });
    return keys;
  };
  auto const first = order();
  EXPECT_EQ(first.size(), 5000U);
  EXPECT_EQ(order(), first);
}

TEST(SparseTable, RowsOfAnySizeStandApart) {
  for (std::size_t const floats : {1U, 2U, 3U, 9U, 17U, 1000U, 40000U}) {
    Arena arena;
    RowPool pool(arena, (floats) * sizeof(float));
    SparseTable table(arena, pool, 0);
    std::vector<float*> rows;
    for (Key key = 0; key < 20; ++key) {
      rows.push_back(insert(table, key));
      for (std::size_t k = 0; k < floats; ++k) rows.back()[k] = static_cast<float>(key);
    }
    for (Key key = 0; key < 20; ++key) {
      ASSERT_EQ(find(table, key), rows[key]);
      for (std::size_t k = 0; k < floats; ++k) ASSERT_EQ(rows[key][k], static_cast<float>(key)) << floats;
    }
  }
}

TEST(SparseTable, RefusesKeysThatWereChosenToCollide) {
  Arena arena;
  RowPool pool(arena, (1) * sizeof(float));
  SparseTable table(arena, pool, 8);
  std::vector<Key> taken;
  auto const attack = [&] {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      auto const key = key_with_hash(0x77ULL << 56 | i);
      insert(table, key);
      taken.push_back(key);
    }
  };
  auto const error = thrown(attack);
  EXPECT_EQ(error.code(), Errc::table_memory);
  EXPECT_TRUE(holds(error.what(), "more than 256 keys agree in "));
  EXPECT_TRUE(
      holds(error.what(), " bits of their hash: they were chosen to collide, and the table refuses to grow for them"));
  EXPECT_GE(taken.size(), 256U);
  // Nothing is lost or half done, and honest keys are still served.
  for (auto const key : taken) ASSERT_NE(find(table, key), nullptr);
  EXPECT_EQ(table.size(), taken.size());
  Random random(7);
  for (int i = 0; i < 5000; ++i) {
    auto const key = key_with_hash(0x77ULL << 56 | 1ULL << 55 | random.bits() >> 9);
    auto* const row = insert(table, key);
    ASSERT_EQ(find(table, key), row);
  }
}

// The directory doubles with every bit in which keys agree: an attacker must not get megabytes for a few hundred keys.
TEST(SparseTable, RefusesCollidingKeysBeforeTheyCostMuch) {
  Arena arena;
  RowPool pool(arena, (1) * sizeof(float));
  SparseTable table(arena, pool, 0);
  std::string text = thrown([&] {
                       for (std::uint64_t i = 0; i < 2000; ++i) insert(table, key_with_hash(i));
                     }).what();
  text = text.substr(text.find("agree in ") + 9);
  EXPECT_LE(std::stoi(text), 10) << "2^bits entries for some hundred keys";
}

TEST(SparseTable, StaysWholeWhenMemoryRunsOut) {
  Arena arena;
  RowPool pool(arena, (std::size_t{1} << 45) * sizeof(float));
  SparseTable table(arena, pool, 0);  // a row no machine has
  for (Key key = 1; key <= 3; ++key) {
    EXPECT_EQ(thrown([&] { insert(table, key); }).code(), Errc::table_memory) << "key " << key;
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(find(table, key), nullptr);
  }
}

TEST(SparseTable, ReadingAheadVisitsTheSameRowsInTheSameOrder) {
  Arena arena;
  RowPool pool(arena, 5 * sizeof(float));
  SparseTable table(arena, pool, 0);
  for (Key key = 0; key < 3000; ++key) *insert(table, key * 31) = static_cast<float>(key);
  for (std::size_t segment = 0; segment < table.segments(); ++segment) {
    std::vector<std::pair<Key, float>> plain, ahead, some, wanted;
    auto const is_wanted = [](MarkedRow const& row) { return static_cast<int>(*row.row()) % 3 == 0; };
    table.for_each_in(segment, [&](Key key, MarkedRow const& row) {
      plain.emplace_back(key, *row.row());
      if (is_wanted(row)) some.push_back(plain.back());
    });
    auto const read = [&](auto const& which, auto& into) {
      table.read_each_in(segment, 5 * sizeof(float), which,
                         [&](Key key, MarkedRow const& row) { into.emplace_back(key, *row.row()); });
    };
    read([](MarkedRow const&) { return true; }, ahead);
    read(is_wanted, wanted);
    EXPECT_EQ(ahead, plain);
    EXPECT_EQ(ahead.size(), table.rows_in(segment));
    EXPECT_EQ(wanted, some);
  }
}
