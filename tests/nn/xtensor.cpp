#include <prdist/nn/xtensor.hpp>

#include <gtest/gtest.h>

#include <vector>
#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xview.hpp>

#include <prdist/nn/fully_connected.hpp>

using namespace prdist::nn;

TEST(Xtensor, ContainersConvertToMatrix) {
  xt::xtensor<float, 2> tensor{{1, 2, 3}, {4, 5, 6}};
  Matrix<float> const matrix = tensor;
  EXPECT_EQ(matrix.rows(), 2U);
  EXPECT_EQ(matrix.columns(), 3U);
  matrix(1, 1) = 50;
  EXPECT_EQ(tensor(1, 1), 50.0F);

  xt::xarray<double> const array{{1, 2}, {3, 4}, {5, 6}};
  Matrix<double const> const view = array;
  EXPECT_EQ(view(2, 0), 5.0);
}

TEST(Xtensor, OneRowHasTheStrideOfItsLength) {
  xt::xtensor<float, 2> row{{1, 2, 3}};
  Matrix<float> const matrix = row;
  EXPECT_EQ(matrix.rows(), 1U);
  EXPECT_EQ(matrix.stride(), 3U);
  xt::xtensor<float, 2> column{{1}, {2}, {3}};
  EXPECT_EQ(Matrix<float>(column)(2, 0), 3.0F);
}

TEST(Xtensor, AViewOfColumnsConvertsWithItsOffset) {
  xt::xtensor<float, 2> tensor{{1, 2, 3, 4}, {5, 6, 7, 8}};
  auto view = xt::view(tensor, xt::all(), xt::range(1, 3));
  Matrix<float> const matrix = view;
  EXPECT_EQ(matrix.columns(), 2U);
  EXPECT_EQ(matrix.stride(), 4U);
  EXPECT_EQ(matrix(0, 0), 2.0F);
  EXPECT_EQ(matrix(1, 1), 7.0F);
}

TEST(Xtensor, LayersTakeTensorsAsTheyAre) {
  xt::xtensor<float, 2> const x{{1, 2}, {3, 4}};
  xt::xtensor<float, 2> const w{{1, 0, 2}, {0, 1, 1}};
  std::vector<float> const b{10, 20, 30};
  xt::xtensor<float, 2> y({2, 3});
  fully_connected(x, w, b, Matrix(y));
  EXPECT_EQ(y, (xt::xtensor<float, 2>{{11, 22, 34}, {13, 24, 40}}));
}

TEST(Xtensor, ExpressionsReadAndWriteAMatrix) {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  auto const matrix = as_matrix(values, 2, 3);
  auto last_two = as_xtensor(matrix.columns(1, 2));
  EXPECT_EQ(xt::sum(last_two)(), 16.0F);
  last_two *= 10;
  EXPECT_EQ(values, (std::vector<float>{1, 20, 30, 4, 50, 60}));
  auto all = as_xtensor(std::span(values));
  all = all + 1;
  EXPECT_EQ(values.front(), 2.0F);
}
