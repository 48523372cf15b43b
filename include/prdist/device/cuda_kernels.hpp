// SPDX-License-Identifier: Apache-2.0
// What Cuda computes, as functors that Thrust runs on whichever system it is given. Include it in one .cu file of the
// program, compiled by nvcc with --expt-relaxed-constexpr and --fmad=false; a system that is not CUDA needs no nvcc.
#pragma once

#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#if defined(__CUDACC__)
#include <thrust/system/cuda/execution_policy.h>
#endif

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include <prdist/device/cuda.hpp>

namespace prdist {

#if defined(__CUDACC__)
[[nodiscard]] inline auto execution(CudaSystem) {
  return thrust::cuda::par;
}
#endif

namespace detail {

// One call per float, neighbours on neighbouring threads: memory is what bounds all of these.

struct GatherFloat {
  float const* from;
  std::uint32_t const* index;
  std::size_t dim;
  float* to;

  constexpr void operator()(std::size_t i) const { to[i] = from[index[i / dim] * dim + i % dim]; }
};

/// Keys in order, and for each the position it came from. The first of equal keys adds for all of them.
struct AddSegment {
  float const* from;
  std::uint32_t const* keys;
  std::uint32_t const* order;
  std::size_t count, dim;
  float* to;

  constexpr void operator()(std::size_t i) const {
    auto position = i / dim;
    auto const key = keys[position];
    if (position > 0 && keys[position - 1] == key) return;
    auto const column = i % dim;
    auto sum = to[key * dim + column];
    for (; position < count && keys[position] == key; ++position) sum += from[order[position] * dim + column];
    to[key * dim + column] = sum;
  }
};

struct DeviceSqrt {
  // A template, because std::sqrt is constexpr only by grace of the compiler.
  template <class Value>
  constexpr void operator()(Value& x) const {
    x = std::sqrt(x);
  }
};

/// Each element ages a copy of its row's state, so that no thread waits for another; AgeRow then ages the row's own.
template <class Rule>
struct UpdateElement {
  Rule rule;
  float* rows;
  float const* gradients;
  std::size_t dim, stride;

  constexpr void operator()(std::size_t i) const {
    constexpr auto states = Rule::state_per_element;
    constexpr auto row_states = Rule::state_per_row;
    auto* const row = rows + i / dim * stride;
    auto const column = i % dim;
    float row_state[row_states + 1] = {};
    for (std::size_t k = 0; k != row_states; ++k) row_state[k] = row[(1 + states) * dim + k];
    auto const element = rule.template begin_row<DeviceSqrt>(row_state);
    float state[states + 1] = {};
    for (std::size_t k = 0; k != states; ++k) state[k] = row[(1 + k) * dim + column];
    element(row[column], state, gradients[i]);
    for (std::size_t k = 0; k != states; ++k) row[(1 + k) * dim + column] = state[k];
  }
};

template <class Rule>
struct AgeRow {
  Rule rule;
  float* row_states;  // of the first row
  std::size_t stride;

  constexpr void operator()(std::size_t row) const {
    (void)rule.template begin_row<DeviceSqrt>(row_states + row * stride);
  }
};

/// A rule that looks at the whole row has one thread per row, which takes the sums in the order of the CPU's lanes.
template <class Rule>
struct UpdateRow {
  Rule rule;
  float* rows;
  float const* gradients;
  std::size_t dim, stride;

