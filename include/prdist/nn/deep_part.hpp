// SPDX-License-Identifier: Apache-2.0
// The part CTR networks share: pooled embeddings and dense features side by side, into an Mlp. A value that can be
// left default-made inside a model: its network and its memory are made by the first step, for the shape asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <prdist/data/batch.hpp>
#include <prdist/nn/matrix.hpp>
#include <prdist/nn/mlp.hpp>
#include <prdist/nn/pooled_embedding.hpp>

namespace prdist::nn {

class DeepPart {
 public:
  /// The network for these sizes, made anew only when they differ from the last ones.
  MlpShape const& prepare(std::size_t in, std::vector<std::size_t> const& hidden) {
    if (!mlp_ || mlp_->shape().in != in || mlp_->shape().hidden != hidden) {
      mlp_.emplace(MlpShape{.in = in, .hidden = hidden});
    }
    return mlp_->shape();
  }

  /// One output per example, after prepare() with `in` = slots * dim + dense features. `rows` has one row per key of
  /// the batch; `embedded()` is its pooled form until the next call.
  [[nodiscard]] std::span<float> forward(Pooling pooling, Batch const& batch, std::span<float const> parameters,
                                         Matrix<float const> rows) {
    pooling_ = pooling;
    width_ = batch.slots * rows.columns();
    input_view_ = input_.shape(batch.size(), width_ + batch.dense_dim);
    pooled_embedding(rows, batch.offsets, batch.slots, pooling_, embedded());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto const features = batch.dense_of(i);
      std::copy(features.begin(), features.end(), input_view_.row(i).begin() + static_cast<std::ptrdiff_t>(width_));
    }
    return mlp_->forward(parameters, input_view_).flat();
  }

  [[nodiscard]] Matrix<float> embedded() const { return input_view_.columns(0, width_); }

  /// Adds to `gradient` that of the parameters and returns that of embedded(), for other parts to add to before it
  /// goes to finish().
  [[nodiscard]] Matrix<float> backward(std::span<float const> parameters, std::span<float const> dy,
                                       std::span<float> gradient) {
    return mlp_->backward(parameters, Matrix<float const>(dy), gradient).columns(0, width_);
  }

  /// Adds to the gradient of every row its part of that of embedded().
  void finish(Batch const& batch, Matrix<float> embedded_gradient, Matrix<float> row_gradients) const {
    pooled_embedding_backward(embedded_gradient, batch.offsets, batch.slots, pooling_, row_gradients);
  }

 private:
  std::optional<Mlp<float>> mlp_;
  Pooling pooling_ = Pooling::sum;
  std::size_t width_ = 0;
  Buffer<float> input_;
  Matrix<float> input_view_;
};

}  // namespace prdist::nn
