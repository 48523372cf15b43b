#include <prdist/table/row_layout.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace prdist;

TEST(RowLayout, APlainRowIsWeightsAndState) {
  RowLayout const layout(SparseSpec{.name = "t", .dim = 5, .optimizer = Adagrad{}});
  EXPECT_EQ(layout.bytes(), 10 * sizeof(float));
  EXPECT_EQ(layout.weight_bytes, 5 * sizeof(float));
}

TEST(RowLayout, HalfTheWeightsAndStatisticsBehindTheState) {
  RowLayout const layout(SparseSpec{
      .name = "t", .dim = 5, .optimizer = Adagrad{}, .precision = Precision::bf16, .statistics = {.kept = true}});
  EXPECT_EQ(layout.weight_bytes, 12U) << "five halves, and the state at a multiple of four";
  EXPECT_EQ(layout.bytes(), 12 + 5 * sizeof(float) + 16);
  std::vector<float> row(layout.bytes() / sizeof(float), -1.0F);
  layout.set_statistics(row.data(), {.show = 3, .click = 1, .delta_score = 2, .day = 7});
  auto const known = layout.statistics(row.data());
  EXPECT_EQ(known.show, 3.0F);
  EXPECT_EQ(known.click, 1.0F);
  EXPECT_EQ(known.delta_score, 2.0F);
  EXPECT_EQ(known.day, 7U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(row[i], -1.0F) << "weights and state are left alone";
}

TEST(RowLayout, ScoreWeighsShowsWithoutClickAndClicks) {
  EXPECT_FLOAT_EQ(score_of({.nonclick_weight = 0.1F, .click_weight = 2}, 10, 3), 0.7F + 6);
}

TEST(RowLayout, WeightsOfAnySizeAreCopied) {
  for (std::size_t const dim : {1U, 8U, 9U, 16U, 32U, 100U}) {
    std::vector<float> row(2 * dim), out(dim + 1, -1.0F);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i);
    copy_weights(out.data(), row.data(), dim * sizeof(float));
    for (std::size_t i = 0; i < dim; ++i) EXPECT_EQ(out[i], row[i]) << dim;
    EXPECT_EQ(out[dim], -1.0F) << dim;
  }
}
