// What every device promises, as one typed suite. A device that cannot work on this machine (no GPU) says so in its
// constructor and is skipped.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <prdist/concepts/device.hpp>
#include <prdist/core/error.hpp>

#include "../optim/every_optimizer.hpp"
#include "../support/random.hpp"

namespace prdist::test {

using Index = std::vector<std::uint32_t>;
using Numbers = std::vector<float>;

struct PlainSqrt {
  void operator()(float& x) const { x = std::sqrt(x); }
};

/// The layout and the rules as optim/rule.hpp tells them, one float after the other.
inline void plain_update(Optimizer const& optimizer, Numbers& rows, Numbers const& gradients, std::size_t dim) {
  visit_rule(optimizer, [&]<class Rule>(Rule const& rule) {
    constexpr auto states = Rule::state_per_element;
    for (std::size_t r = 0; r * dim != gradients.size(); ++r) {
      auto* const row = rows.data() + r * row_floats(optimizer, dim);
      auto* const row_state = row + (1 + states) * dim;
      auto const* const gradient = gradients.data() + r * dim;
      auto const state_of = [&](std::size_t i) {
        std::array<float, states + 1> state{};
        for (std::size_t k = 0; k != states; ++k) state[k] = row[(1 + k) * dim + i];
        return state;
      };
      auto const update = [&](auto const& element) {
        for (std::size_t i = 0; i != dim; ++i) {
          auto state = state_of(i);
          element(row[i], state.data(), gradient[i]);
          for (std::size_t k = 0; k != states; ++k) row[(1 + k) * dim + i] = state[k];
        }
      };
      if constexpr (row_wide<Rule>) {
        constexpr auto count = row_sums_of<Rule>;
        auto const terms = rule.template row_terms<PlainSqrt>(row_state);
        float lanes[count][8] = {};
        for (std::size_t i = 0; i != dim; ++i) {
          std::array<float, count> each{};
          terms(row[i], state_of(i).data(), gradient[i], each.data());
          for (std::size_t k = 0; k != count; ++k) lanes[k][i % 8] += each[k];
        }
        std::array<float, count> sums{};
        for (std::size_t k = 0; k != count; ++k) {
          auto const& l = lanes[k];
          sums[k] = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
        }
        update(rule.template begin_row<PlainSqrt>(row_state, static_cast<float const*>(sums.data()), dim));
      } else {
        update(rule.template begin_row<PlainSqrt>(row_state));
      }
    }
  });
}

/// `count` rows that no gradient has reached yet.
inline Numbers first_rows(Optimizer const& optimizer, std::size_t count, std::size_t dim, Random& random) {
  auto const stride = row_floats(optimizer, dim);
  auto rows = random.numbers(count * stride);
  for (std::size_t r = 0; r != count; ++r) {
    write_first_state(optimizer, rows.data() + r * stride, dim);
  }
  return rows;
}

template <device_policy Choice>
void fill(Choice& device, typename Choice::Floats& floats, Numbers const& values) {
  device.resize(floats, values.size());
  auto const staging = device.staging(floats);
  std::copy(values.begin(), values.end(), staging.begin());
  device.upload(floats);
}

template <device_policy Choice>
Numbers content(Choice& device, typename Choice::Floats& floats) {
  device.download(floats);
  auto const staging = device.staging(floats);
  return {staging.begin(), staging.end()};
}

template <class Choice>
class EveryDevice : public testing::Test {
 protected:
  using Floats = typename Choice::Floats;

  void SetUp() override {
    try {
      device_.emplace();
    } catch (Error const& error) {
      if (error.code() != Errc::config_invalid) throw;
      GTEST_SKIP() << error.what();
    }
  }

  Floats filled(Numbers const& values) {
    Floats floats;
    fill(*device_, floats, values);
    return floats;
  }
  Numbers content(Floats& floats) { return test::content(*device_, floats); }

