// SPDX-License-Identifier: Apache-2.0
// The copy of a model that a trainer trains by itself, and its exchange with the servers. Its threads share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <prdist/core/decl.hpp>
#include <prdist/core/types.hpp>
#include <prdist/fleet/model_tables.hpp>
#include <prdist/trainer/client.hpp>
#include <prdist/trainer/local_copy.hpp>

namespace prdist {

class PartReader;
class PartWriter;
struct RowBlock;

class GeoCopy {
 public:
  /// `client` and `tables` must outlive it.
  GeoCopy(Client& client, ModelTables const& tables, Optimizers const& rules)
      : client_(client), tables_(tables), dense_rule_(rules.dense) {
    for (auto const& table : tables.sparse) rows_.emplace_back(rules.sparse, table.dim);
  }

  /// The weights for a batch; rows it does not hold yet come from the servers. Blocks.
  template <class Lane>
  void read(Lane& lane) {
    std::lock_guard const lock(mutex_);
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      auto const missing = rows_[t].those(lane.keys(t), false);
      if (!missing.empty()) rows_[t].insert(missing, pull(t, missing));
      rows_[t].read(lane.keys(t), lane.rows(t));
    }
    if (!tables_.dense) return;
    if (!dense_) dense_.emplace(dense_rule_, pull_dense());
    dense_->read(lane.dense());
  }

  template <class Lane>
  void learn(Lane& lane) {
    std::lock_guard const lock(mutex_);
    for (std::size_t t = 0; t < rows_.size(); ++t) rows_[t].learn(lane.keys(t), lane.row_gradients(t));
    if (dense_) dense_->learn(lane.dense_gradient());
  }

  /// Counts one step; at every `interval`-th sends its share and takes in what others did. Blocks.
  void step(std::size_t interval) {
    std::lock_guard const lock(mutex_);
    if (++steps_ % interval == 0) exchange(static_cast<float>(client_.options().trainers));
  }

  /// Sends all that is still held back, and takes in what others did. Blocks.
  void settle() {
    std::lock_guard const lock(mutex_);
    exchange(1);
  }

  // For a checkpoint. The weights are on the servers, when it has settled; what the optimizer knows of them is here
  // alone.

  /// @throws Error checkpoint.file
  void save(PartWriter& to);

  /// Goes on with what a copy knew, of the tables and rows that it does not hold yet; their weights come from the
  /// servers. @throws Error checkpoint.file, checkpoint.damaged; table.mismatch when it is of another optimizer
  void load(PartReader const& from);

 private:
  void restore(std::size_t t, PartReader const& from, RowBlock const& block, std::span<float const> states);
  void restore_dense(PartReader const& from, RowBlock const& block, std::span<float const> states);

  void exchange(float parts) {
    auto const count = rows_.size();
    std::vector<std::vector<Key>> keys(count);
    std::vector<std::vector<float>> differences(count);
    std::vector<float> dense_difference(dense_ ? tables_.dense_size() : 0);
    std::vector<Handle> pushes;
    for (std::size_t t = 0; t < count; ++t) {
      rows_[t].take_differences(parts, keys[t], differences[t]);
      pushes.push_back(client_.push(tables_.sparse[t], keys[t], differences[t]));
    }
    if (dense_) {
      dense_->take_difference(parts, dense_difference);
      pushes.push_back(client_.push(*tables_.dense, dense_difference));
    }
    // A connection keeps the order: what is read now has our own part in it.
    for (std::size_t t = 0; t < count; ++t) {
      auto const changes = client_.changed(tables_.sparse[t]);
      auto const held = changes.forgotten ? rows_[t].keys() : rows_[t].those(changes.keys, true);
      rows_[t].take_in(held, pull(t, held));
    }
    if (dense_) dense_->take_in(pull_dense());
    for (auto& push : pushes) push.wait();
  }

  [[nodiscard]] std::vector<float> pull(std::size_t t, std::span<Key const> keys) {
    std::vector<float> rows(keys.size() * tables_.sparse[t].dim);
    client_.pull(tables_.sparse[t], keys, rows).wait();
    return rows;
  }

  [[nodiscard]] std::vector<float> pull_dense() {
    std::vector<float> weights(tables_.dense_size());
    client_.pull(*tables_.dense, weights).wait();
    return weights;
  }

  Client& client_;
  ModelTables const& tables_;
  Optimizer dense_rule_;
  std::mutex mutex_;
  std::vector<LocalRows> rows_;
  std::optional<LocalDense> dense_;
  std::uint64_t steps_ = 0;
};

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/fleet/geo_copy.ipp>
#endif