  constexpr void operator()(std::size_t r) const {
    constexpr auto states = Rule::state_per_element;
    constexpr auto sum_count = Rule::row_sums;
    auto* const row = rows + r * stride;
    auto const* const gradient = gradients + r * dim;
    auto* const row_state = row + (1 + states) * dim;
    float state[states + 1] = {};
    auto const terms = rule.template row_terms<DeviceSqrt>(row_state);
    float lanes[sum_count][sum_lanes] = {};
    for (std::size_t i = 0; i != dim; ++i) {
      for (std::size_t k = 0; k != states; ++k) state[k] = row[(1 + k) * dim + i];
      float each[sum_count] = {};
      terms(row[i], state, gradient[i], each);
      for (std::size_t k = 0; k != sum_count; ++k) lanes[k][i % sum_lanes] += each[k];
    }
    float sums[sum_count] = {};
    for (std::size_t k = 0; k != sum_count; ++k) sums[k] = sum_of_lanes(lanes[k]);
    auto const element = rule.template begin_row<DeviceSqrt>(row_state, static_cast<float const*>(sums), dim);
    for (std::size_t i = 0; i != dim; ++i) {
      for (std::size_t k = 0; k != states; ++k) state[k] = row[(1 + k) * dim + i];
      element(row[i], state, gradient[i]);
      for (std::size_t k = 0; k != states; ++k) row[(1 + k) * dim + i] = state[k];
    }
  }
};

/// Calls `work` with the system's policy. Failures come out as check() words them, not in Thrust's types.
template <class System, class Work>
void on_device(Work&& work) {
  try {
    work(execution(System{}));
  } catch (thrust::system_error const& failure) {
    check(static_cast<cudaError_t>(failure.code().value()));
    throw;  // not one of CUDA's
  } catch (std::bad_alloc const&) {
    check(cudaErrorMemoryAllocation);  // Thrust's own working memory
  }
}

/// function(i) for every i below `count`.
template <class System, class Function>
void for_each_index(std::size_t count, Function const& function) {
  if (count == 0) return;
  on_device<System>([&](auto const& policy) {
    thrust::for_each_n(policy, thrust::counting_iterator<std::size_t>(0), count, function);
  });
}

}  // namespace detail

template <class System>
void BasicCuda<System>::gather(Floats const& from, std::span<std::uint32_t const> index, std::size_t dim, Floats& to) {
  assert(index.size() * dim <= to.size());
  if (index.empty()) return;
  index_.resize(index.size());
  System::copy(index_.data(), index.data(), index.size_bytes());
  detail::for_each_index<System>(index.size() * dim,
                                 detail::GatherFloat{from.memory_.data(), index_.data(), dim, to.memory_.data()});
}

template <class System>
void BasicCuda<System>::scatter_add(Floats const& from, std::span<std::uint32_t const> index, std::size_t dim,
                                    Floats& to) {
  auto const count = index.size();
  assert(count * dim <= from.size());
  if (count == 0) return;
  index_.resize(count);
  order_.resize(count);
  System::copy(index_.data(), index.data(), index.size_bytes());
  detail::on_device<System>([&](auto const& policy) {
    thrust::sequence(policy, order_.data(), order_.data() + count);
    thrust::stable_sort_by_key(policy, index_.data(), index_.data() + count, order_.data());
  });
  detail::for_each_index<System>(count * dim, detail::AddSegment{from.memory_.data(), index_.data(), order_.data(),
                                                                 count, dim, to.memory_.data()});
}

template <class System>
void BasicCuda<System>::update(Optimizer const& optimizer, Floats& rows, Floats const& gradients, std::size_t dim) {
  auto const stride = row_floats(optimizer, dim);
  auto const count = gradients.size() / dim;
  assert(count * stride <= rows.size());
  visit_rule(optimizer, [&]<class Rule>(Rule const& rule) {
    auto* const data = rows.memory_.data();
    if constexpr (row_wide<Rule>) {
      detail::for_each_index<System>(count, detail::UpdateRow<Rule>{rule, data, gradients.memory_.data(), dim, stride});
    } else {
      detail::for_each_index<System>(count * dim,
                                     detail::UpdateElement<Rule>{rule, data, gradients.memory_.data(), dim, stride});
      if constexpr (Rule::state_per_row > 0) {
        auto* const row_states = data + (1 + Rule::state_per_element) * dim;
        detail::for_each_index<System>(count, detail::AgeRow<Rule>{rule, row_states, stride});
      }
    }
  });
}

}  // namespace prdist
