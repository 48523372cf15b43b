#include <prdist/fleet/key_index.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../support/random.hpp"

using namespace prdist;
using test::Random;

namespace {

/// Checks one build against a map.
void expect_right(KeyIndex& index, std::vector<Key> const& keys) {
  std::vector<Key> distinct{99, 98};  // what was there does not matter
  index.build(keys, distinct);
  std::unordered_map<Key, std::uint32_t> model;
  std::vector<Key> order;
  ASSERT_EQ(index.index().size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const [it, fresh] = model.try_emplace(keys[i], static_cast<std::uint32_t>(order.size()));
    if (fresh) order.push_back(keys[i]);
    ASSERT_EQ(index.index()[i], it->second) << "position " << i;
  }
  EXPECT_EQ(distinct, order) << "in the order they first appear";
}

}  // namespace

TEST(KeyIndex, AgreesWithAMap) {
  KeyIndex index;
  Random random(1);
  for (std::size_t const count : {0U, 1U, 2U, 7U, 8U, 9U, 1000U, 20000U, 3U}) {
    for (std::size_t const distinct : {1U, 5U, 1000U}) {
      std::vector<Key> keys(count);
      for (auto& key : keys) key = random.below(distinct) * 0x9e3779b97f4a7c15ULL;
      expect_right(index, keys);
    }
    std::vector<Key> all(count);
    for (auto& key : all) key = random.bits();
    expect_right(index, all);
  }
}

TEST(KeyIndex, NoKeyIsReserved) {
  KeyIndex index;
  expect_right(index, {0, ~Key{0}, 0, Key{1} << 63, ~Key{0}, 1, 0});
}

TEST(KeyIndex, KeysOfOneSlotAreToldApart) {
  KeyIndex index;
  std::vector<Key> keys;
  // Hashes that agree in their low 32 bits, each key twice.
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 500; ++i) keys.push_back(test::key_with_hash(i << 32 | 0x1234));
  }
  expect_right(index, keys);
}
