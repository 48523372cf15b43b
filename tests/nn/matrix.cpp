#include <prdist/nn/matrix.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

using namespace prdist::nn;

namespace {

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

static_assert(std::is_convertible_v<Matrix<float>, Matrix<float const>>);
static_assert(!std::is_convertible_v<Matrix<float const>, Matrix<float>>);
static_assert(!has_strided_data<std::vector<float>>);

}  // namespace

TEST(Matrix, ViewsRowsInMemory) {
  auto values = counting(6);
  auto const matrix = as_matrix(values, 2, 3);
  EXPECT_EQ(matrix(1, 0), 3.0F);
  matrix(1, 2) = 50;
  EXPECT_EQ(values[5], 50.0F);
  EXPECT_EQ(matrix.row(1)[2], 50.0F);
  EXPECT_EQ(matrix.flat().size(), 6U);
}

TEST(Matrix, AStretchOfColumnsIsAMatrixWhoseRowsLieApart) {
  auto values = counting(12);
  auto const middle = as_matrix(values, 3, 4).columns(1, 2);
  EXPECT_EQ(middle.columns(), 2U);
  EXPECT_EQ(middle.stride(), 4U);
  EXPECT_EQ(middle(2, 1), 10.0F);
  EXPECT_EQ(middle.columns(1, 1)(2, 0), 10.0F);
  EXPECT_EQ(middle.row(1)[0], 5.0F);
}

TEST(Matrix, OneColumnFromASpan) {
  auto values = counting(3);
  Matrix<float> const column{std::span(values)};
  EXPECT_EQ(column.rows(), 3U);
  EXPECT_EQ(column.columns(), 1U);
  EXPECT_FALSE(column.empty());
  EXPECT_TRUE(Matrix<float>().empty());
}

TEST(Buffer, GrowsToTheLargestShapeAndIsThenUsedAgain) {
  Buffer<float> buffer;
  auto const* const large = buffer.shape(10, 10).data();
  auto const small = buffer.shape(3, 5);
  EXPECT_EQ(small.data(), large);
  EXPECT_EQ(small.stride(), 5U);
  EXPECT_EQ(buffer.shape(20, 5).data(), large);
}
