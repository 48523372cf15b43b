// A model against a second writing of it: plain loops in double, one example at a time. The second one gives the
// logit; its loss is differentiated by finite differences and compared with the model's gradients.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <prdist/concepts/model.hpp>
#include <prdist/data/batch.hpp>

#include "gradient_check.hpp"

/// Slots with none, one and several ids, some of them equal.
inline prdist::Batch uneven_batch(std::size_t examples, std::size_t slots, std::size_t dense) {
  prdist::Batch batch;
  batch.slots = slots;
  batch.dense_dim = dense;
  prdist::CounterRandom const random(77);
  for (std::size_t i = 0; i < examples; ++i) {
    batch.labels.push_back(i % 3 == 0 ? 1.0F : 0.0F);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      auto const ids = (i + slot) % 4;
      for (std::size_t k = 0; k < ids; ++k) batch.keys.push_back(random.below(batch.keys.size(), 6));
      batch.end_slot();
    }
  }
  batch.dense = random_floats(examples * dense, 78);
  return batch;
}

/// The row of key k is rows[k * dim, (k + 1) * dim).
using ReferenceLogit = std::function<double(std::size_t example, std::span<double const> weights,
                                            std::vector<std::vector<double>> const& rows)>;

template <class Model>
void expect_model(Model model, prdist::Batch const& batch, ReferenceLogit const& logit) {
  using namespace prdist;
  std::size_t size = 0;
  for (auto const& part : model.dense_parts()) size += part.size;
  auto const weights = random_floats(size, 1, 0.7);
  std::vector<float> gradient(size);
  auto const inputs = model.sparse_inputs();
  std::vector<std::vector<float>> rows, row_gradients;
  std::vector<std::span<float const>> row_views;
  std::vector<std::span<float>> gradient_views;
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    rows.push_back(random_floats(model.keys(batch, t).size() * inputs[t].dim, 2 + t, 0.7));
    row_gradients.emplace_back(rows.back().size());
  }
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    row_views.emplace_back(rows[t]);
    gradient_views.emplace_back(row_gradients[t]);
  }
  auto const loss = model.gradients(batch, StepView{weights, gradient, row_views, gradient_views});

  std::vector<double> wide(weights.begin(), weights.end());
  std::vector<std::vector<double>> wide_rows;
  for (auto const& table : rows) wide_rows.emplace_back(table.begin(), table.end());
  auto const reference = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto const x = logit(i, wide, wide_rows);
      sum += std::log(1 + std::exp(x)) - static_cast<double>(batch.labels[i]) * x;
    }
    return sum / static_cast<double>(batch.size());
  };
  EXPECT_NEAR(loss, reference(), 1e-6);
  expect_gradient("dense weight", wide, gradient, reference, 2e-6);
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    expect_gradient("row value", wide_rows[t], row_gradients[t], reference, 2e-6);
  }

  std::vector<float> predicted(batch.size());
  model.predict(batch, std::span<float const>(weights), std::span<std::span<float const> const>(row_views), predicted);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(predicted[i]), 1 / (1 + std::exp(-logit(i, wide, wide_rows))), 1e-6);
  }
}

/// Plain loops over Mlp's layout of parameters; what is left of `weights` behind them is returned in `weights`.
inline std::vector<double> reference_mlp(std::vector<double> x, std::span<double const>& weights,
                                         std::vector<std::size_t> const& hidden, std::size_t out) {
  for (std::size_t layer = 0; layer <= hidden.size(); ++layer) {
    auto const width = layer < hidden.size() ? hidden[layer] : out;
    auto const bias = weights.subspan(x.size() * width, width);
    std::vector<double> y(bias.begin(), bias.end());
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < width; ++j) y[j] += x[i] * weights[i * width + j];
    }
    if (layer < hidden.size()) {
      for (auto& value : y) value = std::max(value, 0.0);
    }
    weights = weights.subspan(x.size() * width + width);
    x = y;
  }
  return x;
}

/// The pooled vectors of an example's slots, side by side, from columns [first, first + dim) of rows of `stride`.
inline std::vector<double> reference_pool(prdist::Batch const& batch, std::size_t example,
                                          std::vector<double> const& rows, std::size_t stride, std::size_t first,
                                          std::size_t dim, bool mean = false) {
  std::vector<double> pooled(batch.slots * dim);
  for (std::size_t slot = 0; slot < batch.slots; ++slot) {
    auto const bag = example * batch.slots + slot;
    auto const count = batch.offsets[bag + 1] - batch.offsets[bag];
    for (auto key = batch.offsets[bag]; key < batch.offsets[bag + 1]; ++key) {
      for (std::size_t i = 0; i < dim; ++i) {
        pooled[slot * dim + i] += rows[key * stride + first + i] / (mean ? static_cast<double>(count) : 1.0);
      }
    }
  }
  return pooled;
}
