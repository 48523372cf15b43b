#include <prdist/nn/mlp.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "allocation_count.hpp"
#include "gradient_check.hpp"

using namespace prdist;
using nn::as_matrix;
using nn::Matrix;
using nn::Mlp;
using nn::MlpShape;

TEST(Mlp, NamesItsPartsInTheOrderOfItsParameters) {
  MlpShape const shape{.in = 6, .hidden = {4, 3}, .out = 2, .name = "deep"};
  auto const parts = shape.parts();
  std::vector<std::string> names;
  std::size_t sum = 0;
  for (auto const& part : parts) {
    names.push_back(part.name);
    sum += part.size;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"deep0.w", "deep0.b", "deep1.w", "deep1.b", "deep2.w", "deep2.b"}));
  EXPECT_EQ(parts[2].size, 12U);
  EXPECT_EQ(parts[2].init, Initializer::xavier(4, 3));
  EXPECT_EQ(parts[2].shape, (std::vector<std::size_t>{4, 3}));
  EXPECT_EQ(parts[3].init, Initializer::zeros());
  EXPECT_EQ(parts[3].extents(), std::vector<std::size_t>{3});
  EXPECT_EQ(sum, shape.size());
}

TEST(Mlp, BackwardAgreesWithFiniteDifferences) {
  for (auto const& hidden : {std::vector<std::size_t>{}, {5}, {5, 4, 3}}) {
    MlpShape const shape{.in = 3, .hidden = hidden, .out = 2};
    Mlp<double> mlp(shape), other(shape);
    auto x = random_values(4 * 3, 1), parameters = random_values(shape.size(), 2);
    auto const slopes = random_values(4 * 2, 3);
    auto const x_view = [&] { return as_matrix(x, 4, 3); };
    (void)mlp.forward(parameters, x_view());
    std::vector<double> gradient(shape.size());
    auto const dx = mlp.backward(parameters, as_matrix(slopes, 4, 2), gradient);
    auto const loss = [&] { return weighted_sum(other.forward(parameters, x_view()).flat(), slopes); };
    expect_gradient("parameter", parameters, gradient, loss);
    expect_gradient("x", x, dx.flat(), loss);
  }
}

TEST(Mlp, ReluStandsBetweenLayersAndNotBehindTheLast) {
  // Two layers of weight one: a negative input is cut off between them, a negative bias behind the last is not.
  Mlp<float> mlp({.in = 1, .hidden = {1}});
  std::vector<float> const parameters{1, 0, 1, -5}, x{-3, 2};
  auto const y = mlp.forward(parameters, as_matrix(x, 2, 1));
  EXPECT_EQ(y(0, 0), -5.0F);
  EXPECT_EQ(y(1, 0), -3.0F);
}

TEST(Mlp, BatchesOfAnySizeAndNoAllocationOnceTheLargestWasSeen) {
  MlpShape const shape{.in = 20, .hidden = {16, 8}};
  Mlp<float> mlp(shape);
  auto const parameters = random_floats(shape.size(), 1), x = random_floats(64 * 20, 2), dy = random_floats(64, 3);
  std::vector<float> gradient(shape.size());
  auto const step = [&](std::size_t rows) {
    (void)mlp.forward(parameters, as_matrix(std::span(x).first(rows * 20), rows, 20));
    return mlp.backward(parameters, Matrix<float const>(std::span(dy).first(rows)), gradient).rows();
  };
  EXPECT_EQ(step(64), 64U);
  auto const before = allocations_so_far();
  EXPECT_EQ(step(64), 64U);
  EXPECT_EQ(step(7), 7U);
  EXPECT_EQ(step(0), 0U);
  EXPECT_EQ(step(64), 64U);
  EXPECT_EQ(allocations_so_far(), before);
}

TEST(Mlp, EqualInputsGiveEqualBytes) {
  MlpShape const shape{.in = 50, .hidden = {40, 30}};
  auto const parameters = random_floats(shape.size(), 1), x = random_floats(65 * 50, 2), dy = random_floats(65, 3);
  auto const run = [&] {
    Mlp<float> mlp(shape);
    std::vector<float> all(shape.size());
    auto const y = mlp.forward(parameters, as_matrix(x, 65, 50)).flat();
    auto const dx = mlp.backward(parameters, Matrix<float const>(std::span(dy)), all).flat();
    all.insert(all.end(), y.begin(), y.end());
    all.insert(all.end(), dx.begin(), dx.end());
    return all;
  };
  auto const first = run(), second = run();
  ASSERT_EQ(first.size(), second.size());
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}
