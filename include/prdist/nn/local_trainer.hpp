// SPDX-License-Identifier: Apache-2.0
// Trains a model in one process, without servers: the baseline that a cluster is compared with, and the way to try
// a network out. Weights begin as the servers would begin them for the same seed and table names.
//
//   nn::LocalTrainer trainer(nn::CtrDnn{.dim = 16}, Adagrad{}, Adam{}, 42);
//   for (auto const& batch : reader) trainer.step(batch);
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <prdist/concepts/model.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/text.hpp>
#include <prdist/nn/row_store.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/initializer.hpp>

namespace prdist::nn {

template <class Model>
requires has_sparse_inputs<Model> && has_dense_parts<Model>
class LocalTrainer {
 public:
  /// `dense_table` is the name that seeds the dense weights.
  LocalTrainer(Model model, Optimizer sparse, Optimizer dense, std::uint64_t seed,
               std::string_view dense_table = "dense")
      : model_(std::move(model)), dense_optimizer_(dense) {
    for (auto const& input : model_.sparse_inputs())
      tables_.emplace_back(input.name, input.dim, input.init, sparse, seed);
    rows_.resize(tables_.size());
    row_gradients_.resize(tables_.size());

    auto const parts = model_.dense_parts();
    for (auto const& part : parts) dense_size_ += part.size;
    dense_.resize(row_floats(dense, dense_size_));
    dense_gradient_.resize(dense_size_);
    std::size_t first = 0;
    for (auto const& part : parts) {
      fill_first(part.init, stream_of(seed, hash_name(concat(dense_table, '/', part.name))), 0,
                 std::span(dense_).subspan(first, part.size));
      first += part.size;
    }
    write_first_state(dense, dense_.data(), dense_size_);
  }

  /// One mini-batch: rows, gradients, one update of every parameter touched. Returns the mean loss before it.
  template <class Batch>
  requires trainable<Model, Batch>
  double step(Batch const& batch) {
    pull(batch);
    std::fill(dense_gradient_.begin(), dense_gradient_.end(), 0.0F);
    gradient_views_.clear();
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      row_gradients_[t].assign(rows_[t].size(), 0.0F);
      gradient_views_.emplace_back(row_gradients_[t]);
    }
    auto const loss =
        static_cast<double>(model_.gradients(batch, StepView{dense(), dense_gradient_, row_views_, gradient_views_}));
    for (std::size_t t = 0; t < tables_.size(); ++t) tables_[t].push(model_.keys(batch, t), row_gradients_[t]);
    float* const row = dense_.data();
    float const* const gradient = dense_gradient_.data();
    row_kernel(dense_optimizer_)(dense_optimizer_, &row, &gradient, 1, dense_size_);
    return loss;
  }

  /// The model's prediction for every example; trains nothing and inserts nothing.
  template <class Batch>
  requires trainable<Model, Batch>
  void predict(Batch const& batch, std::span<float> out) {
    pull(batch);
    model_.predict(batch, dense(), std::span<std::span<float const> const>(row_views_), out);
  }

  [[nodiscard]] Model const& model() const noexcept { return model_; }
  /// All dense weights, part behind part.
  [[nodiscard]] std::span<float const> dense() const noexcept { return std::span(dense_).first(dense_size_); }
  /// The table of sparse input `input`.
  [[nodiscard]] RowStore const& table(std::size_t input = 0) const { return tables_[input]; }

 private:
  template <class Batch>
  void pull(Batch const& batch) {
    row_views_.clear();
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      std::span<Key const> const keys = model_.keys(batch, t);
      rows_[t].resize(keys.size() * tables_[t].dim());
      tables_[t].pull(keys, rows_[t]);
      row_views_.emplace_back(rows_[t]);
    }
  }

  Model model_;
  Optimizer dense_optimizer_;
  std::vector<RowStore> tables_;
  std::size_t dense_size_ = 0;
  std::vector<float> dense_;  // weights, then the optimizer's state: one long row
  std::vector<float> dense_gradient_;
  std::vector<std::vector<float>> rows_, row_gradients_;
  std::vector<std::span<float const>> row_views_;
  std::vector<std::span<float>> gradient_views_;
};

}  // namespace prdist::nn
