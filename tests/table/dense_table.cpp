#include <prdist/table/dense_table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <vector>

#include "../optim/every_optimizer.hpp"
#include "../support/random.hpp"

using namespace prdist;
using test::Random;

namespace {

/// Parts that begin and end inside ranges, span several, and are as small as one.
DenseSpec spec_of(Optimizer optimizer = Adam{.rate = 0.01F}) {
  return {.name = "dense",
          .parts = {{"tower/w", 2 * range_floats + 100, Initializer::normal(0, 0.1F)},
                    {"tower/b", 1, Initializer::constant(0.5F)},
                    {"nothing", 0, Initializer::constant(9)},
                    {"head/w", range_floats, Initializer::uniform(-1, 1)},
                    {"head/b", 7, Initializer::zeros()}},
          .optimizer = std::move(optimizer),
          .apply = ApplyRule::immediate,
          .seed = 3};
}

std::vector<float> first_weights(DenseSpec const& spec) {
  std::vector<float> all(spec.size());
  fill_first_dense(spec, 0, all);
  return all;
}

std::vector<std::uint32_t> all_ranges(DenseSpec const& spec) {
  return Placement(1).ranges_of(hash_name(spec.name), spec.size(), 0);
}

std::bitset<shard_count> every_shard() {
  return std::bitset<shard_count>().set();
}

std::vector<float> pull(DenseTable const& table, std::size_t ranges) {
  std::vector<float> weights(table.spec().size());
  table.pull(0, ranges, weights);
  return weights;
}

}  // namespace

TEST(FillFirstDense, EveryPartHasAStreamOfItsOwn) {
  auto const spec = spec_of();
  auto const all = first_weights(spec);
  EXPECT_EQ(all[2 * range_floats + 100], 0.5F);
  EXPECT_EQ(all.back(), 0.0F);
  // The same part behind another one begins with the same values.
  DenseSpec const moved{.name = "dense", .parts = {{"new", 5, {}}, spec.parts[3]}, .seed = 3};
  auto const other = first_weights(moved);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(other[5 + i], all[2 * range_floats + 101 + i]);
  auto seeded = spec;
  seeded.seed = 4;
  EXPECT_NE(first_weights(seeded), all);
}

TEST(FillFirstDense, AnyStretchIsTheSameHoweverItIsCut) {
  auto const spec = spec_of();
  auto const all = first_weights(spec);
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    auto const from = random.below(all.size());
    std::vector<float> part(random.below(all.size() - from + 1), -99.0F);
    fill_first_dense(spec, from, part);
    ASSERT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(from)));
  }
}

TEST(DenseTable, BeginsWithTheFirstWeights) {
  Arena arena;
  auto const spec = spec_of();
  auto const ranges = all_ranges(spec);
  ASSERT_EQ(ranges.size(), 4U);
  DenseTable const table(arena, spec, ranges, every_shard());
  EXPECT_EQ(pull(table, ranges.size()), first_weights(spec));
}

TEST(DenseTable, ServersTogetherHoldTheFirstWeights) {
  auto const spec = spec_of();
  auto const all = first_weights(spec);
  for (std::size_t const servers : {2U, 3U, 5U}) {
    Placement const placement(servers);
    std::vector<float> together(all.size(), -99.0F);
    for (std::size_t server = 0; server < servers; ++server) {
      auto const ranges = placement.ranges_of(hash_name(spec.name), spec.size(), server);
      Arena arena;
      DenseTable const table(arena, spec, ranges, every_shard());
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        table.pull(i, 1, std::span(together).subspan(ranges[i] * range_floats, range_length(all.size(), ranges[i])));
      }
    }
    EXPECT_EQ(together, all) << servers << " servers";
  }
}

TEST(DenseTable, PushUpdatesEveryElementByTheRule) {
  Optimizer const rule = Momentum{.rate = 0.1F};
  Arena arena;
  auto const spec = spec_of(rule);
  auto const ranges = all_ranges(spec);
  DenseTable table(arena, spec, ranges, every_shard());
  auto expected = first_weights(spec);
  std::vector<float> velocity(expected.size());
  Random random(2);
  for (int step = 0; step < 3; ++step) {
    auto const gradient = random.numbers(expected.size());
    table.push(0, ranges.size(), gradient);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      velocity[i] = 0.9F * velocity[i] + gradient[i];
      expected[i] -= 0.1F * velocity[i];
    }
  }
  EXPECT_EQ(pull(table, ranges.size()), expected);
}

// Rules that measure a whole row, and ages under a schedule: what a range sees does not depend on its neighbours.
TEST(DenseTable, EveryRuleGivesTheSameBytesHoweverManyServersHoldTheRanges) {
  for (auto const& rule : test::every_optimizer_and_adjusted()) {
    auto const spec = spec_of(rule);
    Arena arena;
    auto const ranges = all_ranges(spec);
    DenseTable one(arena, spec, ranges, every_shard());
    Random random(7);
    std::vector<std::vector<float>> gradients;
    for (int step = 0; step < 3; ++step) gradients.push_back(random.numbers(spec.size()));
    for (auto const& gradient : gradients) one.push(0, ranges.size(), gradient);
    Placement const placement(3);
    std::vector<float> together(spec.size(), -99.0F);
    for (std::size_t server = 0; server < 3; ++server) {
      auto const held = placement.ranges_of(hash_name(spec.name), spec.size(), server);
      Arena own;
      DenseTable table(own, spec, held, every_shard());
      for (std::size_t i = 0; i < held.size(); ++i) {
        auto const first = held[i] * range_floats, length = range_length(spec.size(), held[i]);
        for (auto const& gradient : gradients) table.push(i, 1, std::span(gradient).subspan(first, length));
        table.pull(i, 1, std::span(together).subspan(first, length));
      }
    }
    EXPECT_TRUE(together == pull(one, ranges.size())) << name_of(rule);
  }
}

