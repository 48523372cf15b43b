// SPDX-License-Identifier: Apache-2.0
// The gradients of one step on their way to the servers, and how several become one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <prdist/concepts/device.hpp>
#include <prdist/core/types.hpp>
#include <prdist/fleet/key_index.hpp>
#include <prdist/fleet/model_tables.hpp>
#include <prdist/trainer/client.hpp>

namespace prdist {

/// What one push shows to the network until it is acknowledged.
template <device_policy DeviceChoice>
struct Flight {
  using Floats = typename DeviceChoice::Floats;

  std::vector<std::vector<Key>> keys{};  ///< of each table, distinct
  std::vector<Floats> row_gradients{};
  std::vector<std::vector<float>> show_click{};  ///< two for each key, when the tables keep statistics; else none
  Floats dense_gradient{};
  std::uint32_t examples = 0;
  std::vector<Seen> seen{};       ///< of each table, then of the dense one
  std::vector<Handle> handles{};  ///< last: they wait when a flight ends early

  void shape(ModelTables const& tables) {
    keys.resize(tables.sparse.size());
    row_gradients.resize(tables.sparse.size());
    show_click.resize(tables.sparse.size());
    seen.resize(tables.sparse.size() + 1);
  }

  void send(Client& client, ModelTables const& tables, DeviceChoice& device) {
    if (tables.dense) {
      handles.push_back(client.push(*tables.dense, device.staging(dense_gradient), examples, seen.back()));
    }
    for (std::size_t t = 0; t < tables.sparse.size(); ++t) {
      handles.push_back(
          client.push(tables.sparse[t], keys[t], device.staging(row_gradients[t]), examples, seen[t], show_click[t]));
    }
  }

  [[nodiscard]] bool arrived() const {
    for (auto const& handle : handles) {
      if (!handle.ready()) return false;
    }
    return true;
  }

  void wait() {
    for (auto& handle : handles) handle.wait();
    handles.clear();
  }
};

/// Whether gradients of several steps are added up, or their mean over all examples is taken: as one step on all of
/// them would give it.
struct MergeRules {
  bool sum_rows = false;
  bool sum_dense = false;

  /// With plain SGD the sum does what the steps would have done one after another.
  static MergeRules of(Optimizers const& rules) {
    return {std::holds_alternative<Sgd>(rules.sparse.rule), std::holds_alternative<Sgd>(rules.dense.rule)};
  }
};

/// Of each server the older of two versions; 0 stands for "not asked".
inline void take_oldest(Seen& seen, Seen const& other) {
  if (seen.size() < other.size()) seen.resize(other.size());
  for (std::size_t s = 0; s < other.size(); ++s) {
    // Versions count round and round.
    bool const older = static_cast<std::int32_t>(other[s] - seen[s]) < 0;
    if (other[s] != 0 && (seen[s] == 0 || older)) seen[s] = other[s];
  }
}

/// Merges `parts`, in their order, into `into`: the same parts give the same bytes.
template <device_policy DeviceChoice>
void merge(std::span<Flight<DeviceChoice>* const> parts, MergeRules const& rules, ModelTables const& tables,
           DeviceChoice& device, KeyIndex& index, Flight<DeviceChoice>& into) {
  into.shape(tables);
  into.examples = 0;
  for (auto const* const part : parts) into.examples += part->examples;
  auto const share = [&](auto const& part, bool sum) {
    // Of no examples at all, such as an empty batch in Sync, there is nothing to share.
    auto const all = std::max<std::uint32_t>(1, into.examples);
    return sum ? 1.0F : static_cast<float>(static_cast<double>(part.examples) / all);
  };
  std::vector<Key> all;
  for (std::size_t t = 0; t < tables.sparse.size(); ++t) {
    auto const dim = tables.sparse[t].dim;
    all.clear();
    for (auto const* const part : parts) all.insert(all.end(), part->keys[t].begin(), part->keys[t].end());
    index.build(all, into.keys[t]);
    device.resize(into.row_gradients[t], into.keys[t].size() * dim);
    auto const sums = device.staging(into.row_gradients[t]);
    std::fill(sums.begin(), sums.end(), 0.0F);
    auto& counts = into.show_click[t];
    counts.assign(tables.statistics ? into.keys[t].size() * 2 : 0, 0.0F);
    std::size_t at = 0;
    for (auto* const part : parts) {
      auto const weight = share(*part, rules.sum_rows);
      auto const* from = device.staging(part->row_gradients[t]).data();
      for (std::size_t i = 0; i < part->keys[t].size(); ++i, ++at) {
        auto* const to = sums.data() + index.index()[at] * dim;
        for (std::size_t k = 0; k < dim; ++k) to[k] += weight * *from++;
        for (std::size_t k = 0; k < 2 && tables.statistics; ++k) {
          counts[index.index()[at] * 2 + k] += part->show_click[t][i * 2 + k];
        }
      }
    }
  }
  device.resize(into.dense_gradient, tables.dense_size());
  auto const sums = device.staging(into.dense_gradient);
  std::fill(sums.begin(), sums.end(), 0.0F);
  for (auto* const part : parts) {
    auto const weight = share(*part, rules.sum_dense);
    auto const from = device.staging(part->dense_gradient);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * from[i];
  }
  // As stale as the oldest of them.
  into.seen = parts.front()->seen;
  for (auto const* const part : parts.subspan(1)) {
    for (std::size_t t = 0; t < into.seen.size(); ++t) take_oldest(into.seen[t], part->seen[t]);
  }
}

}  // namespace prdist
