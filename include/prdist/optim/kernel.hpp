// SPDX-License-Identifier: Apache-2.0
// Applies gradients to rows: one loop for every rule, compiled for each instruction set and chosen at run time.
// The arithmetic is fixed (no contraction, no reassociation: every operation is a correctly rounded one on a single
// element), so all of them give the same bytes and a shard may move between machines of different age.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <cmath>
#include <cstddef>
#include <cstring>
#include <variant>

#include <prdist/optim/optimizer.hpp>

namespace prdist {

/// One gradient for each of `count` rows of `dim` weights; equal rows are updated in order.
using RowKernel = void (*)(Optimizer const&, float* const* rows, float const* const* gradients, std::size_t count,
                           std::size_t dim);

namespace detail {

/// Eight floats. The compiler lowers it to what the instruction set at hand has: one register or two.
using Vec8 = float __attribute__((vector_size(32)));

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

template <class Rule>
[[gnu::always_inline]] inline void update_row(Rule const& rule, float* row, float const* gradient, std::size_t dim) {
  auto const element = rule.template begin_row<CpuSqrt>(row + (1 + Rule::state_per_element) * dim);
  std::size_t i = 0;
  for (; i + 8 <= dim; i += 8) update_elements<Vec8, Rule>(element, row, gradient, dim, i);
  for (; i < dim; ++i) update_elements<float, Rule>(element, row, gradient, dim, i);
}

template <class Rule>
[[gnu::always_inline]] inline void update_rows(Optimizer const& optimizer, float* const* rows,
                                               float const* const* gradients, std::size_t count, std::size_t dim) {
  Rule const rule = *std::get_if<Rule>(&optimizer);
  // The usual embedding sizes as constants: their loops become a few vector instructions.
  switch (dim) {
    case 8:
      for (std::size_t r = 0; r < count; ++r) update_row(rule, rows[r], gradients[r], 8);
      break;
    case 16:
      for (std::size_t r = 0; r < count; ++r) update_row(rule, rows[r], gradients[r], 16);
      break;
    case 32:
      for (std::size_t r = 0; r < count; ++r) update_row(rule, rows[r], gradients[r], 32);
      break;
    default:
      for (std::size_t r = 0; r < count; ++r) update_row(rule, rows[r], gradients[r], dim);
  }
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

enum class InstructionSet { baseline, avx2 };

/// The best set of this machine.
[[nodiscard]] inline InstructionSet instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return InstructionSet::avx2;
#endif
  return InstructionSet::baseline;
}

/// The kernel of the rule that `optimizer` holds. Look it up once per table, not per push.
[[nodiscard]] inline RowKernel row_kernel(Optimizer const& optimizer, InstructionSet set = instruction_set()) {
  return std::visit(
      [set]<class Rule>(Rule const&) -> RowKernel {
#if defined(__x86_64__)
        if (set == InstructionSet::avx2) return &detail::update_rows_avx2<Rule>;
#endif
        (void)set;
        return &detail::update_rows_baseline<Rule>;
      },
      optimizer);
}

/// Writes the state of a row that no gradient has reached yet behind its `dim` weights.
inline void write_first_state(Optimizer const& optimizer, float* row, std::size_t dim) {
  std::visit([&](auto const& rule) { rule.first_state(row + dim, dim); }, optimizer);
}

}  // namespace prdist
