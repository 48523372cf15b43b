// SPDX-License-Identifier: Apache-2.0
// What a trainer holds when it trains by itself: of each parameter its own value with the optimizer's state, and the
// value that the servers are believed to have. Nothing it learns is lost: what it has sent and what it still holds
// back add up to all it learned. No locks, no network.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/table/placement.hpp>

namespace prdist {

/// One row of `size` weights: of a sparse table, or a range of a dense one.
class LocalRow {
 public:
  static std::size_t floats(Optimizer const& rule, std::size_t size) { return row_floats(rule, size) + size; }

  /// `memory` has floats(rule, size) floats and outlives it.
  LocalRow(float* memory, Optimizer const& rule, std::size_t size)
      : own_(memory, size), old_(memory + row_floats(rule, size), size) {}

  void begin(Optimizer const& rule, std::span<float const> weights) const {
    std::copy(weights.begin(), weights.end(), own_.begin());
    std::copy(weights.begin(), weights.end(), old_.begin());
    write_first_state(rule, own_.data(), own_.size());
  }

  [[nodiscard]] std::span<float const> own() const { return own_; }

  /// What the optimizer knows of it.
  [[nodiscard]] std::span<float> state() const { return {own_.data() + own_.size(), old_.data()}; }

  void learn(RowKernel kernel, Optimizer const& rule, float const* gradient) const {
    float* const row = own_.data();
    kernel(rule, &row, &gradient, 1, own_.size());
  }

  /// Writes a share of the difference between own and old; from now on it counts as sent.
  void take_difference(float parts, float* out) const {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      out[i] = (own_[i] - old_[i]) / parts;
      old_[i] += out[i];
    }
  }

  /// Moves as the servers have moved.
  void take_in(float const* weights) const {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      own_[i] += weights[i] - old_[i];
      old_[i] = weights[i];
    }
  }

 private:
  std::span<float> own_, old_;
};

/// A dense table: a row for each range, as servers have it, because some rules look at whole rows.
class LocalDense {
 public:
  LocalDense(Optimizer rule, std::span<float const> weights)
      : rule_(std::move(rule)), size_(weights.size()), width_(LocalRow::floats(rule_, range_floats)) {
    memory_ = std::make_unique<float[]>(range_count(size_) * width_);
    each_range([&](LocalRow const& row, std::size_t at) { row.begin(rule_, weights.subspan(at, row.own().size())); });
  }

  void read(std::span<float> out) const {
    each_range([&](LocalRow const& row, std::size_t at) {
      std::copy(row.own().begin(), row.own().end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    });
  }
  void learn(std::span<float const> gradient) {
    each_range([&](LocalRow const& row, std::size_t at) { row.learn(kernel_, rule_, gradient.data() + at); });
  }
  void take_difference(float parts, std::span<float> out) {
    each_range([&](LocalRow const& row, std::size_t at) { row.take_difference(parts, out.data() + at); });
  }
  void take_in(std::span<float const> weights) {
    each_range([&](LocalRow const& row, std::size_t at) { row.take_in(weights.data() + at); });
  }

  /// Calls `use(range, state)` with what the optimizer knows of each range; it may be changed.
  template <class Use>
  void for_each_state(Use&& use) {
    each_range([&](LocalRow const& row, std::size_t at) { use(at / range_floats, row.state()); });
  }

 private:
  /// `visit(row, at)`: `at` is where the range begins in the table.
  template <class Visit>
  void each_range(Visit const& visit) const {
    for (std::size_t range = 0; range < range_count(size_); ++range) {
      visit(LocalRow(memory_.get() + range * width_, rule_, range_length(size_, range)), range * range_floats);
    }
  }

  Optimizer rule_;
  RowKernel kernel_ = row_kernel(rule_);
  std::size_t size_, width_;
  std::unique_ptr<float[]> memory_;
};

/// The rows of a sparse table that this trainer has ever used.
class LocalRows {
 public:
  LocalRows(Optimizer rule, std::size_t dim)
      : rule_(std::move(rule)), dim_(dim), width_(LocalRow::floats(rule_, dim)) {}

  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  [[nodiscard]] std::vector<Key> const& keys() const noexcept { return keys_; }

