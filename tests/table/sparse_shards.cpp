#include <prdist/table/sparse_shards.hpp>

#include <gtest/gtest.h>

#include <bitset>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../optim/every_optimizer.hpp"
#include "../support/random.hpp"
#include "cut_support.hpp"

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

TEST(SparseShards, AfterClearEveryKeyBeginsAnew) {
  Arena arena;
  SparseShards shards(arena, spec_of(2), every_shard());
  SparseShards const fresh(arena, spec_of(2), every_shard());
  Random random(4);
  auto const keys = random_keys(random, 3000, 1000);
  shards.push(keys, random.numbers(keys.size() * 2));
  std::vector<float> rows(keys.size() * 2), first(rows.size());
  fresh.pull(keys, first);
  shards.pull(keys, rows);
  EXPECT_NE(rows, first);
  shards.clear();
  EXPECT_EQ(shards.rows(), 0U);
  shards.pull(keys, rows);
  EXPECT_EQ(rows, first);
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

namespace {

/// Groups of shards as threads share them, told the same.
struct Shared {
  Shared(SparseSpec const& spec, std::size_t count) {
    for (std::size_t g = 0; g < count; ++g) {
      std::bitset<shard_count> owned;
      for (std::size_t shard = 0; shard < shard_count; ++shard) owned[shard] = shard % count == g;
      arenas.push_back(std::make_unique<Arena>());
      parts.push_back(std::make_unique<SparseShards>(*arenas.back(), spec, owned));
    }
  }
  void push(std::vector<Key> const& keys, std::vector<float> const& gradients) {
    for (auto const& part : parts) part->push(keys, gradients);
  }
  void push_weighted(std::vector<Key> const& keys, std::vector<float> const& gradients) {
    for (auto const& part : parts) part->push_weighted({{{1, 0, 1, true, 0, keys, gradients, {}}}});
  }
  std::vector<float> pull(std::vector<Key> const& keys) const {
    std::vector<float> rows(keys.size() * parts[0]->spec().dim);
    for (auto const& part : parts) part->pull(keys, rows);
    return rows;
  }
  std::size_t rows() const {
    std::size_t sum = 0;
    for (auto const& part : parts) sum += part->rows();
    return sum;
  }
  std::vector<std::unique_ptr<Arena>> arenas{};
  std::vector<std::unique_ptr<SparseShards>> parts{};
};

std::vector<Key> keys_up_to(std::size_t count) {
  std::vector<Key> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = i;
  return keys;
}

}  // namespace

TEST(SparseShards, KeysThatAreNotAdmittedGetNoRow) {
  auto spec = spec_of(2, Sgd{.rate = 1});
  spec.admission = Admission::after(3);
  Arena arena;
  SparseShards shards(arena, spec, every_shard());
  std::vector<float> const ones{1, 1, 1, 1};
  for (int push = 0; push < 2; ++push) {
    shards.push(std::vector<Key>{7, 8}, ones);
    EXPECT_EQ(shards.rows(), 0U);
    EXPECT_EQ(pull(shards, {7}), first_row(spec, 7)) << "what it was pushed is dropped";
  }
  shards.push(std::vector<Key>{7}, std::span(ones).first(2));
  EXPECT_EQ(shards.rows(), 1U);
  EXPECT_EQ(pull(shards, {7})[0], first_row(spec, 7)[0] - 1) << "this push counts, and no earlier one";
}

// Rounding and chance draw their noise from the key and the push, never from who does the work.
TEST(SparseShards, PoliciesDoNotDependOnTheNumberOfThreads) {
  for (bool const gathered : {false, true}) {
    for (int policy = 0; policy < 4; ++policy) {
      auto spec = spec_of(6, Adagrad{});
      if (policy == 0) spec.precision = Precision::bf16;
      if (policy == 1) spec.admission = Admission::by_chance(0.2);
      if (policy == 2) spec.admission = Admission::after(2);
      if (policy == 3) spec.admission = {.kind = Admission::Kind::bloom, .pushes = 2};
      Shared one(spec, 1), three(spec, 3);
      Random random(21);
      for (int step = 0; step < 8; ++step) {
        auto const keys = random_keys(random, 300, 400);
        auto const gradients = random.numbers(keys.size() * 6);
        for (auto* const each : {&one, &three}) {
          gathered ? each->push_weighted(keys, gradients) : each->push(keys, gradients);
        }
      }
      Random again(21);
      auto const asked = random_keys(again, 300, 400);
      EXPECT_EQ(one.pull(asked), three.pull(asked)) << "policy " << policy;
      EXPECT_EQ(one.rows(), three.rows());
      EXPECT_GT(one.rows(), 50U);
    }
  }
}

TEST(SparseShards, HalfPrecisionRowsFollowThoseInFloats) {
  for (auto const precision : {Precision::bf16, Precision::fp16}) {
    for (std::size_t const dim : {1U, 7U, 16U}) {
      auto spec = spec_of(dim, Adagrad{.rate = 0.01F});
      Arena arena, half_arena;
      SparseShards floats(arena, spec, every_shard());
      spec.precision = precision;
      SparseShards halves(half_arena, spec, every_shard());
      Random random(31);
      auto const keys = keys_up_to(2000);
      for (int step = 0; step < 30; ++step) {
        auto const gradients = random.numbers(keys.size() * dim);
        floats.push(keys, gradients);
        halves.push(keys, gradients);
      }
      auto const expected = pull(floats, keys), got = pull(halves, keys);
      double difference = 0, size = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        difference += double{got[i]} - double{expected[i]};
        size += std::abs(expected[i]);
        ASSERT_NEAR(got[i], expected[i], 0.02);
      }
      EXPECT_LT(std::abs(difference), 2e-3 * size) << "on average they agree far better than each does";
    }
  }
}

