#include <prdist/nn/linear.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "gradient_check.hpp"

using namespace prdist::nn;

namespace {

// Two examples of two slots: 1, 2 and 0, 1 ids.
std::vector<std::uint32_t> const offsets{0, 1, 3, 3, 4};
constexpr std::size_t keys = 4, examples = 2, features = 3;

std::vector<double> forward(std::vector<double> const& rows, std::vector<double> const& x, std::vector<double> const& w,
                            double bias) {
  std::vector<double> y(examples);
  linear(as_matrix(rows, keys, 1), offsets, as_matrix(x, examples, features), w, bias, std::span(y));
  return y;
}

}  // namespace

TEST(Linear, SumsTheWeightsOfIdsAndFeatures) {
  EXPECT_EQ(forward({1, 2, 4, 8}, {1, 0, 0, 0, 1, 1}, {10, 20, 30}, 0.5), (std::vector<double>{17.5, 58.5}));
}

TEST(Linear, BackwardAgreesWithFiniteDifferences) {
  auto rows = random_values(keys, 1), w = random_values(features, 2), bias = random_values(1, 3);
  auto const x = random_values(examples * features, 4), slopes = random_values(examples, 5);
  std::vector<double> d_rows(keys), dw(features), d_bias(1);
  linear_backward(offsets, as_matrix(x, examples, features), slopes, as_matrix(d_rows, keys, 1), dw, d_bias[0]);
  auto const loss = [&] { return weighted_sum(forward(rows, x, w, bias[0]), slopes); };
  expect_gradient("row", rows, d_rows, loss);
  expect_gradient("w", w, dw, loss);
  expect_gradient("bias", bias, d_bias, loss);
}

TEST(Linear, NoExamplesAreNoError) {
  std::vector<double> y, dw(features, 7);
  double d_bias = 7;
  std::vector<std::uint32_t> const none{0};
  linear(Matrix<double const>(nullptr, 0, 1, 1), none, Matrix<double const>(nullptr, 0, features, features),
         std::vector<double>(features), 1.0, std::span(y));
  linear_backward(none, Matrix<double const>(nullptr, 0, features, features), std::span<double const>(y),
                  Matrix<double>(nullptr, 0, 1, 1), dw, d_bias);
  EXPECT_EQ(d_bias, 7.0);
}
