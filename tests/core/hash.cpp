#include <prdist/core/hash.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "../support/random.hpp"

using namespace prdist;

// Saved rows and running servers depend on these numbers. The keys' are the published outputs of splitmix64 seeded
// with 0; the names' are mix() of the published FNV-1a values. If this test fails, every key has moved.
TEST(Hash, ValuesArePartOfThePromise) {
  static_assert(hash_key(0) == 0xe220a8397b1dcdafULL);
  static_assert(hash_key(0x9e3779b97f4a7c15ULL) == 0x6e789e6aa1b965f4ULL);
  static_assert(hash_key(2 * 0x9e3779b97f4a7c15ULL) == 0x06c45d188009454fULL);
  static_assert(hash_name("") == mix(0xcbf29ce484222325ULL));
  static_assert(hash_name("a") == mix(0xaf63dc4c8601ec8cULL));
  static_assert(hash_name("foobar") == mix(0x85944171f73967e8ULL));
  static_assert(mix(0) == 0);
}

TEST(Hash, MixIsABijection) {
  test::Random random(1);
  for (int i = 0; i < 10000; ++i) {
    auto const x = random.bits();
    EXPECT_EQ(test::unmix(mix(x)), x);
    EXPECT_EQ(mix(test::unmix(x)), x);
    EXPECT_EQ(hash_key(test::key_with_hash(x)), x);
  }
}

// A flipped bit of a key should flip about half of its hash, wherever it stands: sequential ids spread like random
// ones.
TEST(Hash, EveryBitOfAKeyMovesEveryBitOfItsHash) {
  test::Random random(2);
  constexpr int samples = 2000;
  int flips[64][64] = {};
  for (int s = 0; s < samples; ++s) {
    auto const key = random.bits();
    for (unsigned in = 0; in < 64; ++in) {
      auto const changed = hash_key(key) ^ hash_key(key ^ (std::uint64_t{1} << in));
      for (unsigned out = 0; out < 64; ++out) flips[in][out] += static_cast<int>(changed >> out & 1);
    }
  }
  for (auto const& row : flips) {
    for (auto const count : row) {
      EXPECT_GT(count, samples * 2 / 5);
      EXPECT_LT(count, samples * 3 / 5);
    }
  }
}

TEST(Hash, NamesThatDifferInOneCharacterOrInBytesAboveAsciiDiffer) {
  EXPECT_NE(hash_name("embedding_0"), hash_name("embedding_1"));
  EXPECT_NE(hash_name("ab"), hash_name("ba"));
  EXPECT_NE(hash_name("\xff"), hash_name("\x7f"));
  EXPECT_NE(hash_name(std::string_view("\0", 1)), hash_name(""));
}
