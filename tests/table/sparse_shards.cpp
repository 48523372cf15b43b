#include <prdist/table/sparse_shards.hpp>

#include <gtest/gtest.h>

#include <bitset>
#include <cstring>
#include <map>
#include <vector>

#include "../optim/every_optimizer.hpp"
#include "../support/random.hpp"

using namespace prdist;
using test::Random;

namespace {

std::bitset<shard_count> every_shard() {
  return std::bitset<shard_count>().set();
}

SparseSpec spec_of(std::size_t dim, Optimizer optimizer = Momentum{.rate = 0.1F}) {
  return {.name = "embedding",
          .dim = dim,
          .optimizer = std::move(optimizer),
          .init = Initializer::uniform(-0.1F, 0.1F),
          .apply = ApplyRule::immediate,
          .seed = 5};
}

std::vector<float> first_row(SparseSpec const& spec, Key key) {
  std::vector<float> row(spec.dim);
  fill_first(spec.init, stream_of(spec.seed, hash_name(spec.name)), key, row);
  return row;
}

std::vector<float> pull(SparseShards const& shards, std::vector<Key> const& keys) {
  std::vector<float> rows(keys.size() * shards.spec().dim, -99.0F);
  shards.pull(keys, rows);
  return rows;
}

/// The same pushes by the plainest means: a map of rows, one kernel call per key.
struct Model {
  SparseSpec spec;
  std::map<Key, std::vector<float>> rows{};

  void push(std::vector<Key> const& keys, std::vector<float> const& gradients) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto& row = rows[keys[i]];
      if (row.empty()) {
        row = first_row(spec, keys[i]);
        row.resize(row_floats(spec.optimizer, spec.dim));
        write_first_state(spec.optimizer, row.data(), spec.dim);
      }
      auto* const weights = row.data();
      auto const* const gradient = gradients.data() + i * spec.dim;
      row_kernel(spec.optimizer)(spec.optimizer, &weights, &gradient, 1, spec.dim);
    }
  }
  std::vector<float> pull(std::vector<Key> const& keys) const {
    std::vector<float> all;
    for (auto const key : keys) {
      auto const it = rows.find(key);
      auto const row = it == rows.end() ? first_row(spec, key) : it->second;
      all.insert(all.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(spec.dim));
    }
    return all;
  }
};

std::vector<Key> random_keys(Random& random, std::size_t count, std::size_t distinct) {
  std::vector<Key> keys(count);
  for (auto& key : keys) key = random.below(distinct) * 0x123456789abcdULL;
  return keys;
}

}  // namespace

TEST(SparseShards, PullOfUnknownKeysGivesFirstRowsAndInsertsNothing) {
  Arena arena;
  SparseShards const shards(arena, spec_of(5), every_shard());
  auto const before = arena.bytes();
  for (Key const key : {Key{0}, Key{1}, ~Key{0}}) EXPECT_EQ(pull(shards, {key}), first_row(shards.spec(), key));
  std::vector<Key> many(10000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i;
  (void)pull(shards, many);
  EXPECT_EQ(shards.rows(), 0U);
  EXPECT_EQ(arena.bytes(), before);
}

// More keys than any stage holds, repeated within and beyond the distance of the stages, in every width that pull
// copies in its own way.
TEST(SparseShards, PushAndPullAgreeWithAPlainModel) {
  auto const rules = test::every_optimizer_and_adjusted();
  std::size_t const dims[]{1, 3, 8, 9, 16, 31, 32, 33};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto const dim = dims[i % std::size(dims)];
    Arena arena;
    SparseShards shards(arena, spec_of(dim, rules[i]), every_shard());
    Model model{shards.spec()};
    Random random(dim);
    for (std::size_t const count : {0U, 1U, 2U, 16U, 17U, 33U, 64U, 65U, 1500U}) {
      auto const keys = random_keys(random, count, count < 100 ? 5 : 700);
      auto const gradients = random.numbers(count * dim);
      shards.push(keys, gradients);
      model.push(keys, gradients);
      ASSERT_EQ(shards.rows(), model.rows.size());
      auto const asked = random_keys(random, 500, 1000);
      ASSERT_EQ(pull(shards, asked), model.pull(asked))
          << name_of(rules[i]) << ", dim " << dim << ", " << count << " keys";
    }
  }
}

