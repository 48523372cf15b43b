// SPDX-License-Identifier: Apache-2.0
// The sparse table of a single process: rows by key, made on first use, updated by one rule. It is plain on
// purpose: the results of a cluster are compared with what it does.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/types.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/optim/optimizer.hpp>
#include <prdist/table/initializer.hpp>

namespace prdist::nn {

class RowStore {
 public:
  RowStore(std::string_view table, std::size_t dim, Initializer init, Optimizer optimizer, std::uint64_t seed)
      : dim_(dim),
        width_(row_floats(optimizer, dim)),
        init_(init),
        optimizer_(optimizer),
        stream_(stream_of(seed, hash_name(table))) {}

  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  /// How many keys have a row.
  [[nodiscard]] std::size_t size() const noexcept { return index_.size(); }

  /// Writes the weights of every key to `rows`, one behind the other. A key without a row is read as the first
  /// row it would get; nothing is inserted.
  void pull(std::span<Key const> keys, std::span<float> rows) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const out = rows.subspan(i * dim_, dim_);
      if (auto const found = index_.find(keys[i]); found != index_.end()) {
        auto const* const row = row_at(found->second);
        std::copy(row, row + dim_, out.begin());
      } else {
        fill_first(init_, stream_, keys[i], out);
      }
    }
  }

  /// Adds up the gradients of equal keys, in the order given, and takes one step per key.
  void push(std::span<Key const> keys, std::span<float const> gradients) {
    merge(keys, gradients);
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      float* const row = row_at(touched_[i]);
      float const* const gradient = merged_.data() + i * dim_;
      kernel_(optimizer_, &row, &gradient, 1, dim_);
    }
  }

 private:
  static constexpr std::size_t rows_per_chunk = 4096;

  /// Rows in chunks: growing moves none of them, and costs no second copy of the table.
  [[nodiscard]] float* row_at(std::size_t row) const {
    return chunks_[row / rows_per_chunk].get() + row % rows_per_chunk * width_;
  }

  std::size_t find_or_insert(Key key) {
    auto const [place, inserted] = index_.try_emplace(key, index_.size());
    if (inserted) {
      if (place->second % rows_per_chunk == 0) chunks_.push_back(std::make_unique<float[]>(rows_per_chunk * width_));
      seen_.push_back({});
      auto* const row = row_at(place->second);
      fill_first(init_, stream_, key, std::span(row, dim_));
      write_first_state(optimizer_, row, dim_);
    }
    return place->second;
  }

  void merge(std::span<Key const> keys, std::span<float const> gradients) {
    ++push_;
    touched_.clear();
    merged_.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const gradient = gradients.subspan(i * dim_, dim_);
      auto const row = find_or_insert(keys[i]);
      auto& seen = seen_[row];
      if (seen.push != push_) {
        seen = {push_, touched_.size()};
        touched_.push_back(row);
        merged_.insert(merged_.end(), gradient.begin(), gradient.end());
      } else {
        float* const sum = merged_.data() + seen.place * dim_;
        for (std::size_t j = 0; j < dim_; ++j) sum[j] += gradient[j];
      }
    }
  }

  /// Where in this push's sums a row stands, if it was met in it: spares a set of keys per push.
  struct Seen {
    std::uint64_t push = 0;
    std::size_t place = 0;
  };
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(Key key) const noexcept { return hash_key(key); }
  };

  std::size_t dim_, width_;
  Initializer init_;
  Optimizer optimizer_;
  RowKernel kernel_ = row_kernel(optimizer_);
  std::uint64_t stream_;
  boost::unordered_flat_map<Key, std::size_t, Hash> index_;
  std::vector<std::unique_ptr<float[]>> chunks_;
  std::vector<Seen> seen_;
  std::uint64_t push_ = 0;
  std::vector<std::size_t> touched_;
  std::vector<float> merged_;
};

}  // namespace prdist::nn
