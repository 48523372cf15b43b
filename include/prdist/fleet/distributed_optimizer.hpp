// SPDX-License-Identifier: Apache-2.0
// minimize(): one step of a model whose parameters live on the servers. The strategy decides in which order a step
// pulls, computes, pushes and waits; this class knows how each of these is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prdist/concepts/device.hpp>
#include <prdist/concepts/model.hpp>
#include <prdist/concepts/strategy.hpp>
#include <prdist/core/error.hpp>
#include <prdist/fleet/key_index.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

/// Update rules of a model's tables.
struct Optimizers {
  Optimizer sparse;
  Optimizer dense;
};

template <strategy_policy StrategyChoice, device_policy DeviceChoice>
class DistributedOptimizer {
 public:
  /// Made by Fleet::distributed_optimizer(). `client` is looked at when it is needed: it exists after init_worker().
  DistributedOptimizer(std::optional<Client>& client, Optimizers optimizers, StrategyChoice strategy,
                       std::optional<DeviceChoice> device, std::uint64_t seed)
      : client_(client),
        optimizers_(optimizers),
        strategy_(std::move(strategy)),
        device_(std::move(device)),
        seed_(seed) {}

  /// One step on one batch; returns the batch's mean loss before it. The first call declares the model's tables, so
  /// all steps of an optimizer are of one model.
  /// @throws Error job.state before init_worker(), and whatever a server or the network has to say
  template <class Model, class Batch>
  requires trainable<Model, Batch>
  double minimize(Model& model, Batch const& batch) {
    declare(model);
    Minimize<Model, Batch> step(*this, model, batch);
    strategy_.step(step);
    return step.loss;
  }

  /// Predictions with the weights as they are on the servers now; changes nothing there.
  template <class Model, class Batch>
  requires trainable<Model, Batch>
  void predict(Model& model, Batch const& batch, std::span<float> out) {
    declare(model);
    pull(model, batch);
    model.predict(batch, std::span<float const>(device_->view(dense_)), rows_views(), out);
  }

  /// Waits until every push of this worker is applied.
  void settle() { settle(0); }

  /// This worker has no more batches: waits as settle() does, and lets the others' steps go on without it. Workers
  /// with uneven data call it before they meet at a barrier; stop_worker() includes it.
  void finish() {
    settle(0);
    client().retire();
  }

  /// The dense weights as they are on the servers now.
  [[nodiscard]] std::vector<float> dense_weights() {
    std::vector<float> weights(dense_table_ ? dense_table_->size : 0);
    if (dense_table_) client().pull(*dense_table_, weights).wait();
    return weights;
  }

 private:
  using Floats = typename DeviceChoice::Floats;

  /// What one push shows to the network until it is acknowledged.
  struct Flight {
    std::vector<std::vector<Key>> keys;
    std::vector<Floats> row_gradients;
    Floats dense_gradient;
    std::vector<Handle> handles;
  };

  template <class Model, class Batch>
  struct Minimize final : Step {
    Minimize(DistributedOptimizer& self, Model& model, Batch const& batch)
        : self_(self), model_(model), batch_(batch) {}
    void pull() override { self_.pull(model_, batch_); }
    void compute() override { loss = self_.compute(model_, batch_); }
    void push() override { self_.push(static_cast<std::uint32_t>(batch_.size())); }
    void settle(std::size_t most) override { self_.settle(most); }
    double loss = 0;

   private:
    DistributedOptimizer& self_;
    Model& model_;
    Batch const& batch_;
  };

  [[nodiscard]] Client& client() {
    if (!client_) throw Error(Errc::job_state, "minimize() before init_worker(): call fleet.init_worker() first");
    return *client_;
  }

  template <class Model>
  void declare(Model const& model) {
    if (declared_) return check_same(model);
    (void)client();  // a server has none, and no device either
    for (auto const& input : model.sparse_inputs()) {
      sparse_tables_.push_back(client().declare(SparseSpec{.name = input.name,
                                                           .dim = input.dim,
                                                           .optimizer = optimizers_.sparse,
                                                           .init = input.init,
                                                           .apply = StrategyChoice::apply,
                                                           .seed = seed_}));
    }
    if (auto parts = model.dense_parts(); !parts.empty()) {
      dense_table_ = client().declare(DenseSpec{.name = "dense",
                                                .parts = std::move(parts),
                                                .optimizer = optimizers_.dense,
                                                .apply = StrategyChoice::apply,
                                                .seed = seed_});
      device_->resize(dense_, dense_table_->size);
    }
    auto const tables = sparse_tables_.size();
    index_.resize(tables);
    distinct_rows_.resize(tables);
    rows_.resize(tables);
    row_gradients_.resize(tables);
    declared_ = true;
  }

