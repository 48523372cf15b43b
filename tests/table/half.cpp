#include <prdist/table/half.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "../support/random.hpp"

using namespace prdist;
using test::Random;

namespace {

constexpr Precision both[]{Precision::bf16, Precision::fp16};

float expanded(Precision precision, std::uint16_t half) {
  float value = 0;
  half_codec(precision).expand(&half, &value, 1);
  return value;
}

std::uint16_t rounded(Precision precision, float value, std::uint64_t noise) {
  std::uint16_t half = 0;
  half_codec(precision).round(&value, &half, 1, noise);
  return half;
}

bool is_special(Precision precision, std::uint16_t half) {
  auto const exponent = precision == Precision::bf16 ? 0x7f80U : 0x7c00U;
  return (half & exponent) == exponent;
}

}  // namespace

TEST(Half, ExpandsAsTheFormatSays) {
  EXPECT_EQ(expanded(Precision::bf16, 0x3f80), 1.0F);
  EXPECT_EQ(expanded(Precision::bf16, 0xc000), -2.0F);
  EXPECT_EQ(expanded(Precision::fp16, 0x3c00), 1.0F);
  EXPECT_EQ(expanded(Precision::fp16, 0xc000), -2.0F);
  EXPECT_EQ(expanded(Precision::fp16, 0x7bff), 65504.0F);
  EXPECT_EQ(expanded(Precision::fp16, 0x0001), 0x1p-24F);
  EXPECT_EQ(expanded(Precision::fp16, 0x03ff), 1023 * 0x1p-24F);
  EXPECT_EQ(expanded(Precision::fp16, 0x0400), 0x1p-14F);
  for (auto const precision : both) {
    EXPECT_EQ(expanded(precision, 0), 0.0F);
    EXPECT_TRUE(std::signbit(expanded(precision, 0x8000)));
  }
  EXPECT_EQ(expanded(Precision::fp16, 0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(expanded(Precision::fp16, 0x7e01)));
}

TEST(Half, WhatIsExactStaysWhateverTheNoise) {
  Random random(1);
  for (auto const precision : both) {
    for (std::uint32_t half = 0; half < 0x10000; ++half) {
      auto const h = static_cast<std::uint16_t>(half);
      if (is_special(precision, h) && std::isnan(expanded(precision, h))) continue;
      ASSERT_EQ(rounded(precision, expanded(precision, h), random.bits()), h) << name_of(precision);
    }
  }
}

TEST(Half, NaNStaysNaNAndWhatIsFiniteStaysFinite) {
  for (auto const precision : both) {
    for (std::uint64_t noise = 0; noise < 100; ++noise) {
      EXPECT_TRUE(std::isnan(expanded(precision, rounded(precision, std::nanf(""), noise))));
      auto const low_nan = std::bit_cast<float>(0x7f800001U);
      EXPECT_TRUE(std::isnan(expanded(precision, rounded(precision, low_nan, noise))));
      for (float const sign : {1.0F, -1.0F}) {
        auto const large = expanded(precision, rounded(precision, sign * std::numeric_limits<float>::max(), noise));
        EXPECT_TRUE(std::isfinite(large));
        EXPECT_GT(sign * large, 60000.0F);
        auto const endless =
            expanded(precision, rounded(precision, sign * std::numeric_limits<float>::infinity(), noise));
        EXPECT_EQ(endless, sign * std::numeric_limits<float>::infinity());
      }
    }
  }
  EXPECT_EQ(expanded(Precision::fp16, rounded(Precision::fp16, 65519.0F, 3)), 65504.0F);
}

// The mean of many roundings is the number, in all parts of the range: that is what small gradients live on.
TEST(Half, RoundingIsUnbiased) {
  Random random(2);
  for (auto const precision : both) {
    for (float const scale : {1.0F, 1e-3F, 1e-4F, 1e-6F, 300.0F}) {
      for (int each = 0; each < 20; ++each) {
        float const value = random.numbers(1)[0] * scale;
        constexpr std::size_t draws = 4096;
        std::vector<float> const in(draws, value);
        std::vector<std::uint16_t> halves(draws);
        std::vector<float> out(draws);
        half_codec(precision).round(in.data(), halves.data(), draws, random.bits());
        half_codec(precision).expand(halves.data(), out.data(), draws);
        double sum = 0, low = out[0], high = out[0];
        for (auto const x : out) {
          sum += x;
          low = std::min<double>(low, x);
          high = std::max<double>(high, x);
        }
        EXPECT_LE(low, value);
        EXPECT_GE(high, value);
        // Five deviations of the mean of that many draws, and what a draw of 13 bits cannot tell.
        auto const step = high - low;
        EXPECT_NEAR(sum / draws, value, step * (2.5 / std::sqrt(double{draws}) + 0x1p-13)) << name_of(precision);
      }
    }
  }
}

TEST(Half, EveryInstructionSetGivesTheSameBytes) {
  if (instruction_set() == InstructionSet::baseline) GTEST_SKIP() << "this machine has but one";
  Random random(3);
  for (auto const precision : both) {
    auto const one = half_codec(precision, InstructionSet::baseline), two = half_codec(precision, instruction_set());
    for (std::size_t count = 0; count < 70; ++count) {
      std::vector<float> in(count);
      for (auto& x : in) x = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
      std::vector<std::uint16_t> a(count + 1, 7), b(count + 1, 7);
      auto const noise = random.bits();
      one.round(in.data(), a.data(), count, noise);
      two.round(in.data(), b.data(), count, noise);
      ASSERT_EQ(a, b);
      ASSERT_EQ(a[count], 7) << "nothing is written behind the end";
      std::vector<float> c(count + 1, 7), d(count + 1, 7);
      one.expand(a.data(), c.data(), count);
      two.expand(a.data(), d.data(), count);
      ASSERT_EQ(std::memcmp(c.data(), d.data(), c.size() * sizeof(float)), 0);
      ASSERT_EQ(c[count], 7.0F);
    }
  }
}

// One number rounds the same at the end of a row of any length.
TEST(Half, TheNoiseOfAnElementDoesNotDependOnTheOthers) {
  Random random(4);
  auto const in = random.numbers(40);
  for (auto const precision : both) {
    std::vector<std::uint16_t> all(40), part(40);
    half_codec(precision).round(in.data(), all.data(), 40, 9);
    for (std::size_t count = 1; count <= 40; ++count) {
      half_codec(precision).round(in.data(), part.data(), count, 9);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(part[i], all[i]);
    }
  }
}
