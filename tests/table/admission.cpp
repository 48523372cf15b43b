#include <prdist/table/admission.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "../support/random.hpp"

using namespace prdist;
using test::Random;

namespace {

/// Keys as they are on one shard.
Key key_of(std::uint64_t number) {
  return test::key_with_hash(mix(number) >> 8);
}

}  // namespace

TEST(CountFilter, CountsExactlyWhileThereIsRoom) {
  Arena arena;
  CountFilter filter(arena, 4000);
  std::map<Key, std::uint32_t> model;
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    auto const key = key_of(random.below(300));
    ASSERT_EQ(filter.count(hash_key(key), key, 1000), ++model[key]);
  }
}

TEST(CountFilter, AKeyThatHasEnoughMakesRoomAndStartsAnew) {
  Arena arena;
  CountFilter filter(arena, 8);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t n = 1; n <= 5; ++n) EXPECT_EQ(filter.count(hash_key(7), 7, 5), n);
  }
  EXPECT_EQ(filter.count(hash_key(0), 0, 5), 1U) << "key 0 is a key like others";
}

TEST(CountFilter, ForgetsThoseSeenLeastAndTakesNoMoreMemory) {
  Arena arena;
  CountFilter filter(arena, 64);
  auto const bytes = arena.bytes();
  auto const often = key_of(1);
  for (std::uint32_t n = 1; n <= 50; ++n) (void)filter.count(hash_key(often), often, 1000);
  for (std::uint64_t i = 100; i < 100000; ++i) (void)filter.count(hash_key(key_of(i)), key_of(i), 1000);
  EXPECT_EQ(filter.count(hash_key(often), often, 1000), 51U) << "a crowd of strangers does not displace it";
  EXPECT_EQ(arena.bytes(), bytes);
}

// The promise of the declaration: of keys that are new, at most the stated share looks as if it had been seen.
TEST(BloomFilter, KeepsItsRateOfFalsePositivesWhenFull) {
  for (double const rate : {0.1, 0.01, 0.001}) {
    Arena arena;
    constexpr std::size_t capacity = 100000;
    BloomFilter filter(arena, capacity, rate);
    std::size_t wrong = 0;
    for (std::uint64_t i = 0; i < capacity; ++i) {
      if (filter.count(hash_key(key_of(i))) != 1) ++wrong;
    }
    EXPECT_LE(static_cast<double>(wrong), capacity * rate) << "while it fills, on the whole";
    EXPECT_LE(static_cast<double>(filter.bytes()), capacity * 1.45 * std::log2(1 / rate) + 2);
  }
}

TEST(BloomFilter, NeverCountsTooFew) {
  Arena arena;
  BloomFilter filter(arena, 2000, 0.01);
  std::map<std::uint64_t, std::uint32_t> model;
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    auto const number = random.below(1000);
    auto const count = filter.count(hash_key(key_of(number)));
    ASSERT_GE(count, std::min(++model[number], 255U));
  }
}

TEST(BloomFilter, ForgetsAllWhenMoreKeysCome) {
  Arena arena;
  BloomFilter filter(arena, 100, 0.001);
  EXPECT_EQ(filter.count(hash_key(1)), 1U);
  EXPECT_EQ(filter.count(hash_key(1)), 2U);
  for (std::uint64_t i = 0; i < 110; ++i) (void)filter.count(hash_key(key_of(1000 + i)));
  EXPECT_EQ(filter.count(hash_key(1)), 1U);
}

TEST(BloomFilter, CountsTo255) {
  Arena arena;
  BloomFilter filter(arena, 10, 0.01);
  std::uint32_t last = 0;
  for (int i = 0; i < 400; ++i) last = filter.count(hash_key(3));
  EXPECT_EQ(last, 255U);
}

TEST(AdmissionFilter, AdmitsAtTheNthPush) {
  for (auto const kind : {Admission::Kind::count, Admission::Kind::bloom}) {
    Arena arena;
    AdmissionFilter filter(arena, {.kind = kind, .pushes = 3}, 1);
    for (Key key = 0; key < 200; ++key) {
      EXPECT_FALSE(filter.admits(hash_key(key), key, 0));
      EXPECT_FALSE(filter.admits(hash_key(key), key, 1));
      EXPECT_TRUE(filter.admits(hash_key(key), key, 2));
    }
  }
}

TEST(AdmissionFilter, ChanceIsWhatWasAskedForAndTheSameEveryTime) {
  for (double const p : {0.01, 0.3, 0.9}) {
    Arena arena;
    AdmissionFilter first(arena, Admission::by_chance(p), 5), again(arena, Admission::by_chance(p), 5);
    double in = 0;
    constexpr int keys = 2000, pushes = 50;
    for (Key key = 0; key < keys; ++key) {
      for (std::uint64_t push = 0; push < pushes; ++push) {
        auto const admitted = first.admits(hash_key(key), key, push);
        ASSERT_EQ(again.admits(hash_key(key), key, push), admitted);
        in += admitted ? 1 : 0;
      }
    }
    EXPECT_NEAR(in / (keys * pushes), p, 4 * std::sqrt(p * (1 - p) / (keys * pushes)));
  }
  Arena arena;
  AdmissionFilter certain(arena, Admission::by_chance(1), 5);
  for (Key key = 0; key < 1000; ++key) EXPECT_TRUE(certain.admits(hash_key(key), key, 0));
}
