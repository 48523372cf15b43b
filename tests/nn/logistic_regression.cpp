#include <prdist/nn/logistic_regression.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "../data/error_text.hpp"
#include "model_check.hpp"

using namespace prdist;

TEST(LogisticRegression, GradientsAgreeWithFiniteDifferences) {
  auto const batch = uneven_batch(9, 3, 2);
  expect_model(nn::LogisticRegression{.slots = 3, .dense = 2}, batch,
               [&](std::size_t i, std::span<double const> weights, std::vector<std::vector<double>> const& rows) {
                 auto const ids = reference_pool(batch, i, rows[0], 1, 0, 1);
                 auto logit = std::accumulate(ids.begin(), ids.end(), weights[2]);
                 for (std::size_t d = 0; d < 2; ++d) logit += weights[d] * static_cast<double>(batch.dense_of(i)[d]);
                 return logit;
               });
}

TEST(LogisticRegression, BeginsAtAHalf) {
  nn::LogisticRegression const model;
  EXPECT_EQ(model.sparse_inputs()[0].init, Initializer::zeros());
  for (auto const& part : model.dense_parts()) EXPECT_EQ(part.init, Initializer::zeros());
  EXPECT_EQ(model.dense_parts()[0].extents(), std::vector<std::size_t>{13});
}

TEST(LogisticRegression, WhatDoesNotFitIsAnError) {
  nn::LogisticRegression model{.slots = 3, .dense = 2};
  auto const batch = uneven_batch(4, 3, 2);
  std::vector<float> weights(3), rows(batch.keys.size()), out(4);
  std::vector<std::span<float const>> const views{rows};
  EXPECT_EQ(error_of([&] { model.predict(batch, weights, views, out); }), "no error");
  EXPECT_NE(error_of([&] { model.predict(batch, {}, views, out); }).find("3 dense weights"), std::string::npos);
  EXPECT_NE(error_of([&] { model.predict(uneven_batch(4, 1, 2), weights, views, out); }).find("a batch of 1 slots"),
            std::string::npos);
}
