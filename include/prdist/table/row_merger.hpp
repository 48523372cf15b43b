// SPDX-License-Identifier: Apache-2.0
// The parts of a synchronous step as one push: each key once, with the weighted sum of its gradients.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/gathering.hpp>

namespace prdist {

/// Shows and clicks of the key at `position` in a push.
[[nodiscard]] inline std::pair<float, float> show_click_of(std::span<float const> show_click, std::size_t position) {
  if (show_click.empty()) return {1.0F, 0.0F};
  return {show_click[2 * position], show_click[2 * position + 1]};
}

/// Whether shows and clicks can go with a push of `keys`. @throws Error table.shape, config.invalid
inline void check_show_click(std::string_view table, std::span<Key const> keys, std::span<float const> show_click) {
  if (!show_click.empty() && show_click.size() != keys.size() * 2) {
    throw Error(Errc::table_shape, "push to table '", table, "': ", show_click.size(), " shows and clicks for ",
                keys.size(), " keys: give two numbers each, or none");
  }
  for (std::size_t i = 0; i < show_click.size(); ++i) {
    if (std::isfinite(show_click[i])) continue;  // a row whose score is no number would never go
    throw Error(Errc::config_invalid, "push to table '", table, "': the ", i % 2 == 0 ? "shows" : "clicks", " of key ",
                keys[i / 2], " are ", show_click[i], ": give finite numbers");
  }
}

/// Keeps its memory from step to step.
class RowMerger {
 public:
  /// Gradients of `dim` floats; shows and clicks are summed when `counts` is set.
  RowMerger(std::size_t dim, bool counts) : dim_(dim), counts_(counts) {}

  /// Sums the parts in their order, each by its share, for the keys for whose hash `wanted` is true.
  template <class Wanted>
  void merge(std::vector<std::vector<PushRows>> const& step, Wanted&& wanted) {
    auto const shares = shares_of(step);
    std::size_t most = 0;
    for (auto const& part : step) {
      for (auto const& push : part) most += push.keys.size();
    }
    keys_.clear();
    sums_.clear();
    shown_.clear();
    sums_.reserve(most * dim_);
    std::size_t slots = 16;
    while (slots < 2 * most) slots *= 2;
    index_.assign(slots, 0);
    for (std::size_t p = 0; p < step.size(); ++p) {
      for (auto const& push : step[p]) {
        for (std::size_t i = 0; i < push.keys.size(); ++i) {
          auto const hash = hash_key(push.keys[i]);
          if (!wanted(hash)) continue;
          auto const row = row_of(hash, push.keys[i]);
          auto* const sum = sums_.data() + row * dim_;
          auto const* const gradient = push.gradients.data() + i * dim_;
          for (std::size_t k = 0; k < dim_; ++k) sum[k] += shares[p] * gradient[k];
          if (!counts_) continue;
          auto const [show, click] = show_click_of(push.show_click, i);
          shown_[2 * row] += show;
          shown_[2 * row + 1] += click;
        }
      }
    }
  }

  [[nodiscard]] std::span<Key const> keys() const noexcept { return keys_; }
  [[nodiscard]] std::span<float const> gradients() const noexcept { return sums_; }
  [[nodiscard]] std::span<float const> show_click() const noexcept { return shown_; }

 private:
  /// The place of `key` in this step, with zeros at first.
  [[nodiscard]] std::size_t row_of(std::uint64_t hash, Key key) {
    auto const mask = index_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      auto& entry = index_[i];
      if (entry == 0) {
        keys_.push_back(key);
        sums_.resize(sums_.size() + dim_, 0.0F);
        if (counts_) shown_.resize(shown_.size() + 2, 0.0F);
        entry = static_cast<std::uint32_t>(keys_.size());
      }
      if (keys_[entry - 1] == key) return entry - 1;
    }
  }

  std::size_t dim_;
  bool counts_;
  std::vector<Key> keys_;
  std::vector<float> sums_;
  std::vector<float> shown_;
  std::vector<std::uint32_t> index_;
};

}  // namespace prdist
