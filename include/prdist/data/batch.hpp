// SPDX-License-Identifier: Apache-2.0
// A mini-batch of click-through examples: labels, dense features, and the ids of every sparse slot. All of it lies
// in four flat vectors, example by example, so that a reader appends without sorting, a model hands `keys` to a
// table as it stands, and clear() keeps the memory for the next batch.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <prdist/core/types.hpp>

namespace prdist {

struct Batch {
  std::size_t slots = 0;      ///< sparse slots of every example
  std::size_t dense_dim = 0;  ///< dense features of every example

  std::vector<float> labels;              ///< 0 or 1, one per example
  std::vector<float> dense;               ///< size() rows of dense_dim
  std::vector<Key> keys;                  ///< ordered by example, then by slot
  std::vector<std::uint32_t> offsets{0};  ///< bag b = example * slots + slot holds keys[offsets[b], offsets[b + 1])

  [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
  [[nodiscard]] bool empty() const noexcept { return labels.empty(); }

  /// The ids of one slot of one example: none, one, or several.
  [[nodiscard]] std::span<Key const> keys_of(std::size_t example, std::size_t slot) const {
    assert(example < size() && slot < slots);
    auto const bag = example * slots + slot;
    return std::span(keys).subspan(offsets[bag], offsets[bag + 1] - offsets[bag]);
  }

  [[nodiscard]] std::span<float const> dense_of(std::size_t example) const {
    return std::span(dense).subspan(example * dense_dim, dense_dim);
  }

  /// The label of the example that each key stands in.
  void labels_of_keys(std::span<float> out) const {
    assert(out.size() == keys.size());
    for (std::size_t example = 0; example < size(); ++example) {
      auto const begin = offsets[example * slots], end = offsets[(example + 1) * slots];
      for (auto key = begin; key < end; ++key) out[key] = labels[example];
    }
  }

  /// Removes the examples and keeps shape and memory.
  void clear() noexcept {
    labels.clear();
    dense.clear();
    keys.clear();
    offsets.resize(1);
  }

  /// Closes the bag of the current slot: the keys appended since the last call belong to it.
  void end_slot() { offsets.push_back(static_cast<std::uint32_t>(keys.size())); }

  /// Copies one example of a batch of the same shape behind the last one.
  void append(Batch const& from, std::size_t example) {
    assert(from.slots == slots && from.dense_dim == dense_dim);
    labels.push_back(from.labels[example]);
    auto const features = from.dense_of(example);
    dense.insert(dense.end(), features.begin(), features.end());
    for (std::size_t slot = 0; slot < slots; ++slot) {
      auto const ids = from.keys_of(example, slot);
      keys.insert(keys.end(), ids.begin(), ids.end());
      end_slot();
    }
  }

  /// Examples [first, first + count) as a batch of their own.
  [[nodiscard]] Batch slice(std::size_t first, std::size_t count) const {
    assert(first + count <= size());
    auto const at = [](auto const& values, std::size_t index) {
      return values.begin() + static_cast<std::ptrdiff_t>(index);
    };
    Batch part{.slots = slots, .dense_dim = dense_dim, .labels = {}, .dense = {}, .keys = {}};
    part.labels.assign(at(labels, first), at(labels, first + count));
    part.dense.assign(at(dense, first * dense_dim), at(dense, (first + count) * dense_dim));
    auto const begin = offsets[first * slots];
    part.keys.assign(at(keys, begin), at(keys, offsets[(first + count) * slots]));
    part.offsets.assign(at(offsets, first * slots), at(offsets, (first + count) * slots + 1));
    for (auto& offset : part.offsets) offset -= begin;
    return part;
  }

  friend bool operator==(Batch const&, Batch const&) = default;
};

}  // namespace prdist
