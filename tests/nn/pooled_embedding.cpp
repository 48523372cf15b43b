#include <prdist/nn/pooled_embedding.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "gradient_check.hpp"

using namespace prdist::nn;

namespace {

// Two examples of three slots: 1, 0, 2 and 3, 1, 1 ids.
std::vector<std::uint32_t> const offsets{0, 1, 1, 3, 6, 7, 8};
constexpr std::size_t keys = 8, slots = 3, dim = 2, examples = 2;

std::vector<double> pool(std::vector<double> const& rows, Pooling pooling) {
  std::vector<double> out(examples * slots * dim, 99);
  pooled_embedding(as_matrix(rows, keys, dim), offsets, slots, pooling, as_matrix(out, examples, slots * dim));
  return out;
}

}  // namespace

TEST(PooledEmbedding, SumsOrAveragesTheRowsOfASlotAndSetsSlotsSideBySide) {
  std::vector<double> const rows{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  EXPECT_EQ(pool(rows, Pooling::sum), (std::vector<double>{1, 2, 0, 0, 8, 10, 27, 30, 13, 14, 15, 16}));
  EXPECT_EQ(pool(rows, Pooling::mean), (std::vector<double>{1, 2, 0, 0, 4, 5, 9, 10, 13, 14, 15, 16}));
}

TEST(PooledEmbedding, BackwardAgreesWithFiniteDifferences) {
  for (auto const pooling : {Pooling::sum, Pooling::mean}) {
    auto rows = random_values(keys * dim, 1);
    auto const slopes = random_values(examples * slots * dim, 2);
    std::vector<double> gradient(keys * dim);
    pooled_embedding_backward(as_matrix(slopes, examples, slots * dim), offsets, slots, pooling,
                              as_matrix(gradient, keys, dim));
    expect_gradient("row", rows, gradient, [&] { return weighted_sum(pool(rows, pooling), slopes); });
  }
}

TEST(PooledEmbedding, TakesAStretchOfColumnsAndAddsToGradients) {
  auto const wide = random_values(keys * 5, 1);
  auto const table = as_matrix(wide, keys, 5);
  std::vector<double> narrow;
  for (std::size_t key = 0; key < keys; ++key) {
    narrow.push_back(table(key, 2));
    narrow.push_back(table(key, 3));
  }
  std::vector<double> out(examples * slots * dim);
  pooled_embedding(table.columns(2, dim), offsets, slots, Pooling::sum, as_matrix(out, examples, slots * dim));
  EXPECT_EQ(out, pool(narrow, Pooling::sum));

  std::vector<double> gradient(keys * 5, 1);
  pooled_embedding_backward(as_matrix(out, examples, slots * dim), offsets, slots, Pooling::sum,
                            as_matrix(gradient, keys, 5).columns(2, dim));
  EXPECT_EQ(gradient[0], 1.0) << "beside the stretch";
  EXPECT_EQ(gradient[2], 1.0 + out[0]);
}
