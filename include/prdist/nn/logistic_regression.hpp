// SPDX-License-Identifier: Apache-2.0
// One weight per id and per dense feature: the baseline every network has to beat.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/concepts/model.hpp>
#include <prdist/nn/check_step.hpp>
#include <prdist/nn/linear.hpp>
#include <prdist/nn/sigmoid_cross_entropy.hpp>

namespace prdist::nn {

struct LogisticRegression {
  std::size_t slots = 26;
  std::size_t dense = 13;
  std::string table = "weight";

  static constexpr std::string_view name = "LogisticRegression";

  [[nodiscard]] std::vector<SparseInput> sparse_inputs() const { return {{table, 1, Initializer::zeros()}}; }
  [[nodiscard]] std::vector<DensePart> dense_parts() const {
    return {{"linear.w", dense, Initializer::zeros()}, {"linear.b", 1, Initializer::zeros()}};
  }
  [[nodiscard]] std::span<Key const> keys(Batch const& batch, std::size_t) const { return batch.keys; }
  void clicks(Batch const& batch, std::size_t, std::span<float> out) const { batch.labels_of_keys(out); }

  /// @throws Error config.contradiction or table.shape when batch or view do not fit
  double gradients(Batch const& batch, StepView const& view) {
    auto const logits = forward(batch, view.dense, view.rows);
    auto const slope = work.slope.shape(batch.size(), 1).flat();
    auto const loss = sigmoid_cross_entropy<float>(logits, batch.labels, slope);
    linear_backward(batch.offsets, features(batch), slope, as_matrix(view.row_gradients[0], batch.keys.size(), 1),
                    view.dense_gradient.first(dense), view.dense_gradient[dense]);
    return loss;
  }

  /// The probability of a click for every example. @throws Error as gradients()
  void predict(Batch const& batch, std::span<float const> weights, std::span<std::span<float const> const> rows,
               std::span<float> out) {
    check_size(name, "places for predictions", batch.size(), out.size());
    auto const logits = forward(batch, weights, rows);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = sigmoid(logits[i]);
  }

  /// Memory between steps, no part of the model's value.
  struct Work {
    Buffer<float> logits, slope;
  };
  Work work = {};

 private:
  [[nodiscard]] Matrix<float const> features(Batch const& batch) const {
    return as_matrix(batch.dense, batch.size(), dense);
  }

  std::span<float> forward(Batch const& batch, std::span<float const> weights,
                           std::span<std::span<float const> const> rows) {
    check_batch(name, slots, dense, batch);
    check_size(name, "dense weights", dense + 1, weights.size());
    check_size(name, "tables", 1, rows.size());
    check_size(name, "row values", batch.keys.size(), rows[0].size());
    auto const logits = work.logits.shape(batch.size(), 1).flat();
    linear(as_matrix(rows[0], batch.keys.size(), 1), batch.offsets, features(batch), weights.first(dense),
           weights[dense], logits);
    return logits;
  }
};

static_assert(trainable<LogisticRegression, Batch>);

}  // namespace prdist::nn
