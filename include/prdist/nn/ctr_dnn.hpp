// SPDX-License-Identifier: Apache-2.0
// CTR-DNN, the network of PaddleRec's rank/dnn: the embeddings of all slots and the dense features side by side,
// fully connected layers with ReLU, one logit.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <prdist/concepts/model.hpp>
#include <prdist/nn/check_step.hpp>
#include <prdist/nn/deep_part.hpp>
#include <prdist/nn/sigmoid_cross_entropy.hpp>

namespace prdist::nn {

struct CtrDnn {
  std::size_t slots = 26;
  std::size_t dim = 9;
  std::size_t dense = 13;
  std::vector<std::size_t> hidden = {400, 400, 400};
  Pooling pooling = Pooling::sum;
  std::string table = "embedding";
  Initializer init = Initializer::uniform(-0.05F, 0.05F);

  static constexpr std::string_view name = "CtrDnn";

  [[nodiscard]] std::vector<SparseInput> sparse_inputs() const { return {{table, dim, init}}; }
  [[nodiscard]] std::vector<DensePart> dense_parts() const { return shape().parts(); }
  [[nodiscard]] std::span<Key const> keys(Batch const& batch, std::size_t) const { return batch.keys; }
  void clicks(Batch const& batch, std::size_t, std::span<float> out) const { batch.labels_of_keys(out); }

  /// @throws Error config.contradiction or table.shape when batch or view do not fit
  double gradients(Batch const& batch, StepView const& view) {
    auto const logits = forward(batch, view.dense, view.rows);
    auto const slope = work.slope.shape(batch.size(), 1).flat();
    auto const loss = sigmoid_cross_entropy<float>(logits, batch.labels, slope);
    auto const embedded = work.deep.backward(view.dense, slope, view.dense_gradient);
    work.deep.finish(batch, embedded, as_matrix(view.row_gradients[0], batch.keys.size(), dim));
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
    Buffer<float> slope;
  };
  Work work = {};

 private:
  [[nodiscard]] MlpShape shape() const { return {.in = slots * dim + dense, .hidden = hidden}; }

  std::span<float> forward(Batch const& batch, std::span<float const> weights,
                           std::span<std::span<float const> const> rows) {
    check_batch(name, slots, dense, batch);
    auto const& mlp = work.deep.prepare(slots * dim + dense, hidden);
    check_size(name, "dense weights", mlp.size(), weights.size());
    check_size(name, "tables", 1, rows.size());
    check_size(name, "row values", batch.keys.size() * dim, rows[0].size());
    return work.deep.forward(pooling, batch, weights, as_matrix(rows[0], batch.keys.size(), dim));
  }
};

static_assert(trainable<CtrDnn, Batch>);

}  // namespace prdist::nn
