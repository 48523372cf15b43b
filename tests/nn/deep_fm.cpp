#include <prdist/nn/deep_fm.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "../data/error_text.hpp"
#include "model_check.hpp"

using namespace prdist;

TEST(DeepFm, ARowIsAWeightAndAnEmbedding) {
  nn::DeepFm const model{.slots = 3, .dim = 4, .dense = 2, .hidden = {5}};
  ASSERT_EQ(model.sparse_inputs().size(), 1U);
  EXPECT_EQ(model.sparse_inputs()[0].dim, 5U);
  std::vector<std::string> names;
  for (auto const& part : model.dense_parts()) names.push_back(concat(part.name, ' ', shape_text(part.extents())));
  EXPECT_EQ(names,
            (std::vector<std::string>{"linear.w 2", "linear.b 1", "fc0.w 14x5", "fc0.b 5", "fc1.w 5x1", "fc1.b 1"}));
}

TEST(DeepFm, GradientsAgreeWithFiniteDifferences) {
  constexpr std::size_t slots = 3, dim = 2, dense = 2;
  auto const batch = uneven_batch(7, slots, dense);
  expect_model(nn::DeepFm{.slots = slots, .dim = dim, .dense = dense, .hidden = {5, 4}}, batch,
               [&](std::size_t i, std::span<double const> weights, std::vector<std::vector<double>> const& rows) {
                 auto const first = reference_pool(batch, i, rows[0], 1 + dim, 0, 1);
                 auto x = reference_pool(batch, i, rows[0], 1 + dim, 1, dim);
                 auto logit = std::accumulate(first.begin(), first.end(), weights[dense]);
                 for (std::size_t a = 0; a < slots; ++a) {
                   for (std::size_t b = a + 1; b < slots; ++b) {
                     for (std::size_t f = 0; f < dim; ++f) logit += x[a * dim + f] * x[b * dim + f];
                   }
                 }
                 for (std::size_t d = 0; d < dense; ++d) {
                   x.push_back(static_cast<double>(batch.dense_of(i)[d]));
                   logit += weights[d] * x.back();
                 }
                 weights = weights.subspan(dense + 1);
                 return logit + reference_mlp(x, weights, {5, 4}, 1)[0];
               });
}

TEST(DeepFm, WhatDoesNotFitIsAnError) {
  nn::DeepFm model{.slots = 3, .dim = 2, .dense = 2, .hidden = {4}};
  auto const batch = uneven_batch(4, 3, 2);
  std::vector<float> weights(3 + (3 * 2 + 2 + 1) * 4 + 5), rows(batch.keys.size() * 3), out(4);
  std::vector<std::span<float const>> views{rows};
  EXPECT_EQ(error_of([&] { model.predict(batch, weights, views, out); }), "no error");
  EXPECT_NE(error_of([&] { model.predict(batch, std::span(weights).first(9), views, out); }).find("dense weights"),
            std::string::npos);
  EXPECT_NE(error_of([&] { model.predict(uneven_batch(4, 3, 1), weights, views, out); }).find("DeepFm of 3 slots"),
            std::string::npos);
  views[0] = views[0].first(4);
  EXPECT_NE(error_of([&] { model.predict(batch, weights, views, out); }).find("row values"), std::string::npos);
}
