// SPDX-License-Identifier: Apache-2.0
// Definitions of optim/kernel.hpp: every rule, plain and adjusted, for each instruction set.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <cmath>
#include <cstddef>
#include <cstring>

#include <prdist/core/types.hpp>
#include <prdist/optim/kernel.hpp>

namespace prdist {

namespace detail {

struct CpuSqrt {
  [[gnu::always_inline]] void operator()(float& x) const { x = std::sqrt(x); }
  [[gnu::always_inline]] void operator()(Vec8& x) const {
#if defined(__SSE2__)
    // Halves, because the 256-bit root is not to be had without AVX; the machine needs as long for two halves.
    __m128 const low = _mm_sqrt_ps(__builtin_shufflevector(x, x, 0, 1, 2, 3));
    __m128 const high = _mm_sqrt_ps(__builtin_shufflevector(x, x, 4, 5, 6, 7));
    x = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    for (int i = 0; i < 8; ++i) x[i] = std::sqrt(x[i]);
#endif
  }
};

/// Elements [i, i + width of V) of one row.
template <class V, class Rule, class Element>
[[gnu::always_inline]] inline void update_elements(Element const& element, float* row, float const* gradient,
                                                   std::size_t dim, std::size_t i) {
  constexpr std::size_t states = Rule::state_per_element;
  V w, g, state[states == 0 ? 1 : states];
  std::memcpy(&w, row + i, sizeof w);
  std::memcpy(&g, gradient + i, sizeof g);
  for (std::size_t k = 0; k < states; ++k) std::memcpy(&state[k], row + (k + 1) * dim + i, sizeof w);
  element(w, state, g);
  std::memcpy(row + i, &w, sizeof w);
  for (std::size_t k = 0; k < states; ++k) std::memcpy(row + (k + 1) * dim + i, &state[k], sizeof w);
}

/// Adds what elements [i, i + width of V) give to the sums of a row-wide rule.
template <class V, class Rule, class Terms>
[[gnu::always_inline]] inline void add_terms(Terms const& terms, float const* row, float const* gradient,
                                             std::size_t dim, std::size_t i, V* sums) {
  constexpr std::size_t states = Rule::state_per_element;
  V w, g, state[states == 0 ? 1 : states], each[Rule::row_sums];
  std::memcpy(&w, row + i, sizeof w);
  std::memcpy(&g, gradient + i, sizeof g);
  for (std::size_t k = 0; k < states; ++k) std::memcpy(&state[k], row + (k + 1) * dim + i, sizeof w);
  terms(w, state, g, each);
  for (std::size_t k = 0; k < Rule::row_sums; ++k) sums[k] += each[k];
}

/// What the rule does to the row as a whole; returns what it does to an element.
template <class Rule>
[[gnu::always_inline]] inline auto begin_row(Rule const& rule, float* row, float const* gradient, std::size_t dim) {
  auto* const row_state = row + (1 + Rule::state_per_element) * dim;
  if constexpr (row_wide<Rule>) {
    auto const terms = rule.template row_terms<CpuSqrt>(row_state);
    Vec8 vectors[Rule::row_sums] = {};
    std::size_t i = 0;
    for (; i + sum_lanes <= dim; i += sum_lanes) add_terms<Vec8, Rule>(terms, row, gradient, dim, i, vectors);
    float lanes[Rule::row_sums][sum_lanes];
    std::memcpy(lanes, vectors, sizeof lanes);
    for (; i < dim; ++i) {
      float rest[Rule::row_sums];
      for (std::size_t k = 0; k < Rule::row_sums; ++k) rest[k] = lanes[k][i % sum_lanes];
      add_terms<float, Rule>(terms, row, gradient, dim, i, rest);
      for (std::size_t k = 0; k < Rule::row_sums; ++k) lanes[k][i % sum_lanes] = rest[k];
    }
    float sums[Rule::row_sums];
    for (std::size_t k = 0; k < Rule::row_sums; ++k) sums[k] = sum_of_lanes(lanes[k]);
    return rule.template begin_row<CpuSqrt>(row_state, static_cast<float const*>(sums), dim);
  } else {
    return rule.template begin_row<CpuSqrt>(row_state);
  }
}

template <class Rule>
[[gnu::always_inline]] inline void update_row(Rule const& rule, float* row, float const* gradient, std::size_t dim) {
  auto const element = begin_row(rule, row, gradient, dim);
  std::size_t i = 0;
  for (; i + 8 <= dim; i += 8) update_elements<Vec8, Rule>(element, row, gradient, dim, i);
  for (; i < dim; ++i) update_elements<float, Rule>(element, row, gradient, dim, i);
}

template <class Rule>
[[gnu::always_inline]] inline void update_rows(Optimizer const& optimizer, float* const* rows,
                                               float const* const* gradients, std::size_t count, std::size_t dim) {
  auto const rule = rule_in<Rule>(optimizer);
  if constexpr (update_rule<Rule>) {
    // The usual embedding sizes as constants: their loops become a few vector instructions. Not for adjusted rules,
    // which would double the code of this header in every program.
    switch (dim) {
      case 8:
        for (std::size_t r = 0; r < count; ++r) update_row(rule, rows[r], gradients[r], 8);
        return;
      case 16:
        for (std::size_t r = 0; r < count; ++r) update_row(rule, rows[r], gradients[r], 16);
        return;
      case 32:
        for (std::size_t r = 0; r < count; ++r) update_row(rule, rows[r], gradients[r], 32);
        return;
      default: break;
    }
  }
  for (std::size_t r = 0; r < count; ++r) update_row(rule, rows[r], gradients[r], dim);
}

template <class Rule>
void update_rows_baseline(Optimizer const& optimizer, float* const* rows, float const* const* gradients,
                          std::size_t count, std::size_t dim) {
  update_rows<Rule>(optimizer, rows, gradients, count, dim);
}

#if defined(__x86_64__)
// AVX2 without FMA: there is no fused operation the compiler could contract to.
template <class Rule>
__attribute__((target("avx2"))) void update_rows_avx2(Optimizer const& optimizer, float* const* rows,
                                                      float const* const* gradients, std::size_t count,
                                                      std::size_t dim) {
  update_rows<Rule>(optimizer, rows, gradients, count, dim);
}
#endif

}  // namespace detail

PRDIST_DECL RowKernel row_kernel(Optimizer const& optimizer, InstructionSet set) {
  return visit_rule(optimizer, [set]<class Rule>(Rule const&) -> RowKernel {
#if defined(__x86_64__)
    if (set == InstructionSet::avx2) return &detail::update_rows_avx2<Rule>;
#endif
    (void)set;
    return &detail::update_rows_baseline<Rule>;
  });
}

}  // namespace prdist
