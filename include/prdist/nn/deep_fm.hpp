// SPDX-License-Identifier: Apache-2.0
// DeepFM: a linear part, a factorization machine over the slots' embeddings, and a network over the same
// embeddings and the dense features, added up. An id's linear weight and its embedding are one row, weight first,
// so that a step asks for every key once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/concepts/model.hpp>
#include <prdist/nn/check_step.hpp>
#include <prdist/nn/deep_part.hpp>
#include <prdist/nn/factorization.hpp>
#include <prdist/nn/linear.hpp>
#include <prdist/nn/sigmoid_cross_entropy.hpp>

namespace prdist::nn {

struct DeepFm {
  std::size_t slots = 26;
  std::size_t dim = 9;  ///< of the embedding; a row has one float more
  std::size_t dense = 13;
  std::vector<std::size_t> hidden = {400, 400, 400};
  Pooling pooling = Pooling::sum;
  std::string table = "embedding";
  Initializer init = Initializer::uniform(-0.05F, 0.05F);

  static constexpr std::string_view name = "DeepFm";

  [[nodiscard]] std::vector<SparseInput> sparse_inputs() const { return {{table, 1 + dim, init}}; }

  [[nodiscard]] std::vector<DensePart> dense_parts() const {
    std::vector<DensePart> parts{{"linear.w", dense, Initializer::zeros()}, {"linear.b", 1, Initializer::zeros()}};
    for (auto& part : shape().parts()) parts.push_back(std::move(part));
    return parts;
  }

  [[nodiscard]] std::span<Key const> keys(Batch const& batch, std::size_t) const { return batch.keys; }
  void clicks(Batch const& batch, std::size_t, std::span<float> out) const { batch.labels_of_keys(out); }

  /// @throws Error config.contradiction or table.shape when batch or view do not fit
  double gradients(Batch const& batch, StepView const& view) {
    auto const logits = forward(batch, view.dense, view.rows);
    auto const slope = work.slope.shape(batch.size(), 1).flat();
    auto const loss = sigmoid_cross_entropy<float>(logits, batch.labels, slope);

    auto const deep = view.dense.subspan(dense + 1);
    auto const embedded = work.deep.backward(deep, slope, view.dense_gradient.subspan(dense + 1));
    factorization_backward(work.deep.embedded(), slots, work.sums.shape(batch.size(), dim), slope, embedded);
    auto const row_gradients = as_matrix(view.row_gradients[0], batch.keys.size(), 1 + dim);
    work.deep.finish(batch, embedded, row_gradients.columns(1, dim));
    linear_backward(batch.offsets, features(batch), slope, row_gradients.columns(0, 1),
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
    DeepPart deep;
    Buffer<float> slope, sums, linear, pairs;
  };
  Work work = {};

 private:
  [[nodiscard]] MlpShape shape() const { return {.in = slots * dim + dense, .hidden = hidden}; }

  [[nodiscard]] Matrix<float const> features(Batch const& batch) const {
    return as_matrix(batch.dense, batch.size(), dense);
  }

  std::span<float> forward(Batch const& batch, std::span<float const> weights,
                           std::span<std::span<float const> const> rows) {
    check_batch(name, slots, dense, batch);
    auto const& mlp = work.deep.prepare(slots * dim + dense, hidden);
    check_size(name, "dense weights", dense + 1 + mlp.size(), weights.size());
    check_size(name, "tables", 1, rows.size());
    check_size(name, "row values", batch.keys.size() * (1 + dim), rows[0].size());
    auto const table_rows = as_matrix(rows[0], batch.keys.size(), 1 + dim);
    auto const logits = work.deep.forward(pooling, batch, weights.subspan(dense + 1), table_rows.columns(1, dim));
    auto const first = work.linear.shape(batch.size(), 1).flat();
    linear(table_rows.columns(0, 1), batch.offsets, features(batch), weights.first(dense), weights[dense], first);
    auto const second = work.pairs.shape(batch.size(), 1).flat();
    factorization(work.deep.embedded(), slots, work.sums.shape(batch.size(), dim), second);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] += first[i] + second[i];
    return logits;
  }
};

static_assert(trainable<DeepFm, Batch>);

}  // namespace prdist::nn
