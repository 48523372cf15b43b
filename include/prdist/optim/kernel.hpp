// SPDX-License-Identifier: Apache-2.0
// Applies gradients to rows: one loop for every rule, compiled for each instruction set and chosen at run time.
// The arithmetic is fixed (no contraction, no reassociation: every operation is a correctly rounded one on a single
// element, and sums over a row have one order), so all of them give the same bytes and a shard may move between
// machines of different age.
#pragma once

#include <cstddef>

#include <prdist/core/decl.hpp>
#include <prdist/optim/optimizer.hpp>

namespace prdist {

/// One gradient for each of `count` rows of `dim` weights; equal rows are updated in order.
using RowKernel = void (*)(Optimizer const&, float* const* rows, float const* const* gradients, std::size_t count,
                           std::size_t dim);

enum class InstructionSet { baseline, avx2 };

/// The best set of this machine.
[[nodiscard]] inline InstructionSet instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return InstructionSet::avx2;
#endif
  return InstructionSet::baseline;
}

/// The kernel of the rule that `optimizer` holds. Look it up once per table, not per push.
[[nodiscard]] RowKernel row_kernel(Optimizer const& optimizer, InstructionSet set = instruction_set());

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/optim/kernel.ipp>
#endif
