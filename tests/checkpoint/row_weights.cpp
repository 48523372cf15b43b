#include <prdist/checkpoint/row_weights.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace prdist {
namespace {

TEST(RowWeights, AreReadAsTheyWereWritten) {
  SparseSpec const spec{.name = "t", .dim = 3};
  std::vector<float> const weights{0.1F, -2.5F, 1e-30F};
  std::vector<std::byte> row(RowLayout(spec).bytes());
  write_weights(spec, 7, weights.data(), row.data());
  std::vector<float> back(3);
  read_weights(spec, row.data(), back.data());
  EXPECT_EQ(back, weights);
}

TEST(RowWeights, OfHalfPrecisionAreNeighboursAndTheSameEveryTime) {
  for (auto const precision : {Precision::bf16, Precision::fp16}) {
    SparseSpec const spec{.name = "t", .dim = 3, .precision = precision};
    std::vector<float> const weights{0.1F, -2.5F, 0.3F};
    std::vector<std::byte> row(RowLayout(spec).bytes(), std::byte{0xff}), again(row.size());
    write_weights(spec, 7, weights.data(), row.data());
    write_weights(spec, 7, weights.data(), again.data());
    EXPECT_EQ(row, again);  // the gap behind an odd number of weights included
    std::vector<float> back(3);
    read_weights(spec, row.data(), back.data());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(back[i], weights[i], 0.01F * std::abs(weights[i]));
    EXPECT_EQ(back[1], -2.5F);
  }
}

}  // namespace
}  // namespace prdist
