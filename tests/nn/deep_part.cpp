#include <prdist/nn/deep_part.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "model_check.hpp"

using namespace prdist;
using nn::as_matrix;

TEST(DeepPart, SetsPooledIdsAndFeaturesSideBySide) {
  auto const batch = uneven_batch(4, 3, 2);
  auto const rows = random_floats(batch.keys.size() * 2, 1);
  nn::DeepPart deep;
  auto const& shape = deep.prepare(3 * 2 + 2, {});
  // One linear layer that weighs place k of the input by k + 1.
  std::vector<float> parameters(shape.size());
  for (std::size_t i = 0; i < 8; ++i) parameters[i] = static_cast<float>(i + 1);
  auto const y = deep.forward(nn::Pooling::sum, batch, parameters, as_matrix(rows, batch.keys.size(), 2));
  ASSERT_EQ(y.size(), 4U);
  std::vector<double> const wide(rows.begin(), rows.end());
  for (std::size_t i = 0; i < 4; ++i) {
    auto x = reference_pool(batch, i, wide, 2, 0, 2);
    for (auto const feature : batch.dense_of(i)) x.push_back(static_cast<double>(feature));
    double wanted = 0;
    for (std::size_t k = 0; k < x.size(); ++k) wanted += x[k] * static_cast<double>(k + 1);
    EXPECT_NEAR(static_cast<double>(y[i]), wanted, 1e-5);
  }
}

TEST(DeepPart, OtherPartsMayAddToTheGradientOfTheEmbeddings) {
  auto const batch = uneven_batch(4, 3, 2);
  std::vector<float> const rows(batch.keys.size() * 2);
  nn::DeepPart deep;
  std::vector<float> const parameters(deep.prepare(8, {}).size(), 1);
  std::vector<float> gradient(parameters.size()), row_gradients(rows.size());
  std::vector<float> const slope(4, 0.5F);
  (void)deep.forward(nn::Pooling::sum, batch, parameters, as_matrix(rows, batch.keys.size(), 2));
  auto const embedded = deep.backward(parameters, slope, gradient);
  EXPECT_EQ(embedded.columns(), 6U);
  for (std::size_t i = 0; i < 4; ++i) {
    for (auto& value : embedded.row(i)) value += 1;
  }
  deep.finish(batch, embedded, as_matrix(row_gradients, batch.keys.size(), 2));
  EXPECT_EQ(row_gradients, std::vector<float>(rows.size(), 1.5F));
}