// With plain rounding a step of less than half the distance to the neighbour would never move the weight.
TEST(SparseShards, SmallStepsAddUpInHalfPrecision) {
  auto spec = spec_of(1, Sgd{.rate = 1});
  spec.init = Initializer::constant(1);
  spec.precision = Precision::bf16;
  Arena arena;
  SparseShards shards(arena, spec, every_shard());
  auto const keys = keys_up_to(500);
  std::vector<float> const gradients(keys.size(), 1e-4F);
  for (int step = 0; step < 1000; ++step) shards.push(keys, gradients);
  double sum = 0;
  for (auto const weight : pull(shards, keys)) sum += weight;
  EXPECT_NEAR(sum / static_cast<double>(keys.size()), 0.9, 0.005);
}

TEST(SparseShards, ShrinkDecaysAndTakesAwayWhatIsNotWorthItsPlace) {
  auto spec = spec_of(2, Sgd{});
  spec.statistics = {.kept = true, .decay = 0.5F, .delete_below = 0.2F, .unseen_days = 2};
  for (std::size_t const slice : {1U, 7U, 100000U}) {
    Arena arena;
    SparseShards shards(arena, spec, every_shard());
    auto const shrink = [&](std::uint32_t day) {
      shards.begin_shrink(day);
      while (shards.advance_shrink(slice)) {
      }
    };
    // Scores by a tenth of the shows and the clicks: 1, 0.1 and 2.
    shards.push(std::vector<Key>{1, 2, 3}, std::vector<float>(6), std::vector<float>{10, 0, 1, 0, 2, 2});
    shrink(1);
    EXPECT_EQ(shards.rows(), 2U) << "half of 0.1 is too little";
    EXPECT_EQ(shards.evicted(), 1U);
    EXPECT_EQ(pull(shards, {2}), first_row(spec, 2));
    shards.push(std::vector<Key>{1}, std::vector<float>(2), std::vector<float>{10, 0});
    shrink(2);
    EXPECT_EQ(shards.rows(), 2U);
    shrink(3);
    EXPECT_EQ(shards.rows(), 1U) << "key 3 was last pushed three days ago";
    shards.for_each([&](Key key, float const* row) {
      EXPECT_EQ(key, 1U);
      auto const known = RowLayout(spec).statistics(row);
      EXPECT_EQ(known.show, 0.25F * (0.5F * 10 + 10));
      EXPECT_EQ(known.day, 1U);
      EXPECT_EQ(known.delta_score, 2.0F);
    });
  }
}

// Splits while the pass is under way must not let a row decay twice, nor never.
TEST(SparseShards, EveryRowDecaysOnceWhileTheTableGrows) {
  auto spec = spec_of(1, Sgd{});
  spec.statistics = {.kept = true, .decay = 0.5F};
  Arena arena;
  std::bitset<shard_count> one_shard;
  one_shard.set(0);
  SparseShards shards(arena, spec, one_shard);
  auto const key_at = [](std::uint64_t i) { return test::key_with_hash(mix(i) >> 8); };
  std::vector<Key> old_keys, new_keys;
  for (std::uint64_t i = 0; i < 3000; ++i) old_keys.push_back(key_at(i));
  for (std::uint64_t i = 3000; i < 9000; ++i) new_keys.push_back(key_at(i));
  shards.push(old_keys, std::vector<float>(old_keys.size()));
  shards.begin_shrink(1);
  for (std::size_t i = 0; shards.advance_shrink(1); ++i) {
    auto const part = std::span(new_keys).subspan(std::min<std::size_t>(i * 600, 5400), 600);
    if (i < 10) shards.push(part, std::vector<float>(part.size()));
  }
  std::size_t seen = 0;
  std::set<Key> const old(old_keys.begin(), old_keys.end());
  shards.for_each([&](Key key, float const* row) {
    auto const show = RowLayout(spec).statistics(row).show;
    if (old.contains(key)) {
      ++seen;
      ASSERT_EQ(show, 0.5F);
    } else {
      ASSERT_TRUE(show == 1 || show == 0.5F) << show;
    }
  });
  EXPECT_EQ(seen, old_keys.size());
}

