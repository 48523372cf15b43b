#include <prdist/nn/ctr_dnn.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "../data/error_text.hpp"
#include "model_check.hpp"

using namespace prdist;

TEST(CtrDnn, DefaultIsPaddleRecsCriteoNetwork) {
  nn::CtrDnn const model{.slots = 26, .dim = 9, .dense = 13, .hidden = {400, 400, 400}};
  ASSERT_EQ(model.sparse_inputs().size(), 1U);
  EXPECT_EQ(model.sparse_inputs()[0].name, "embedding");
  EXPECT_EQ(model.sparse_inputs()[0].dim, 9U);
  auto const parts = model.dense_parts();
  ASSERT_EQ(parts.size(), 8U);
  EXPECT_EQ(parts.front().name, "fc0.w");
  EXPECT_EQ(parts.front().size, (26U * 9 + 13) * 400);
  EXPECT_EQ(parts.front().extents(), (std::vector<std::size_t>{26 * 9 + 13, 400}));
  EXPECT_EQ(parts[6].extents(), (std::vector<std::size_t>{400, 1}));
  EXPECT_EQ(parts.back().name, "fc3.b");
  EXPECT_EQ(nn::CtrDnn{}.dense_parts(), parts);
}

TEST(CtrDnn, GradientsAgreeWithFiniteDifferences) {
  auto const batch = uneven_batch(7, 3, 2);
  for (auto const pooling : {nn::Pooling::sum, nn::Pooling::mean}) {
    expect_model(nn::CtrDnn{.slots = 3, .dim = 2, .dense = 2, .hidden = {5, 4}, .pooling = pooling}, batch,
                 [&](std::size_t i, std::span<double const> weights, std::vector<std::vector<double>> const& rows) {
                   auto x = reference_pool(batch, i, rows[0], 2, 0, 2, pooling == nn::Pooling::mean);
                   for (auto const feature : batch.dense_of(i)) x.push_back(static_cast<double>(feature));
                   return reference_mlp(x, weights, {5, 4}, 1)[0];
                 });
  }
}

TEST(CtrDnn, WithoutDenseFeaturesOrHiddenLayers) {
  auto const batch = uneven_batch(5, 2, 0);
  expect_model(nn::CtrDnn{.slots = 2, .dim = 3, .dense = 0, .hidden = {}}, batch,
               [&](std::size_t i, std::span<double const> weights, std::vector<std::vector<double>> const& rows) {
                 return reference_mlp(reference_pool(batch, i, rows[0], 3, 0, 3), weights, {}, 1)[0];
               });
}

TEST(CtrDnn, WhatDoesNotFitIsAnErrorBeforeAnythingIsRead) {
  nn::CtrDnn model{.slots = 3, .dim = 2, .dense = 2, .hidden = {4}};
  auto const batch = uneven_batch(4, 3, 2);
  std::vector<float> weights((3 * 2 + 2 + 1) * 4 + 5), rows(batch.keys.size() * 2), out(4);
  std::vector<std::span<float const>> views{rows};
  auto const predict = [&](std::span<float const> dense, std::span<std::span<float const> const> tables,
                           std::span<float> to) { return error_of([&] { model.predict(batch, dense, tables, to); }); };
  EXPECT_EQ(predict(weights, views, out), "no error");
  EXPECT_NE(predict(std::span(weights).first(5), views, out).find("dense weights"), std::string::npos);
  EXPECT_NE(predict(weights, {}, out).find("1 tables"), std::string::npos);
  EXPECT_NE(predict(weights, views, std::span(out).first(3)).find("places for predictions"), std::string::npos);
  views[0] = views[0].first(2);
  EXPECT_NE(predict(weights, views, out).find("row values"), std::string::npos);
  EXPECT_NE(error_of([&] { model.predict(uneven_batch(4, 2, 2), weights, views, out); }).find("config.contradiction"),
            std::string::npos);
}

TEST(CtrDnn, AChangedShapeTakesEffect) {
  nn::CtrDnn model{.slots = 3, .dim = 2, .dense = 2, .hidden = {4}};
  auto const batch = uneven_batch(4, 3, 2);
  for (std::size_t const width : {4U, 6U}) {
    model.hidden = {width};
    std::vector<float> const weights((3 * 2 + 2 + 1) * width + width + 1), rows(batch.keys.size() * 2);
    std::vector<float> out(4);
    std::vector<std::span<float const>> const views{rows};
    model.predict(batch, weights, views, out);
    EXPECT_EQ(out, std::vector<float>(4, 0.5F));
  }
}

TEST(CtrDnn, AnEmptyBatchIsNoError) {
  nn::CtrDnn model{.slots = 3, .dim = 2, .dense = 2, .hidden = {4}};
  auto const batch = uneven_batch(0, 3, 2);
  std::vector<float> const weights((3 * 2 + 2 + 1) * 4 + 5);
  std::vector<float> gradient(weights.size());
  std::vector<std::span<float const>> const rows{std::span<float const>{}};
  std::vector<std::span<float>> const row_gradients{std::span<float>{}};
  EXPECT_EQ(model.gradients(batch, StepView{weights, gradient, rows, row_gradients}), 0.0);
}