TEST(DenseTable, ATablesStepIsWhatItsScheduleCounts) {
  Arena arena;
  auto const spec = spec_of({Sgd{.rate = 1}, Schedule::piecewise({{1, 0.5F}, {2, 0}})});
  auto const ranges = all_ranges(spec);
  DenseTable table(arena, spec, ranges, every_shard());
  table.assign(0, ranges.size(), std::vector<float>(spec.size()));
  std::vector<float> const gradient(spec.size(), 1);
  for (auto const expected : {-1.0F, -1.5F, -1.5F}) {
    table.push(0, ranges.size(), gradient);
    EXPECT_EQ(pull(table, ranges.size()), std::vector<float>(spec.size(), expected));
  }
}

TEST(DenseTable, StretchesOfRangesAreTheWhole) {
  Arena arena, arena_parts;
  auto const spec = spec_of();
  auto const ranges = all_ranges(spec);
  DenseTable whole(arena, spec, ranges, every_shard()), parts(arena_parts, spec, ranges, every_shard());
  Random random(3);
  auto const gradient = random.numbers(spec.size());
  whole.push(0, 4, gradient);
  parts.push(2, 2, std::span(gradient).subspan(2 * range_floats));
  parts.push(0, 2, std::span(gradient).first(2 * range_floats));
  EXPECT_EQ(pull(whole, 4), pull(parts, 4));
  std::vector<float> some(range_floats);
  parts.pull(1, 1, some);
  auto const all = pull(whole, 4);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + range_floats));
  whole.push(0, 0, {});
  whole.push(4, 0, {});
  EXPECT_EQ(pull(whole, 4), all) << "no ranges, no change";
}

TEST(DenseTable, ThreadsThatShareTheShardsTogetherGiveTheSame) {
  auto const spec = spec_of();
  auto const ranges = all_ranges(spec);
  auto const name = hash_name(spec.name);
  std::bitset<shard_count> first, second;
  for (auto const range : ranges) (range % 2 == 0 ? first : second).set(shard_of_range(name, range));
  Arena arenas[3];
  DenseTable whole(arenas[0], spec, ranges, every_shard());
  DenseTable left(arenas[1], spec, ranges, first), right(arenas[2], spec, ranges, second);
  Random random(4);
  auto const gradient = random.numbers(spec.size());
  for (auto* const table : {&whole, &left, &right}) table->push(0, 4, gradient);
  std::vector<float> together(spec.size(), -99.0F);
  left.pull(0, 4, together);
  EXPECT_EQ(together[range_floats], -99.0F) << "another thread's range";
  EXPECT_NE(together[0], -99.0F);
  right.pull(0, 4, together);
  EXPECT_EQ(together, pull(whole, 4));
}

TEST(DenseTable, AssignOverwritesWeightsAndBeginsTheStateAnew) {
  Arena arena, fresh_arena;
  auto const spec = spec_of();
  auto const ranges = all_ranges(spec);
  DenseTable used(arena, spec, ranges, every_shard()), fresh(fresh_arena, spec, ranges, every_shard());
  Random random(5);
  auto const gradient = random.numbers(spec.size()), weights = random.numbers(spec.size());
  for (int i = 0; i < 5; ++i) used.push(0, 4, gradient);
  for (auto* const table : {&used, &fresh}) table->assign(0, 4, weights);
  EXPECT_EQ(pull(used, 4), weights);
  for (auto* const table : {&used, &fresh}) table->push(0, 4, gradient);
  EXPECT_EQ(pull(used, 4), pull(fresh, 4)) << "the old moments are gone";
  // One range alone.
  std::vector<float> const ones(range_length(spec.size(), 3), 1.0F);
  auto expected = pull(used, 4);
  std::fill(expected.begin() + 3 * range_floats, expected.end(), 1.0F);
  used.assign(3, 1, ones);
  EXPECT_EQ(pull(used, 4), expected);
}

TEST(DenseTable, AGatheredStepIsOneUpdateByTheWeightedSumOfAllPieces) {
  Arena arena, arena_once;
  auto const spec = spec_of(Adagrad{.rate = 0.1F});
  auto const ranges = all_ranges(spec);
  DenseTable gathered(arena, spec, ranges, every_shard()), once(arena_once, spec, ranges, every_shard());
  Random random(6);
  auto const first = random.numbers(spec.size()), second = random.numbers(spec.size());
  auto const piece = [](std::uint32_t trainer, std::uint32_t weight, std::size_t at, std::size_t count,
                        auto gradients) { return PushDense{1, trainer, weight, true, 0, at, count, gradients, {}}; };
  // The second trainer's part came in two pieces.
  gathered.push_weighted({{piece(0, 1, 0, 4, std::span(first))},
                          {piece(1, 3, 0, 1, std::span(second).first(range_floats)),
                           piece(1, 3, 1, 3, std::span(second).subspan(range_floats))}});
  std::vector<float> sum(spec.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = 0.25F * first[i] + 0.75F * second[i];
  once.push(0, 4, sum);
  EXPECT_EQ(pull(gathered, 4), pull(once, 4));
}
