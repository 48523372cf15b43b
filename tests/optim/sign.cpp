#include <prdist/optim/sign.hpp>

#include <gtest/gtest.h>

#include <limits>

using namespace prdist;

TEST(Sign, IsThatOfANumberAndOfEachInAVector) {
  float const numbers[]{-2,
                        -1e-30F,
                        -0.0F,
                        0,
                        1e-30F,
                        3,
                        std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()};
  float const signs[]{-1, -1, 0, 0, 1, 1, 1, 0};
  float __attribute__((vector_size(32))) vector{};
  for (int i = 0; i < 8; ++i) {
    float x = numbers[i];
    replace_by_sign(x);
    EXPECT_EQ(x, signs[i]) << numbers[i];
    vector[i] = numbers[i];
  }
  replace_by_sign(vector);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(vector[i], signs[i]) << numbers[i];
}
