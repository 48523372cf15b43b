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
#include <prdist/core/diverged.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/text.hpp>
#include <prdist/nn/row_store.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/placement.hpp>

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
    std::size_t size = 0;
    for (auto const& part : parts) size += part.size;
    dense_.resize(size);
    dense_gradient_.resize(size);
    std::size_t first = 0;
    for (auto const& part : parts) {
      fill_first(part.init, stream_of(seed, hash_name(concat(dense_table, '/', part.name))), 0,
                 std::span(dense_).subspan(first, part.size));
      first += part.size;
    }
    for (std::size_t range = 0; range < range_count(size); ++range) {
      auto const length = range_length(size, range);
      ranges_.emplace_back(row_floats(dense, length));
      std::copy_n(dense_.data() + range * range_floats, length, ranges_.back().data());
      write_first_state(dense, ranges_.back().data(), length);
    }
  }

  /// One mini-batch: rows, gradients, one update of every parameter touched. Returns the mean loss before it.
  /// @throws Error job.diverged when that is no finite number; nothing is updated then
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
    check_loss("this process", ++steps_, loss);
    for (std::size_t t = 0; t < tables_.size(); ++t) tables_[t].push(model_.keys(batch, t), row_gradients_[t]);
    update_dense();
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
  [[nodiscard]] std::span<float const> dense() const noexcept { return dense_; }
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

  void update_dense() {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      auto const first = i * range_floats, length = range_length(dense_.size(), i);
      float* const row = ranges_[i].data();
      float const* const gradient = dense_gradient_.data() + first;
      dense_kernel_(dense_optimizer_, &row, &gradient, 1, length);
      std::copy_n(row, length, dense_.data() + first);
    }
  }

  Model model_;
  Optimizer dense_optimizer_;
  RowKernel dense_kernel_ = row_kernel(dense_optimizer_);
  std::vector<RowStore> tables_;
  std::vector<float> dense_;
  // The weights once more, with the optimizer's state: a row for each range, as the servers have them, because some
  // rules measure a whole row.
  std::vector<std::vector<float>> ranges_;
  std::vector<float> dense_gradient_;
  std::vector<std::vector<float>> rows_, row_gradients_;
  std::vector<std::span<float const>> row_views_;
  std::vector<std::span<float>> gradient_views_;
  std::uint64_t steps_ = 0;
};

}  // namespace prdist::nn