TEST(SparseShards, DuplicatesInOnePushAreAppliedInOrder) {
  Arena arena_together, arena_apart;
  SparseShards together(arena_together, spec_of(4), every_shard()), apart(arena_apart, spec_of(4), every_shard());
  Random random(1);
  auto const gradients = random.numbers(3 * 4);
  together.push(std::vector<Key>{7, 7, 7}, gradients);
  for (std::size_t i = 0; i < 3; ++i) apart.push(std::vector<Key>{7}, std::span(gradients).subspan(i * 4, 4));
  EXPECT_EQ(together.rows(), 1U);
  EXPECT_EQ(pull(together, {7}), pull(apart, {7}));
}

TEST(SparseShards, KeysOfOtherShardsAreLeftAlone) {
  std::bitset<shard_count> even, odd;
  for (std::size_t shard = 0; shard < shard_count; ++shard) (shard % 2 == 0 ? even : odd).set(shard);
  Arena arena_all, arena_even, arena_odd;
  SparseShards all(arena_all, spec_of(8), every_shard());
  SparseShards left(arena_even, spec_of(8), even), right(arena_odd, spec_of(8), odd);
  Random random(2);
  for (int step = 0; step < 5; ++step) {
    auto const keys = random_keys(random, 900, 400);
    auto const gradients = random.numbers(keys.size() * 8);
    for (auto* const each : {&all, &left, &right}) each->push(keys, gradients);
    std::vector<float> rows(keys.size() * 8, -99.0F);
    left.pull(keys, rows);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      bool const own = even[shard_of(hash_key(keys[i]))];
      EXPECT_EQ(rows[i * 8] == -99.0F, !own) << "a row of another group was written, or an own one was not";
    }
    right.pull(keys, rows);
    EXPECT_EQ(rows, pull(all, keys));
  }
  EXPECT_EQ(left.rows() + right.rows(), all.rows());
  EXPECT_GT(left.rows(), 0U);
  EXPECT_GT(right.rows(), 0U);
}

TEST(SparseShards, ForEachVisitsEveryRowWithItsState) {
  Arena arena;
  SparseShards shards(arena, spec_of(2), every_shard());
  Model model{shards.spec()};
  Random random(3);
  auto const keys = random_keys(random, 3000, 1000);
  auto const gradients = random.numbers(keys.size() * 2);
  shards.push(keys, gradients);
  model.push(keys, gradients);
  shards.for_each([&](Key key, float const* row) {
    auto const it = model.rows.find(key);
    ASSERT_NE(it, model.rows.end());
    EXPECT_EQ(std::memcmp(row, it->second.data(), it->second.size() * sizeof(float)), 0);
    model.rows.erase(it);
  });
  EXPECT_TRUE(model.rows.empty());
}

TEST(SparseShards, AGatheredStepIsOneUpdateByTheWeightedSum) {
  Arena arena;
  SparseShards shards(arena, spec_of(2, Adagrad{.rate = 1}), every_shard());
  Model model{shards.spec()};
  std::vector<Key> const first_keys{1, 2, 1}, second_keys{2, 3};
  std::vector<float> const first{1, 2, 3, 4, 5, 6}, second{8, 8, 16, 16};
  auto const part = [](std::uint32_t trainer, std::uint32_t weight, auto const& keys, auto const& gradients) {
    return std::vector<PushRows>{{1, trainer, weight, true, 0, keys, gradients, {}}};
  };
  shards.push_weighted({part(0, 3, first_keys, first), part(1, 1, second_keys, second)});
  // 3/4 of the first and 1/4 of the second, key 1 summed over its two places.
  model.push({1, 2, 3}, {0.75F * 1 + 0.75F * 5, 0.75F * 2 + 0.75F * 6, 0.75F * 3 + 2, 0.75F * 4 + 2, 4, 4});
  EXPECT_EQ(shards.rows(), 3U);
  EXPECT_EQ(pull(shards, {1, 2, 3}), model.pull({1, 2, 3}));
}

TEST(SparseShards, AGatheredStepMayBeEmptyOrLarge) {
  Arena arena;
  SparseShards shards(arena, spec_of(3, Sgd{.rate = 1}), every_shard());
  shards.push_weighted({{{1, 0, 0, true, 0, {}, {}, {}}}, {{1, 1, 0, true, 0, {}, {}, {}}}});
  EXPECT_EQ(shards.rows(), 0U);
  Random random(4);
  std::vector<Key> keys(20000);
  for (auto& key : keys) key = random.bits();
  keys.push_back(0);
  keys.push_back(~Key{0});
  auto const gradients = random.numbers(keys.size() * 3);
  shards.push_weighted({{{1, 0, 1, true, 0, keys, gradients, {}}}});
  EXPECT_EQ(shards.rows(), keys.size());
  auto const rows = pull(shards, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(rows[i * 3], first_row(shards.spec(), keys[i])[0] - gradients[i * 3]);
  }
}
