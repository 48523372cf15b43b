#include <prdist/trainer/local_copy.hpp>

#include <gtest/gtest.h>

#include "../support/random.hpp"

using namespace prdist;

namespace {

std::vector<float> read(LocalRows const& rows, std::vector<Key> const& keys, std::size_t dim) {
  std::vector<float> out(keys.size() * dim);
  rows.read(keys, out);
  return out;
}

}  // namespace

TEST(LocalRows, LearnByTheRuleAsAServerWould) {
  for (Optimizer const& rule : {Optimizer(Sgd{.rate = 0.5F}), Optimizer(Adam{.rate = 0.1F})}) {
    LocalRows rows(rule, 3);
    std::vector<Key> const keys{5, 9};
    std::vector<float> const first{1, 2, 3, 4, 5, 6}, gradients{1, 0, -1, 2, 2, 2};
    EXPECT_EQ(rows.those(keys, false), keys);
    rows.insert(keys, first);
    EXPECT_EQ(rows.those(std::vector<Key>{9, 10}, true), std::vector<Key>{9});
    std::vector<float> expected(row_floats(rule, 3));
    std::copy(first.begin(), first.begin() + 3, expected.begin());
    write_first_state(rule, expected.data(), 3);
    for (int i = 0; i < 3; ++i) {
      rows.learn(keys, gradients);
      float* const row = expected.data();
      float const* const gradient = gradients.data();
      row_kernel(rule)(rule, &row, &gradient, 1, 3);
    }
    auto const now = read(rows, {5}, 3);
    EXPECT_EQ(now, std::vector<float>(expected.begin(), expected.begin() + 3));
  }
}

TEST(LocalRows, SendAShareAndKeepTheRest) {
  LocalRows rows(Sgd{.rate = 1}, 1);
  rows.insert(std::vector<Key>{1, 2}, std::vector<float>{0, 100});
  rows.learn(std::vector<Key>{1}, std::vector<float>{-8});
  std::vector<Key> keys;
  std::vector<float> sent;
  rows.take_differences(2, keys, sent);
  EXPECT_EQ(keys, std::vector<Key>{1});  // the other has learned nothing
  EXPECT_EQ(sent, std::vector<float>{4});
  rows.take_differences(2, keys, sent);
  EXPECT_TRUE(keys.empty());  // it has not learned since
  // The servers have 4 of it and 10 of somebody else: it moves by the 10 and keeps what it holds back.
  rows.take_in(std::vector<Key>{1}, std::vector<float>{14});
  EXPECT_EQ(read(rows, {1}, 1), std::vector<float>{18});
  rows.take_differences(1, keys, sent);
  EXPECT_EQ(keys, std::vector<Key>{1});
  EXPECT_EQ(sent, std::vector<float>{4});
  rows.take_differences(1, keys, sent);
  EXPECT_TRUE(keys.empty());
}

TEST(LocalRows, WhatIsSentAndHeldBackAddsUpToWhatWasLearned) {
  // Whole numbers, so that sums are exact; a third would not be.
  test::Random random(3);
  LocalRows rows(Sgd{.rate = 1}, 2);
  std::vector<Key> keys(6);
  for (Key key = 0; key < 6; ++key) keys[key] = key;
  rows.insert(keys, std::vector<float>(12, 0));
  std::vector<double> learned(12, 0), server(12, 0);
  for (int i = 0; i < 200; ++i) {
    auto const key = random.below(6);
    std::vector<float> const gradient{static_cast<float>(random.below(9)), -1024};
    rows.learn(std::vector<Key>{key}, gradient);
    for (std::size_t k = 0; k < 2; ++k) learned[key * 2 + k] -= gradient[k];
    if (i % 5 != 4 && i != 199) continue;
    std::vector<Key> moved;
    std::vector<float> sent;
    rows.take_differences(i == 199 ? 1.0F : 4.0F, moved, sent);
    for (std::size_t m = 0; m < moved.size(); ++m) {
      for (std::size_t k = 0; k < 2; ++k) server[moved[m] * 2 + k] += sent[m * 2 + k];
    }
  }
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(server[i], learned[i], 0.05) << i;
}

