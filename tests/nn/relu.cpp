#include <prdist/nn/relu.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "gradient_check.hpp"

using namespace prdist::nn;

TEST(Relu, CutsOffBelowZero) {
  std::vector<float> x{-1, 0, 2, -0.0F, std::numeric_limits<float>::infinity()};
  relu(std::span(x));
  EXPECT_EQ(x, (std::vector<float>{0, 0, 2, 0, std::numeric_limits<float>::infinity()}));
}

TEST(Relu, BackwardAgreesWithFiniteDifferences) {
  auto x = random_values(50, 1);
  auto const slopes = random_values(50, 2);
  auto const loss = [&] {
    auto y = x;
    relu(std::span(y));
    return weighted_sum(y, slopes);
  };
  auto y = x, gradient = slopes;
  relu(std::span(y));
  relu_backward(y, std::span(gradient));
  expect_gradient("x", x, gradient, loss);
}

TEST(Relu, TheGradientAtZeroIsZero) {
  std::vector<float> gradient{5};
  relu_backward(std::vector<float>{0}, std::span(gradient));
  EXPECT_EQ(gradient[0], 0.0F);
}