// New keys split segments, and rows move, while later keys of the same push have been looked up in part: those are
// found at the second look, and are noted all the same.
TEST(SparseShards, ARowThatMovesDuringAPushIsInTheCutAsItWasAndHasChangedSince) {
  Arena arena;
  std::bitset<shard_count> one_shard;
  one_shard.set(0);
  SparseShards shards(arena, spec_of(1, Sgd{.rate = 1}), one_shard);
  auto const key_at = [](std::uint64_t i) { return test::key_with_hash(mix(i) >> 8); };
  std::vector<Key> old_keys, mixed;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    old_keys.push_back(key_at(i));
    mixed.insert(mixed.end(), {key_at(2 * i + 3000), key_at(2 * i + 3001), key_at(i)});
  }
  shards.push(old_keys, std::vector<float>(old_keys.size(), 1));
  auto const before = pull(shards, old_keys);

  auto const cut = [&](CutKind kind, auto&& meanwhile) {
    test::Collector sink;
    GuardedSink guarded(sink);
    shards.begin_cut(kind, guarded, 1);
    meanwhile();
    while (shards.advance_cut(100)) {
    }
    shards.keep_cut();
    return test::rows_in(sink.blocks, 1);
  };
  auto const at_marker = cut(CutKind::full, [&] { shards.push(mixed, std::vector<float>(mixed.size(), 1)); });
  ASSERT_EQ(at_marker.size(), old_keys.size());
  std::size_t others = 0;
  for (std::size_t i = 0; i < old_keys.size(); ++i) {
    others += std::memcmp(at_marker.at(old_keys[i]).data(), &before[i], sizeof(float)) != 0 ? 1 : 0;
  }
  EXPECT_EQ(others, 0U) << "rows that are not as they were at the marker";
  EXPECT_EQ(cut(CutKind::changed, [] {}).size(), mixed.size());
}