// Rules that look at a whole row look at a range of 16 Ki floats, here and on servers.
TEST(LocalDense, LearnsRangeByRangeAsServersDo) {
  std::size_t const size = range_floats + 100;
  for (Optimizer const& rule : {Optimizer(Lamb{.rate = 0.1F}), Optimizer(RowAdagrad{}), Optimizer(SharedAdam{}),
                                Optimizer(Adam{}), Optimizer(Sgd{}, Schedule::cosine(10))}) {
    test::Random random(4);
    auto const first = random.numbers(size);
    LocalDense dense(rule, first);
    std::vector<std::vector<float>> ranges;
    for (std::size_t at = 0; at < size; at += range_floats) {
      auto const length = std::min(range_floats, size - at);
      auto& row = ranges.emplace_back(row_floats(rule, length));
      std::copy_n(first.begin() + static_cast<std::ptrdiff_t>(at), length, row.begin());
      write_first_state(rule, row.data(), length);
    }
    for (int step = 0; step < 3; ++step) {
      auto const gradient = random.numbers(size);
      dense.learn(gradient);
      for (std::size_t range = 0; range < ranges.size(); ++range) {
        float* const row = ranges[range].data();
        float const* const from = gradient.data() + range * range_floats;
        row_kernel(rule)(rule, &row, &from, 1, std::min(range_floats, size - range * range_floats));
      }
    }
    std::vector<float> expected(ranges[0].begin(), ranges[0].begin() + range_floats);
    expected.insert(expected.end(), ranges[1].begin(), ranges[1].begin() + 100);
    std::vector<float> now(size);
    dense.read(now);
    EXPECT_EQ(now, expected) << name_of(rule);
  }
}

TEST(LocalDense, SendsAShareAndMovesAsTheServersDo) {
  std::vector<float> const first{1, 2};
  LocalDense dense(Sgd{.rate = 1}, first);
  dense.learn(std::vector<float>{-2, 4});
  std::vector<float> sent(2);
  dense.take_difference(2, sent);
  EXPECT_EQ(sent, (std::vector<float>{1, -2}));
  dense.take_in(std::vector<float>{12, 0});  // somebody else added 10 and 0
  std::vector<float> now(2);
  dense.read(now);
  EXPECT_EQ(now, (std::vector<float>{13, -2}));
}

TEST(LocalRows, GoOnElsewhereWithTheStateThatTheyHad) {
  Optimizer const rule = Adam{.rate = 0.1F};
  LocalRows before(rule, 2), after(rule, 2);
  std::vector<Key> const key{7};
  before.insert(key, std::vector<float>{1, 2});
  before.learn(key, std::vector<float>{1, -1});
  after.insert(key, read(before, key, 2));
  EXPECT_EQ(before.state_floats(), row_floats(rule, 2) - 2);
  EXPECT_EQ(before.state_of(7).size(), before.state_floats());
  std::ranges::copy(before.state_of(7), after.state_of(7).begin());
  for (auto* const rows : {&before, &after}) rows->learn(key, std::vector<float>{0.5F, 3});
  EXPECT_EQ(read(after, key, 2), read(before, key, 2));
}

TEST(LocalDense, GoesOnElsewhereWithTheStateThatItHad) {
  std::vector<float> const first(range_floats + 3, 1), gradient(range_floats + 3, 0.5F);
  LocalDense before(Adagrad{.rate = 0.1F}, first);
  before.learn(gradient);
  std::vector<float> weights(first.size()), others(first.size());
  before.read(weights);
  LocalDense after(Adagrad{.rate = 0.1F}, weights);
  std::vector<std::vector<float>> states;
  before.for_each_state([&](std::size_t range, std::span<float const> state) {
    EXPECT_EQ(range, states.size());
    states.emplace_back(state.begin(), state.end());
  });
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[1].size(), 3U);
  after.for_each_state(
      [&](std::size_t range, std::span<float> state) { std::ranges::copy(states[range], state.begin()); });
  for (auto* const dense : {&before, &after}) dense->learn(gradient);
  before.read(weights);
  after.read(others);
  EXPECT_EQ(others, weights);
}
