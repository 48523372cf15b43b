// A program may use xtensor-blas beside prdist::nn, in one file.
#include <gtest/gtest.h>

#include <xtensor-blas/xlinalg.hpp>

#include <prdist/nn.hpp>

TEST(BesideXtensorBlas, BothMultiplyAlike) {
  xt::xtensor<float, 2> const a{{1, 2}, {3, 4}}, b{{5, 6}, {7, 8}};
  xt::xtensor<float, 2> c({2, 2});
  prdist::nn::matmul(a, prdist::nn::Op::none, b, prdist::nn::Op::none, prdist::nn::Matrix(c));
  EXPECT_EQ(c, xt::linalg::dot(a, b));
}
