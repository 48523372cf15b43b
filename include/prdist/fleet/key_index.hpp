// SPDX-License-Identifier: Apache-2.0
// The distinct keys of a batch, in the order they first appear, and for each position which of them it is. A row is
// then pulled once however often its key occurs, and its gradients are summed before they travel.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>

namespace prdist {

class KeyIndex {
 public:
  void build(std::span<Key const> keys, std::vector<Key>& distinct) {
    distinct.clear();
    index_.resize(keys.size());
    slots_.assign(std::bit_ceil(keys.size() * 2 + 16), 0);
    auto const mask = slots_.size() - 1;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (auto at = hash_key(keys[i]) & mask;; at = (at + 1) & mask) {
        if (slots_[at] == 0) {
          distinct.push_back(keys[i]);
          slots_[at] = static_cast<std::uint32_t>(distinct.size());
        }
        if (distinct[slots_[at] - 1] == keys[i]) {
          index_[i] = slots_[at] - 1;
          break;
        }
      }
    }
  }

  /// Which distinct key each position holds.
  [[nodiscard]] std::span<std::uint32_t const> index() const noexcept { return index_; }

 private:
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> index_;
};

}  // namespace prdist
