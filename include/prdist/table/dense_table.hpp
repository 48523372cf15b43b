// SPDX-License-Identifier: Apache-2.0
// The ranges of one dense table that lie on the shards of one thread. A range is a long row: it is updated by the
// same kernels as the rows of sparse tables.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <prdist/core/hash.hpp>
#include <prdist/core/text.hpp>
#include <prdist/optim/kernel.hpp>
#include <prdist/table/arena.hpp>
#include <prdist/table/command.hpp>
#include <prdist/table/gathering.hpp>
#include <prdist/table/initializer.hpp>
#include <prdist/table/placement.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

/// Writes elements [from, from + out.size()) of a dense table as they are before any gradient: each part is a
/// stream of its own, so a part's first values do not depend on what stands before it.
inline void fill_first_dense(DenseSpec const& spec, std::size_t from, std::span<float> out) {
  std::size_t start = 0;
  for (auto const& part : spec.parts) {
    auto const low = std::max(from, start);
    auto const high = std::min(from + out.size(), start + part.size);
    if (low < high) {
      auto const stream = stream_of(spec.seed, hash_name(concat(spec.name, '/', part.name)));
      fill_first(part.init, stream, 0, out.subspan(low - from, high - low), low - start);
    }
    start += part.size;
  }
}

class DenseTable {
 public:
  /// `ranges` are all of the server's, in order; only those on `owned` shards are held here.
  DenseTable(Arena& arena, DenseSpec spec, std::vector<std::uint32_t> const& ranges,
             std::bitset<shard_count> const& owned)
      : spec_(std::move(spec)), kernel_(row_kernel(spec_.optimizer)) {
    auto const name = hash_name(spec_.name);
    std::size_t offset = 0;
    for (auto const range : ranges) {
      Range it{nullptr, range_length(spec_.size(), range), offset};
      offset += it.length;
      if (owned[shard_of_range(name, range)]) {
        it.row = static_cast<float*>(arena.allocate(row_floats(spec_.optimizer, it.length) * sizeof(float)));
        fill_first_dense(spec_, range * range_floats, {it.row, it.length});
        write_first_state(spec_.optimizer, it.row, it.length);
      }
      ranges_.push_back(it);
    }
  }

  [[nodiscard]] DenseSpec const& spec() const noexcept { return spec_; }

  void pull(std::size_t first, std::size_t count, std::span<float> weights) const {
    for_owned(first, count, [&](Range const& range, std::size_t at) {
      std::memcpy(weights.data() + at, range.row, range.length * sizeof(float));
    });
  }

  void push(std::size_t first, std::size_t count, std::span<float const> gradients) {
    for_owned(first, count, [&](Range const& range, std::size_t at) { update(range, gradients.data() + at); });
  }

  void assign(std::size_t first, std::size_t count, std::span<float const> weights) {
    for_owned(first, count, [&](Range const& range, std::size_t at) {
      std::memcpy(range.row, weights.data() + at, range.length * sizeof(float));
      write_first_state(spec_.optimizer, range.row, range.length);
    });
  }

  /// One update by the weighted sum of the parts, added in their order.
  void push_weighted(std::vector<std::vector<PushDense>> const& step) {
    auto const shares = shares_of(step);
    std::vector<float> sum;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      auto const& range = ranges_[i];
      if (range.row == nullptr) continue;
      sum.assign(range.length, 0.0F);
      for (std::size_t p = 0; p < step.size(); ++p) {
        for (auto const& push : step[p]) {
          if (i < push.first || i >= push.first + push.count) continue;
          auto const* const gradient = push.gradients.data() + (range.offset - ranges_[push.first].offset);
          for (std::size_t k = 0; k < range.length; ++k) sum[k] += shares[p] * gradient[k];
        }
      }
      update(range, sum.data());
    }
  }

 private:
  struct Range {
    float* row;  ///< null when another thread's
    std::size_t length;
    std::size_t offset;  ///< in the packed ranges of the server
  };

  template <class Visit>
  void for_owned(std::size_t first, std::size_t count, Visit&& visit) const {
    for (std::size_t i = first; i < first + count; ++i) {
      if (ranges_[i].row != nullptr) visit(ranges_[i], ranges_[i].offset - ranges_[first].offset);
    }
  }

  void update(Range const& range, float const* gradient) {
    kernel_(spec_.optimizer, &range.row, &gradient, 1, range.length);
  }

  DenseSpec spec_;
  RowKernel kernel_;
  std::vector<Range> ranges_;
};

}  // namespace prdist