  /// Those of `keys` that are held, or those that are not.
  [[nodiscard]] std::vector<Key> those(std::span<Key const> keys, bool held) const {
    std::vector<Key> found;
    for (auto const key : keys) {
      if (index_.contains(key) == held) found.push_back(key);
    }
    return found;
  }

  /// Keys that are not held yet, with their rows as the servers have them.
  void insert(std::span<Key const> keys, std::span<float const> rows) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const [it, added] = index_.try_emplace(keys[i], keys_.size());
      if (!added) continue;
      if (it->second % rows_per_chunk == 0) chunks_.push_back(std::make_unique<float[]>(rows_per_chunk * width_));
      keys_.push_back(keys[i]);
      waits_.push_back(nothing);
      row(it->second).begin(rule_, rows.subspan(i * dim_, dim_));
    }
  }

  /// All of these must hold their keys.
  void read(std::span<Key const> keys, std::span<float> rows) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const own = row(index_.at(keys[i])).own();
      std::copy(own.begin(), own.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * dim_));
    }
  }

  void learn(std::span<Key const> keys, std::span<float const> gradients) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const at = index_.at(keys[i]);
      row(at).learn(kernel_, rule_, gradients.data() + i * dim_);
      if ((waits_[at] & touched) == 0) touched_.push_back(at);
      if ((waits_[at] & holds_back) == 0) held_back_.push_back(at);
      waits_[at] = touched | holds_back;
    }
  }

  /// One `parts`-th of the difference of every row that has learned since the last call; with 1, all that any row
  /// still holds back.
  void take_differences(float parts, std::vector<Key>& keys, std::vector<float>& differences) {
    auto const& rows = parts == 1 ? held_back_ : touched_;
    keys.clear();
    differences.resize(rows.size() * dim_);
    for (auto const at : rows) {
      row(at).take_difference(parts, differences.data() + keys.size() * dim_);
      keys.push_back(keys_[at]);
    }
    if (parts == 1) {
      for (auto const at : held_back_) waits_[at] = nothing;
      held_back_.clear();
    } else {
      for (auto const at : touched_) waits_[at] = holds_back;
    }
    touched_.clear();
  }

  void take_in(std::span<Key const> keys, std::span<float const> rows) {
    for (std::size_t i = 0; i < keys.size(); ++i) row(index_.at(keys[i])).take_in(rows.data() + i * dim_);
  }

  /// Floats that the optimizer keeps of each row.
  [[nodiscard]] std::size_t state_floats() const { return row_floats(rule_, dim_) - dim_; }

  /// Those of a row that is held; they may be changed.
  [[nodiscard]] std::span<float> state_of(Key key) { return row(index_.at(key)).state(); }

 private:
  static constexpr std::size_t rows_per_chunk = 4096;
  static constexpr std::uint8_t nothing = 0, touched = 1, holds_back = 2;
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(Key key) const noexcept { return hash_key(key); }
  };

  [[nodiscard]] LocalRow row(std::size_t at) const {
    return {chunks_[at / rows_per_chunk].get() + at % rows_per_chunk * width_, rule_, dim_};
  }

  Optimizer rule_;
  RowKernel kernel_ = row_kernel(rule_);
  std::size_t dim_, width_;
  boost::unordered_flat_map<Key, std::size_t, Hash> index_;
  std::vector<Key> keys_;
  std::vector<std::uint8_t> waits_;  ///< what each row still has to give
  std::vector<std::size_t> touched_, held_back_;
  std::vector<std::unique_ptr<float[]>> chunks_;
};

}  // namespace prdist