TEST(SparseShards, AtTheCeilingRowsGoByPolicyAndWhatIsPushedStays) {
  auto spec = spec_of(16, Adagrad{});
  spec.eviction = Eviction::lru;
  constexpr std::size_t ceiling = std::size_t{16} << 20;
  Arena arena(ceiling);
  SparseShards shards(arena, spec, every_shard());
  std::vector<Key> hot(200);
  for (std::size_t i = 0; i < hot.size(); ++i) hot[i] = 1'000'000'000 + i;
  Random random(41);
  for (int step = 0; step < 400; ++step) {
    std::vector<Key> keys(1000);
    for (auto& key : keys) key = random.bits();
    shards.push(keys, std::vector<float>(keys.size() * 16, 1.0F));
    shards.push(hot, std::vector<float>(hot.size() * 16, 1.0F));
    auto const last = pull(shards, {keys.back()});
    ASSERT_NE(last, first_row(spec, keys.back())) << "a row was there for the last key";
  }
  EXPECT_LE(arena.bytes(), ceiling);
  EXPECT_GT(shards.evicted(), 100'000U);
  EXPECT_GT(shards.rows(), 60'000U) << "most of the ceiling holds rows";
  Model model{spec};
  for (int step = 0; step < 400; ++step) model.push(hot, std::vector<float>(hot.size() * 16, 1.0F));
  std::size_t stayed = 0;
  for (auto const key : hot) stayed += pull(shards, {key}) == model.pull({key}) ? 1U : 0U;
  EXPECT_GE(stayed, hot.size() * 95 / 100) << "those pushed all the time hardly ever went";
}

// A row may need a slab of rows and a segment of keys: that there is room for either is not room for both.
TEST(SparseShards, TheLastRoomBelowTheCeilingIsNotPromisedTwice) {
  // Rows of such a size that the last slab is used up when the only segment is full.
  constexpr std::size_t dim = 102, full = 416, slab = RowPool::slab_bytes / (dim * sizeof(float)) * dim * sizeof(float);
  auto spec = spec_of(dim, Sgd{});
  spec.eviction = Eviction::lru;
  std::bitset<shard_count> one;
  one.set(3);
  Arena arena(Arena::huge_page);
  SparseShards shards(arena, spec, one);
  std::vector<float> const gradient(dim, 1.0F);
  std::vector<Key> keys;
  for (Key key = 0; keys.size() < full + 1; ++key) {
    if (one[shard_of(hash_key(key))]) keys.push_back(key);
  }
  for (std::size_t i = 0; i < full; ++i) shards.push(std::span(&keys[i], 1), gradient);
  while (arena.has_room(slab + SparseTable::segment_bytes)) (void)arena.allocate(64);
  ASSERT_TRUE(arena.has_room(slab) && arena.has_room(SparseTable::segment_bytes));
  shards.push(std::span(&keys[full], 1), gradient);
  EXPECT_NE(pull(shards, {keys[full]}), first_row(spec, keys[full]));
  EXPECT_GT(shards.evicted(), 0U);
}

// Tables of one thread share their ceiling: a large one that has used it up is no reason to empty a small one.
TEST(SparseShards, ASmallTableKeepsItsRowsBesideALargeOne) {
  auto spec = spec_of(16, Adagrad{});
  spec.eviction = Eviction::lru;
  Arena arena(std::size_t{16} << 20);
  SparseShards small(arena, spec, every_shard()), large(arena, spec, every_shard());
  std::vector<Key> few(60), many(100);
  for (std::size_t i = 0; i < few.size(); ++i) few[i] = i;
  small.push(few, std::vector<float>(few.size() * 16, 1.0F));
  Random random(44);
  while (large.evicted() == 0) {
    for (auto& key : many) key = random.bits();
    large.push(many, std::vector<float>(many.size() * 16, 1.0F));
  }
  EXPECT_FALSE(small.advance_eviction(512));
  EXPECT_EQ(small.rows(), 60U);
  EXPECT_EQ(small.evicted(), 0U);
}

// Between pushes rows go in slices, so that the next pushes find room and need not look for it.
TEST(SparseShards, RoomForPushesToComeIsMadeInSlices) {
  auto spec = spec_of(16, Adagrad{});
  spec.eviction = Eviction::lru;
  Arena arena(std::size_t{16} << 20);
  SparseShards shards(arena, spec, every_shard());
  EXPECT_FALSE(shards.advance_eviction(512)) << "there is room";
  Random random(43);
  auto const push_new = [&](std::size_t count) {
    std::vector<Key> keys(count);
    for (auto& key : keys) key = random.bits();
    shards.push(keys, std::vector<float>(keys.size() * 16, 1.0F));
  };
  while (shards.evicted() == 0) push_new(100);
  auto const rows = shards.rows();
  std::size_t slices = 1;
  auto last = shards.evicted();
  while (shards.advance_eviction(512)) {
    EXPECT_LE(shards.evicted() - last, 512U) << "a slice is small";
    last = shards.evicted();
    ++slices;
  }
  EXPECT_GT(slices, 3U);
  EXPECT_GT(rows - shards.rows(), rows / 256);
  auto const evicted = shards.evicted();
  push_new(rows / 256);
  EXPECT_LT(shards.evicted() - evicted, rows / 256) << "many found room; only full segments had to make it";
}

TEST(SparseShards, AtTheCeilingWithoutAPolicyAPushIsRefusedAndTheRestWorks) {
  auto const spec = spec_of(16, Adagrad{});
  Arena arena(std::size_t{8} << 20);
  SparseShards shards(arena, spec, every_shard());
  Model model{spec};
  Random random(42);
  std::string text;
  for (int step = 0; step < 1000 && text.empty(); ++step) {
    std::vector<float> const gradients(16, 1.0F);
    for (int many = 0; many < 100 && text.empty(); ++many) {
      std::vector<Key> const key{random.bits()};
      try {
        shards.push(key, gradients);
        model.push(key, gradients);
      } catch (Error const& error) {
        EXPECT_EQ(error.code(), Errc::table_memory);
        text = error.what();
      }
    }
  }
  EXPECT_EQ(text,
            concat("prdist[table.memory] table 'embedding' has no room for another row: the tables of this thread "
                   "are at 8 MiB of their ceiling of 8 MiB, this one with ",
                   model.rows.size(),
                   " rows, of which none may go by its eviction policy 'none': raise the ceiling, choose another "
                   "policy, or use more servers"));
  EXPECT_EQ(shards.rows(), model.rows.size());
  std::vector<Key> known;
  for (auto const& [key, row] : model.rows) known.push_back(key);
  EXPECT_EQ(pull(shards, known), model.pull(known));
  auto const known_key = std::vector<Key>{known[0]};
  shards.push(known_key, std::vector<float>(16, 1.0F));
  model.push(known_key, std::vector<float>(16, 1.0F));
  EXPECT_EQ(pull(shards, known_key), model.pull(known_key)) << "rows that are there can still be trained";
}
