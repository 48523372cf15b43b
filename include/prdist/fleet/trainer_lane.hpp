// SPDX-License-Identifier: Apache-2.0
// What one thread of a trainer works with: its view of the weights, its gradients, and its pushes under way. Threads
// share the client and nothing else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
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
    rows_.resize(count);
    row_gradients_.resize(count);
    for (auto* const inputs : {&now_, &ahead_}) inputs->shape(tables_, device_);
  }
  TrainerLane(TrainerLane const&) = delete;
  TrainerLane& operator=(TrainerLane const&) = delete;

  /// Names the rows of the batch: keys(t), and room for each in rows(t).
  template <class Model, class Batch>
  void open(Model const& model, Batch const& batch) {
    name_rows(now_, model, batch);
  }

  /// From the servers; the dense weights only if this lane is to have its own.
  void pull(bool with_dense = true) {
    ask(now_, with_dense);
    now_.arrive();
    unfold(with_dense);
  }

  /// Asks for what the next batch needs, and does not wait: take_ahead() is open() and pull() for it.
  template <class Model, class Batch>
  void ask_ahead(Model const& model, Batch const& batch) {
    name_rows(ahead_, model, batch);
    ask(ahead_, true);
  }
  [[nodiscard]] bool has_ahead() const noexcept { return !ahead_.pulls.empty(); }
  /// Whether this batch has the keys that were asked for.
  template <class Model, class Batch>
  [[nodiscard]] bool is_ahead_for(Model const& model, Batch const& batch) const {
    if (ahead_.gradients.examples != batch.size()) return false;
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      auto const keys = model.keys(batch, t);
      auto const index = ahead_.index[t].index();
      auto const& distinct = ahead_.gradients.keys[t];
      if (!std::equal(keys.begin(), keys.end(), index.begin(), index.end(),
                      [&](Key key, std::uint32_t at) { return key == distinct[at]; })) {
        return false;
      }
    }
    return true;
  }
  /// Forgets it, when there will be no next step.
  void drop_ahead() noexcept { ahead_.pulls.clear(); }
  void take_ahead() {
    std::swap(now_, ahead_);
    now_.arrive();
    unfold();
  }

  /// After rows() and dense() were filled otherwise.
  void unfold(bool with_dense = true) {
    if (with_dense && tables_.dense) device_.upload(now_.dense);
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      auto const dim = tables_.sparse[t].dim;
      auto const& index = now_.index[t].index();
      device_.upload(now_.rows[t]);
      device_.resize(rows_[t], index.size() * dim);
      device_.gather(now_.rows[t], index, dim, rows_[t]);
    }
  }

  /// `dense` are the weights to compute with: this lane's dense_view() or another's.
  template <class Model, class Batch>
  double compute(Model& model, Batch const& batch, std::span<float const> dense) {
    std::vector<std::span<float>> row_gradients;
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      device_.resize(row_gradients_[t], now_.index[t].index().size() * tables_.sparse[t].dim);
      device_.zero(row_gradients_[t]);
      row_gradients.push_back(device_.view(row_gradients_[t]));
    }
    device_.resize(now_.gradients.dense_gradient, tables_.dense_size());
    device_.zero(now_.gradients.dense_gradient);
    auto const rows = row_views();
    StepView const view{dense, device_.view(now_.gradients.dense_gradient), rows, row_gradients};
    double const loss = model.gradients(batch, view);
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      auto const dim = tables_.sparse[t].dim;
      device_.resize(now_.gradients.row_gradients[t], keys(t).size() * dim);
      device_.zero(now_.gradients.row_gradients[t]);
      device_.scatter_add(row_gradients_[t], now_.index[t].index(), dim, now_.gradients.row_gradients[t]);
      device_.download(now_.gradients.row_gradients[t]);
    }
    device_.download(now_.gradients.dense_gradient);
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

  /// Says that this thread, `number` of `threads`, is about to have finished one more step, and waits until nobody is
  /// more than `ahead` steps behind it. Meanwhile it may `look` whether something else is to be done; without that it
  /// ends early when a checkpoint is wanted, to which those who are behind may have come, and keep_up() waits.
  void tick(std::uint32_t number, std::uint32_t threads, std::uint64_t ahead, std::function<void()> const& look) {
    Tick const tick{number, threads, steps + 1, ahead};
    if (!may_go_on(tick, look)) owed_ = tick;
  }

  /// Waits for what tick() did not; false when a checkpoint is wanted again.
  [[nodiscard]] bool keep_up() {
    if (owed_ && !may_go_on(*owed_, {})) return false;
    if (owed_) owed_.reset();
    return true;
  }

  [[nodiscard]] std::span<Key const> keys(std::size_t t) const { return now_.gradients.keys[t]; }
  [[nodiscard]] std::span<float> rows(std::size_t t) { return device_.staging(now_.rows[t]); }
  [[nodiscard]] std::span<float> dense() { return device_.staging(now_.dense); }
  [[nodiscard]] std::span<float const> dense_view() { return device_.view(now_.dense); }
  [[nodiscard]] std::vector<std::span<float const>> row_views() {
    std::vector<std::span<float const>> views;
    for (auto& rows : rows_) views.emplace_back(device_.view(rows));
    return views;
  }
  [[nodiscard]] Flight<DeviceChoice>& gradients() { return now_.gradients; }
  [[nodiscard]] std::span<float const> row_gradients(std::size_t t) {
    return device_.staging(now_.gradients.row_gradients[t]);
  }
  [[nodiscard]] std::span<float const> dense_gradient() { return device_.staging(now_.gradients.dense_gradient); }

  std::uint64_t steps = 0;  ///< that this thread has finished

 private:
  using Floats = typename DeviceChoice::Floats;

  /// What the clock is told.
  struct Tick {
    std::uint32_t number, threads;
    std::uint64_t steps, ahead;
  };

  /// What a step on one batch begins with.
  struct Inputs {
    std::vector<KeyIndex> index{};
    std::vector<Floats> rows{};  ///< of the distinct keys
    Floats dense{};
    Flight<DeviceChoice> gradients{};  ///< names the keys, and will take the gradients
    std::vector<Handle> pulls{};       ///< last: they wait for the network when it ends early

    void shape(ModelTables const& tables, DeviceChoice& device) {
      index.resize(tables.sparse.size());
      rows.resize(tables.sparse.size());
      device.resize(dense, tables.dense_size());
      gradients.shape(tables);
    }

    void arrive() {
      for (auto& pull : pulls) pull.wait();
      pulls.clear();
    }
  };

  template <class Model, class Batch>
  void name_rows(Inputs& inputs, Model const& model, Batch const& batch) {
    auto& gradients = inputs.gradients;
    gradients.shape(tables_);
    gradients.examples = static_cast<std::uint32_t>(batch.size());
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      inputs.index[t].build(model.keys(batch, t), gradients.keys[t]);
      device_.resize(inputs.rows[t], gradients.keys[t].size() * tables_.sparse[t].dim);
      if (tables_.statistics) count(inputs, t, model, batch);
    }
  }

  /// How often each distinct key was shown in the batch, and clicked as far as the model can tell.
  template <class Model, class Batch>
  void count(Inputs& inputs, std::size_t t, Model const& model, Batch const& batch) {
    auto const index = inputs.index[t].index();
    auto& counts = inputs.gradients.show_click[t];
    counts.assign(inputs.gradients.keys[t].size() * 2, 0.0F);
    for (auto const key : index) ++counts[key * 2];
    if constexpr (can_tell_clicks<Model, Batch>) {
      clicks_.assign(index.size(), 0.0F);
      model.clicks(batch, t, std::span<float>(clicks_));
      for (std::size_t i = 0; i < index.size(); ++i) counts[index[i] * 2 + 1] += clicks_[i];
    }
  }

  void ask(Inputs& inputs, bool with_dense) {
    auto& seen = inputs.gradients.seen;
    inputs.pulls.clear();
    seen.back().clear();
    if (tables_.dense && with_dense) {
      inputs.pulls.push_back(client_.pull(*tables_.dense, device_.staging(inputs.dense), &seen.back()));
    }
    for (std::size_t t = 0; t < tables_.sparse.size(); ++t) {
      inputs.pulls.push_back(
          client_.pull(tables_.sparse[t], inputs.gradients.keys[t], device_.staging(inputs.rows[t]), &seen[t]));
    }
  }

  Flight<DeviceChoice> take_gradients() { return std::exchange(now_.gradients, spare()); }

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

  [[nodiscard]] bool may_go_on(Tick const& tick, std::function<void()> const& look) {
    while (!client_.tick(tick.number, tick.threads, tick.steps, tick.ahead)) {
      if (look) {
        look();
      } else if (client_.cut_wish().wanted()) {
        return false;
      }
    }
    return true;
  }

  Client& client_;
  ModelTables const& tables_;
  MergeRules rules_;
  DeviceChoice device_;
  std::optional<Tick> owed_;  ///< of a step that ended before the clock let it go
  KeyIndex merge_index_;
  std::vector<float> clicks_;
  std::vector<Floats> rows_, row_gradients_;  ///< one for every key of the batch
  std::vector<Flight<DeviceChoice>> spares_;
  Inputs now_, ahead_;
  std::deque<Flight<DeviceChoice>> queue_;
  std::deque<Flight<DeviceChoice>> under_way_;  // last: its handles wait for the network
};

}  // namespace prdist
