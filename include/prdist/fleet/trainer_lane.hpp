// SPDX-License-Identifier: Apache-2.0
// What one thread of a trainer works with: its view of the weights, its gradients, and its pushes under way. Threads
// share the client and nothing else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include <prdist/concepts/device.hpp>
#include <prdist/concepts/model.hpp>
#include <prdist/fleet/flight.hpp>
#include <prdist/fleet/key_index.hpp>
#include <prdist/fleet/model_tables.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

template <device_policy DeviceChoice>
class TrainerLane {
 public:
  /// `client` and `tables` must outlive it.
  TrainerLane(Client& client, ModelTables const& tables, MergeRules const& rules, DeviceChoice device)
      : client_(client), tables_(tables), rules_(rules), device_(std::move(device)) {
    auto const count = tables.sparse.size();
    index_.resize(count);
    distinct_rows_.resize(count);
    rows_.resize(count);
    row_gradients_.resize(count);
    device_.resize(dense_, tables.dense_size());
    gradients_.shape(tables);
  }
  TrainerLane(TrainerLane const&) = delete;
  TrainerLane& operator=(TrainerLane const&) = delete;

  /// Names the rows of the batch: keys(t), and room for each in rows(t).
  template <class Model, class Batch>
  void open(Model const& model, Batch const& batch) {
    if (gradients_.keys.empty()) gradients_.shape(tables_);
    gradients_.examples = static_cast<std::uint32_t>(batch.size());
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      index_[t].build(model.keys(batch, t), gradients_.keys[t]);
      device_.resize(distinct_rows_[t], gradients_.keys[t].size() * tables_.sparse[t].dim);
    }
  }

  /// From the servers; the dense weights only if this lane is to have its own.
  void pull(bool with_dense = true) {
    std::vector<Handle> handles;
    if (tables_.dense && with_dense) {
      handles.push_back(client_.pull(*tables_.dense, dense(), &gradients_.seen.back()));
    }
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      handles.push_back(client_.pull(tables_.sparse[t], keys(t), rows(t), &gradients_.seen[t]));
    }
    for (auto& handle : handles) handle.wait();
    unfold(with_dense);
  }

  /// After rows() and dense() were filled otherwise.
  void unfold(bool with_dense = true) {
    if (with_dense && tables_.dense) device_.upload(dense_);
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      auto const dim = tables_.sparse[t].dim;
      device_.upload(distinct_rows_[t]);
      device_.resize(rows_[t], index_[t].index().size() * dim);
      device_.gather(distinct_rows_[t], index_[t].index(), dim, rows_[t]);
    }
  }

  /// `dense` are the weights to compute with: this lane's dense_view() or another's.
  template <class Model, class Batch>
  double compute(Model& model, Batch const& batch, std::span<float const> dense) {
    std::vector<std::span<float>> row_gradients;
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      device_.resize(row_gradients_[t], index_[t].index().size() * tables_.sparse[t].dim);
      device_.zero(row_gradients_[t]);
      row_gradients.push_back(device_.view(row_gradients_[t]));
    }
    device_.resize(gradients_.dense_gradient, tables_.dense_size());
    device_.zero(gradients_.dense_gradient);
    auto const rows = row_views();
    StepView const view{dense, device_.view(gradients_.dense_gradient), rows, row_gradients};
    double const loss = model.gradients(batch, view);
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      auto const dim = tables_.sparse[t].dim;
      device_.resize(gradients_.row_gradients[t], keys(t).size() * dim);
      device_.zero(gradients_.row_gradients[t]);
      device_.scatter_add(row_gradients_[t], index_[t].index(), dim, gradients_.row_gradients[t]);
      device_.download(gradients_.row_gradients[t]);
    }
    device_.download(gradients_.dense_gradient);
    return loss;
  }

  /// Puts the gradients into the queue; `merge` of them leave as one.
  void push(std::size_t merge) {
    queue_.push_back(take_gradients());
    reap();
    if (queue_.size() >= merge) send_queue();
  }

  /// The merged gradients of several lanes, pushed by this one.
  void push_merged(std::span<Flight<DeviceChoice>* const> parts) {
    auto merged = spare();
    merge(parts, MergeRules{}, tables_, device_, merge_index_, merged);
    queue_.push_back(std::move(merged));
    send_queue();
  }

  /// Waits until at most `most` pushes, in the queue or under way, are left.
  void settle(std::size_t most) {
    reap();
    while (queue_.size() + under_way_.size() > most) {
      if (under_way_.empty()) {
        send_queue();
        continue;
      }
      under_way_.front().wait();
      reap();
    }
  }

  [[nodiscard]] std::span<Key const> keys(std::size_t t) const { return gradients_.keys[t]; }
  [[nodiscard]] std::span<float> rows(std::size_t t) { return device_.staging(distinct_rows_[t]); }
  [[nodiscard]] std::span<float> dense() { return device_.staging(dense_); }
  [[nodiscard]] std::span<float const> dense_view() { return device_.view(dense_); }
  [[nodiscard]] std::vector<std::span<float const>> row_views() {
    std::vector<std::span<float const>> views;
    for (auto& rows : rows_) views.emplace_back(device_.view(rows));
    return views;
  }
  [[nodiscard]] Flight<DeviceChoice>& gradients() { return gradients_; }
  [[nodiscard]] std::span<float const> row_gradients(std::size_t t) {
    return device_.staging(gradients_.row_gradients[t]);
  }
  [[nodiscard]] std::span<float const> dense_gradient() { return device_.staging(gradients_.dense_gradient); }

  std::uint64_t steps = 0;  ///< that this thread has finished

 private:
  using Floats = typename DeviceChoice::Floats;

  Flight<DeviceChoice> take_gradients() {
    auto taken = std::move(gradients_);
    gradients_ = spare();
    gradients_.shape(tables_);
    return taken;
  }

  /// Memory of a push that has arrived, or new.
  Flight<DeviceChoice> spare() {
    if (spares_.empty()) return {};
    auto flight = std::move(spares_.back());
    spares_.pop_back();
    return flight;
  }

  void reap() {
    while (!under_way_.empty() && under_way_.front().arrived()) {
      under_way_.front().wait();  // does not block, and throws what a server said
      spares_.push_back(std::move(under_way_.front()));
      under_way_.pop_front();
    }
  }

  /// Everything in the queue, as one push.
  void send_queue() {
    if (queue_.size() == 1) {
      under_way_.push_back(std::move(queue_.front()));
    } else {
      std::vector<Flight<DeviceChoice>*> parts;
      for (auto& part : queue_) parts.push_back(&part);
      auto merged = spare();
      merge<DeviceChoice>(parts, rules_, tables_, device_, merge_index_, merged);
      under_way_.push_back(std::move(merged));
      for (auto& part : queue_) spares_.push_back(std::move(part));
    }
    queue_.clear();
    under_way_.back().send(client_, tables_, device_);
  }

  Client& client_;
  ModelTables const& tables_;
  MergeRules rules_;
  DeviceChoice device_;
  std::vector<KeyIndex> index_;
  KeyIndex merge_index_;
  std::vector<Floats> distinct_rows_, rows_, row_gradients_;
  Floats dense_;
  std::vector<Flight<DeviceChoice>> spares_;
  Flight<DeviceChoice> gradients_;
  std::deque<Flight<DeviceChoice>> queue_;
  std::deque<Flight<DeviceChoice>> under_way_;  // last: its handles wait for the network
};

}  // namespace prdist