  /// Its tables are declared, and the model's own sizes are what its gradients are computed by.
  template <class Model>
  void check_same(Model const& model) const {
    auto const inputs = model.sparse_inputs();
    std::size_t dense = 0;
    for (auto const& part : model.dense_parts()) dense += part.size;
    bool same = inputs.size() == sparse_tables_.size() && dense == (dense_table_ ? dense_table_->size : 0);
    for (std::size_t t = 0; same && t < inputs.size(); ++t) {
      same = inputs[t].name == sparse_tables_[t].name && inputs[t].dim == sparse_tables_[t].dim;
    }
    if (same) return;
    throw Error(Errc::job_state,
                "this optimizer has begun with another model, of other tables or sizes: make one optimizer for each");
  }

  template <class Model, class Batch>
  void pull(Model const& model, Batch const& batch) {
    auto& flight = next_flight();
    std::vector<Handle> handles;
    if (dense_table_) handles.push_back(client().pull(*dense_table_, device_->staging(dense_)));
    for (std::size_t t = 0; t < sparse_tables_.size(); ++t) {
      auto const dim = sparse_tables_[t].dim;
      index_[t].build(model.keys(batch, t), flight.keys[t]);
      device_->resize(distinct_rows_[t], flight.keys[t].size() * dim);
      handles.push_back(client().pull(sparse_tables_[t], flight.keys[t], device_->staging(distinct_rows_[t])));
    }
    for (auto& handle : handles) handle.wait();
    if (dense_table_) device_->upload(dense_);
    for (std::size_t t = 0; t < sparse_tables_.size(); ++t) {
      auto const dim = sparse_tables_[t].dim;
      device_->upload(distinct_rows_[t]);
      device_->resize(rows_[t], index_[t].index().size() * dim);
      device_->gather(distinct_rows_[t], index_[t].index(), dim, rows_[t]);
    }
  }

  template <class Model, class Batch>
  double compute(Model& model, Batch const& batch) {
    auto& flight = *next_;
    std::vector<std::span<float>> row_gradients;
    for (std::size_t t = 0; t < sparse_tables_.size(); ++t) {
      device_->resize(row_gradients_[t], index_[t].index().size() * sparse_tables_[t].dim);
      device_->zero(row_gradients_[t]);
      row_gradients.push_back(device_->view(row_gradients_[t]));
    }
    if (dense_table_) {
      device_->resize(flight.dense_gradient, dense_table_->size);
      device_->zero(flight.dense_gradient);
    }
    auto const rows = rows_views();
    StepView const view{device_->view(dense_), device_->view(flight.dense_gradient), rows, row_gradients};
    double const loss = model.gradients(batch, view);
    for (std::size_t t = 0; t < sparse_tables_.size(); ++t) {
      auto const dim = sparse_tables_[t].dim;
      device_->resize(flight.row_gradients[t], flight.keys[t].size() * dim);
      device_->zero(flight.row_gradients[t]);
      device_->scatter_add(row_gradients_[t], index_[t].index(), dim, flight.row_gradients[t]);
      device_->download(flight.row_gradients[t]);
    }
    if (dense_table_) device_->download(flight.dense_gradient);
    return loss;
  }

  void push(std::uint32_t examples) {
    flights_.push_back(std::move(*next_));
    next_.reset();
    auto& flight = flights_.back();
    if (dense_table_) {
      flight.handles.push_back(client().push(*dense_table_, device_->staging(flight.dense_gradient), examples));
    }
    for (std::size_t t = 0; t < sparse_tables_.size(); ++t) {
      flight.handles.push_back(
          client().push(sparse_tables_[t], flight.keys[t], device_->staging(flight.row_gradients[t]), examples));
    }
  }

  void settle(std::size_t most) {
    while (flights_.size() > most) {
      auto& flight = flights_.front();
      for (auto& handle : flight.handles) handle.wait();
      flight.handles.clear();
      spare_.push_back(std::move(flight));
      flights_.pop_front();
    }
  }

  /// Memory for the push of the step that begins; what an earlier one used, when it is free.
  Flight& next_flight() {
    if (!next_) {
      if (spare_.empty()) spare_.emplace_back();
      next_ = std::move(spare_.back());
      spare_.pop_back();
      next_->keys.resize(sparse_tables_.size());
      next_->row_gradients.resize(sparse_tables_.size());
    }
    return *next_;
  }

  [[nodiscard]] std::vector<std::span<float const>> rows_views() {
    std::vector<std::span<float const>> views;
    for (auto& rows : rows_) views.emplace_back(device_->view(rows));
    return views;
  }

  std::optional<Client>& client_;
  Optimizers optimizers_;
  StrategyChoice strategy_;
  std::optional<DeviceChoice> device_;  // of a worker; a server needs none and may have none
  std::uint64_t seed_;
  bool declared_ = false;

  std::vector<SparseRef> sparse_tables_;
  std::optional<DenseRef> dense_table_;
  std::vector<KeyIndex> index_;
  std::vector<Floats> distinct_rows_, rows_, row_gradients_;
  Floats dense_;

  std::optional<Flight> next_;
  std::deque<Flight> flights_;  // last but one: their handles wait for the network when this object ends early
  std::vector<Flight> spare_;
};

}  // namespace prdist