  std::optional<Choice> device_;
};

TYPED_TEST_SUITE_P(EveryDevice);

TYPED_TEST_P(EveryDevice, CarriesFloatsThereAndBack) {
  auto& device = *this->device_;
  auto floats = this->filled({1, 2, 3});
  EXPECT_EQ(device.view(floats).size(), 3U);
  EXPECT_EQ(device.staging(floats).size(), 3U);
  EXPECT_EQ(this->content(floats), (Numbers{1, 2, 3}));
  device.staging(floats)[1] = 7;
  device.upload(floats);
  EXPECT_EQ(this->content(floats), (Numbers{1, 7, 3}));
}

TYPED_TEST_P(EveryDevice, NewFloatsAreZero) {
  auto& device = *this->device_;
  typename TypeParam::Floats floats;
  device.resize(floats, 100);
  EXPECT_EQ(this->content(floats), Numbers(100));
}

TYPED_TEST_P(EveryDevice, ResizeKeepsWhatThereIsAndAddsZeros) {
  auto& device = *this->device_;
  auto floats = this->filled({1, 2, 3});
  device.resize(floats, 1000);  // beyond what it has room for
  Numbers expected(1000);
  for (std::size_t i = 0; i != 3; ++i) expected[i] = static_cast<float>(i + 1);
  auto const staging = device.staging(floats);
  EXPECT_EQ(Numbers(staging.begin(), staging.end()), expected) << "in staging";
  EXPECT_EQ(this->content(floats), expected);
  device.resize(floats, 2);
  EXPECT_EQ(this->content(floats), (Numbers{1, 2}));
  device.resize(floats, 4);
  EXPECT_EQ(this->content(floats), (Numbers{1, 2, 0, 0})) << "the third is not what was there before";
  device.resize(floats, 0);
  EXPECT_TRUE(device.view(floats).empty());
  EXPECT_TRUE(this->content(floats).empty());
  device.upload(floats);
  device.zero(floats);
}

TYPED_TEST_P(EveryDevice, ZeroClearsTheView) {
  auto floats = this->filled({1, 2, 3});
  this->device_->zero(floats);
  EXPECT_EQ(this->content(floats), Numbers(3));
}

TYPED_TEST_P(EveryDevice, FloatsMoveWithWhatTheyHold) {
  auto floats = this->filled({1, 2, 3});
  auto moved = std::move(floats);
  EXPECT_EQ(this->content(moved), (Numbers{1, 2, 3}));
  auto other = this->filled({9});
  other = std::move(moved);
  EXPECT_EQ(this->content(other), (Numbers{1, 2, 3}));
}

TYPED_TEST_P(EveryDevice, GatherCopiesTheRowOfEachPosition) {
  auto& device = *this->device_;
  auto from = this->filled({0, 1, 10, 11, 20, 21});
  auto to = this->filled(Numbers(8, -1.0F));
  device.gather(from, Index{2, 0, 2}, 2, to);
  EXPECT_EQ(this->content(to), (Numbers{20, 21, 0, 1, 20, 21, -1, -1})) << "and nothing behind them";
  device.gather(from, {}, 2, to);
  EXPECT_EQ(this->content(to)[0], 20.0F);
}

TYPED_TEST_P(EveryDevice, ScatterAddSumsTheGradientsOfEqualKeysInOrder) {
  auto& device = *this->device_;
  auto from = this->filled({1, 2, 10, 20, 100, 200});
  auto to = this->filled({0.5F, 0.5F, 0, 0, 7, 7});
  device.scatter_add(from, Index{1, 0, 1}, 2, to);
  EXPECT_EQ(this->content(to), (Numbers{10.5F, 20.5F, 101, 202, 7, 7}));
  device.scatter_add(from, {}, 2, to);
  EXPECT_EQ(this->content(to), (Numbers{10.5F, 20.5F, 101, 202, 7, 7}));
  // 1e8 + 1 is 1e8 in floats: only in this order is the sum 1.
  auto parts = this->filled({1e8F, -1e8F, 1});
  auto sum = this->filled({0});
  device.scatter_add(parts, Index{0, 0, 0}, 1, sum);
  EXPECT_EQ(this->content(sum), Numbers{1});
}

TYPED_TEST_P(EveryDevice, ScatterAddIsTheLoopOverPositionsToTheLastBit) {
  auto& device = *this->device_;
  Random random(1);
  for (std::size_t const dim : {1U, 7U, 8U, 33U}) {
    std::size_t const rows = 40, positions = 3000;
    Index index(positions);
    // Half of the positions name one row, as the most frequent feature of a data set does.
    for (auto& each : index) each = random.below(2) == 0 ? 3 : static_cast<std::uint32_t>(random.below(rows));
    auto const values = random.numbers(positions * dim);
    auto expected = random.numbers(rows * dim);
    auto from = this->filled(values);
    auto to = this->filled(expected);
    for (std::size_t i = 0; i != positions * dim; ++i) expected[index[i / dim] * dim + i % dim] += values[i];
    device.scatter_add(from, index, dim, to);
    EXPECT_EQ(this->content(to), expected) << dim;
    // And the other way round.
    auto back = this->filled(Numbers(positions * dim));
    device.gather(to, index, dim, back);
    auto const gathered = this->content(back);
    for (std::size_t i = 0; i != gathered.size(); ++i) {
      ASSERT_EQ(gathered[i], expected[index[i / dim] * dim + i % dim]) << i;
    }
  }
}

TYPED_TEST_P(EveryDevice, UpdateIsTheRuleOnEveryRowToTheLastBit) {
  auto& device = *this->device_;
  Random random(2);
  for (std::size_t const dim : {1U, 8U, 9U, 33U}) {
    for (auto const& optimizer : every_optimizer_and_adjusted()) {
      std::size_t const count = 17;
      auto expected = first_rows(optimizer, count, dim, random);
      auto rows = this->filled(expected);
      for (int step = 0; step != 5; ++step) {
        auto const values = random.numbers(count * dim);
        auto gradients = this->filled(values);
        device.update(optimizer, rows, gradients, dim);
        plain_update(optimizer, expected, values, dim);
      }
      EXPECT_EQ(this->content(rows), expected) << name_of(optimizer) << ' ' << dim;
    }
  }
}

TYPED_TEST_P(EveryDevice, UpdateWithoutGradientsChangesNothing) {
  auto rows = this->filled(Numbers(24, 1.0F));
  typename TypeParam::Floats none;
  this->device_->update(Adam{}, rows, none, 4);
  EXPECT_EQ(this->content(rows), Numbers(24, 1.0F));
}

TYPED_TEST_P(EveryDevice, CopiesOfADeviceShareItsFloats) {
  auto from = this->filled({1, 2, 3});
  TypeParam other = *this->device_;
  auto to = this->filled({0, 0});
  other.gather(from, Index{2, 1}, 1, to);
  this->device_->gather(from, Index{0}, 1, to);
  EXPECT_EQ(this->content(to), (Numbers{1, 2}));
}

REGISTER_TYPED_TEST_SUITE_P(EveryDevice, CarriesFloatsThereAndBack, NewFloatsAreZero,
                            ResizeKeepsWhatThereIsAndAddsZeros, ZeroClearsTheView, FloatsMoveWithWhatTheyHold,
                            GatherCopiesTheRowOfEachPosition, ScatterAddSumsTheGradientsOfEqualKeysInOrder,
                            ScatterAddIsTheLoopOverPositionsToTheLastBit, UpdateIsTheRuleOnEveryRowToTheLastBit,
                            UpdateWithoutGradientsChangesNothing, CopiesOfADeviceShareItsFloats);

}  // namespace prdist::test
