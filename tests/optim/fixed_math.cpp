#include <prdist/optim/fixed_math.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "../support/random.hpp"

using namespace prdist;

TEST(FixedMath, AgreesWithTheLibrary) {
  test::Random random(1);
  for (int i = 0; i < 20000; ++i) {
    auto const unit = static_cast<double>(random.bits() >> 11) / 9007199254740992.0;
    auto const x = 1400 * unit - 700;
    EXPECT_NEAR(fixed_exp(x) / std::exp(x), 1, 2e-13) << x;
    auto const positive = std::exp(x);
    EXPECT_NEAR(fixed_log(positive), std::log(positive), 1e-15 * (1 + std::abs(x))) << positive;
    EXPECT_NEAR(fixed_cos_pi(unit), std::cos(std::numbers::pi * unit), 1e-14) << unit;
    EXPECT_NEAR(fixed_power(unit, 2.5), std::pow(unit, 2.5), 1e-14) << unit;
  }
}

TEST(FixedMath, Ends) {
  EXPECT_EQ(fixed_exp(0), 1);
  EXPECT_EQ(fixed_exp(-1e9), 0);
  EXPECT_GT(fixed_exp(1e9), 1e307);
  EXPECT_EQ(fixed_log(1), 0);
  EXPECT_EQ(fixed_power(0, 2), 0);
  EXPECT_EQ(fixed_power(0, 0), 1);
  EXPECT_EQ(fixed_power(0.3, 0), 1);
  EXPECT_EQ(fixed_cos_pi(0.5), 0);
  EXPECT_NEAR(fixed_cos_pi(0), 1, 1e-15);
  EXPECT_NEAR(fixed_cos_pi(1), -1, 1e-15);
}

// Worked out by the compiler and by the machine: the same bits, or it would not be fixed.
TEST(FixedMath, TheCompilerAndTheMachineAgreeToTheLastBit) {
  volatile double x = 0.1, y = 37.25;
  constexpr auto power = fixed_power(0.1, 37.25);
  constexpr auto cosine = fixed_cos_pi(0.1);
  EXPECT_EQ(fixed_power(x, y), power);
  EXPECT_EQ(fixed_cos_pi(x), cosine);
}
